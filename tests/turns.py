"""`python -m tests.turns <thread> <turns>`: so many real turns on a thread of this DATA_DIR, without a page."""

from __future__ import annotations

import asyncio
import sys
from uuid import UUID

import django

django.setup()

from branching import commands, runs, threads  # noqa: E402
from chatapp import engine  # noqa: E402


async def main(thread_id: UUID, turns: int) -> None:
    open_engine = engine.get()
    for number in range(1, turns + 1):
        _, head_version = await threads.numbers(thread_id)
        run = await commands.send(thread_id, text=f"question {number}", head_version=head_version)
        async for _ in runs.execute(open_engine, run, asyncio.Event()):
            pass


asyncio.run(main(UUID(sys.argv[1]), int(sys.argv[2])))
