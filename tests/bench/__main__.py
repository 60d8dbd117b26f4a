"""`make bench`: both parts, or those that are named: `python -m tests.bench stream`. Fails where one fails."""

from __future__ import annotations

import subprocess
import sys

PARTS = ("index", "stream")

# Each in a process of its own: one is the app, the other talks to it.
ended = [subprocess.call([sys.executable, "-m", f"tests.bench.{part}"]) for part in sys.argv[1:] or PARTS]
sys.exit(max(ended))
