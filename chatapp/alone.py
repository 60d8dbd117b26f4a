"""One process at a time: what holds the data folder while it serves, or clears it."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = "server.lock"


@contextmanager
def alone_with(folder: Path) -> Iterator[None]:
    """Hold the folder for this process. Raises `BlockingIOError` while another holds it; a dead one holds nothing."""
    with (folder / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
