"""One process at a time: what holds the data while it serves them, or clears them."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.db import connection

LOCK = "server.lock"

NUMBER = 0x5377697463686261
"""The advisory lock in PostgreSQL: the same for all that serve the app from one database, wherever they run."""


@contextmanager
def alone_with(folder: Path) -> Iterator[None]:
    """Hold the folder, and the database if it is PostgreSQL, for this process.

    Raises `BlockingIOError` while another holds one of them; a dead one holds nothing.
    """
    with (folder / LOCK).open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if connection.vendor == "postgresql":
            with _alone_in_postgresql():
                yield
        else:
            yield


@contextmanager
def _alone_in_postgresql() -> Iterator[None]:
    # A connection of its own, which stays open: the lock is held as long as that is.
    with connection.wrap_database_errors:
        held = psycopg.connect(**connection.get_connection_params(), autocommit=True)
    with held:
        (is_ours,) = held.execute("SELECT pg_try_advisory_lock(%s)", [NUMBER]).fetchone()
        if not is_ours:
            raise BlockingIOError("another process serves this database")
        yield
