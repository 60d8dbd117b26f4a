"""Opens the checkpoint saver. The only place that knows which saver it is and where it keeps its data."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

BUSY_TIMEOUT = 20
"""Seconds to wait for another process's write before a turn fails."""


@asynccontextmanager
async def open_saver(path: Path) -> AsyncIterator[BaseCheckpointSaver]:
    """A saver on the SQLite file at `path`, made if it is missing, for this event loop alone."""
    connection = aiosqlite.connect(path, timeout=BUSY_TIMEOUT)
    # aiosqlite's thread would otherwise keep a process alive that ends without closing it, and not every server has
    # a hook for that. With write-ahead logging and committed writes, nothing is lost by ending it.
    connection._thread.daemon = True
    async with connection:
        saver = AsyncSqliteSaver(connection)
        await saver.setup()
        yield saver
