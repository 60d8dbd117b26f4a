"""`make bench`: all parts, or those that are named: `python -m tests.bench stream`. Fails where one fails."""

from __future__ import annotations

import subprocess
import sys

PYTHON = sys.executable
PARTS = {
    part: [PYTHON, "-m", f"tests.bench.{part}"] for part in ("index", "window", "memory", "stream", "reading", "saver")
}
PARTS["saver-postgres"] = [PYTHON, "-m", "tests.postgres", *PARTS["saver"], "10", "100", "300"]

# Each in a process of its own: one is the app, the other talks to it.
ended = [subprocess.call(PARTS[part]) for part in sys.argv[1:] or PARTS]
sys.exit(max(ended))
