"""Owns the running tasks of this process. A run belongs to it, not to a request, a socket or a tab."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from branching import commands, leases, runs, several
from branching.limits import LEASE
from branching.models import Run
from branching.types import Checkpoint, CheckpointSaved, RunEnded, RunEvent, Token
from chatapp import engine, stream
from chatapp.markdown import Growing

FRAME = 0.05
"""Seconds between two frames of a live reply: faster is not seen, and slower is."""

STOP_WAIT = 1.0
"""Seconds that a stop waits for its run to come to rest before it answers."""

log = logging.getLogger(__name__)


@dataclass
class Live:
    """A run under way, and what it has said since its last message."""

    run: Run
    reply: Growing = field(default_factory=Growing)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Runner:
    """The runs of this process. At most one a thread: the database sees to that, for all processes alike."""

    def __init__(self) -> None:
        self._live: dict[UUID, Live] = {}
        self._renewing: asyncio.Task[None] | None = None

    async def begin(self, command: Callable[..., Awaitable[Run | None]], thread_id: UUID, **arguments: Any) -> None:
        """Carry out a command of `commands.py`, and execute the run that it leads to, if it does."""
        await self.renew(thread_id)
        if run := await commands.begin(engine.get(), command, thread_id, **arguments):
            self.start(run)

    async def begin_several(self, thread_id: UUID, **arguments: Any) -> Run | None:
        """Carry out `several.replay`, and execute all its runs; the first of them, or None where nothing was to do."""
        await self.renew(thread_id)
        runs = await several.begin(engine.get(), thread_id, **arguments)
        for run in runs:
            self.start(run)
        return runs[0] if runs else None

    async def renew(self, thread_id: UUID) -> None:
        """Say that what runs on the thread here is alive, before anybody looks: the process may have been asleep."""
        if here := [run_id for run_id, live in self._live.items() if live.run.thread_id == thread_id]:
            await leases.renew(here)

    def start(self, run: Run) -> None:
        """Execute `run` in a task of its own."""
        live = self._live[run.pk] = Live(run)
        # An empty context: the request's own would hand the run its database thread, which ends with the request.
        live.task = asyncio.create_task(self._drive(live), name=f"run {run.pk}", context=contextvars.Context())
        if self._renewing is None or self._renewing.done():
            self._renewing = asyncio.create_task(self._renew(), context=contextvars.Context())

    async def stop(self, run_id: UUID) -> None:
        """Stop the run if it is here and still going, and wait a moment until it is at rest."""
        if live := self._live.get(run_id):
            live.stop.set()
            await asyncio.wait({live.task}, timeout=STOP_WAIT)

    async def interrupt(self, run_id: UUID) -> None:
        """Break the run off, if it is here, as a server does that goes down: it counts as lost, and can be resumed."""
        if live := self._live.get(run_id):
            live.task.cancel()
            await asyncio.wait({live.task}, timeout=STOP_WAIT)

    async def stop_thread(self, thread_id: UUID) -> None:
        """Stop whatever runs on the thread here."""
        for live in [each for each in self._live.values() if each.run.thread_id == thread_id]:
            await self.stop(live.run.pk)

    def live(self, run_id: UUID) -> Live | None:
        """The run's state at this moment, while it is under way in this process."""
        return self._live.get(run_id)

    async def close(self) -> None:
        """End all runs as lost. Each can be resumed from its newest checkpoint."""
        tasks = {live.task for live in self._live.values()} | ({self._renewing} - {None})
        self._renewing = None
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _drive(self, live: Live) -> None:
        telling = asyncio.create_task(self._tell(live))
        try:
            async for event in runs.execute(engine.get(), live.run, live.stop):
                await self._take(live, event)
        except Exception:
            log.exception("A run broke off.", extra={"run_id": live.run.pk, "thread_id": live.run.thread_id})
        finally:
            telling.cancel()
            del self._live[live.run.pk]
            await stream.announce(live.run.thread_id)
            await stream.announce_list(live.run.thread.owner_id)  # which says where a question waits

    async def _take(self, live: Live, event: RunEvent) -> None:
        match event:
            case Token(text):
                live.reply.add(text)
                live.news.set()
            case CheckpointSaved(checkpoint) if checkpoint.next and _has_spoken(checkpoint):
                # One message of several has landed; the next begins a bubble of its own.
                live.reply = Growing()
                await stream.announce(live.run.thread_id)
            case RunEnded():
                live.news.clear()

    async def _tell(self, live: Live) -> None:
        """Tell the tabs that there is more of the reply, at most once a `FRAME`, until cancelled."""
        while True:
            await live.news.wait()
            live.news.clear()
            await stream.tell(live.run)
            await asyncio.sleep(FRAME)

    async def _renew(self) -> None:
        """Keep the leases of all runs here alive while there are any."""
        while self._live:
            await leases.renew(self._live)
            await asyncio.sleep(LEASE.total_seconds() / 3)


def _has_spoken(checkpoint: Checkpoint) -> bool:
    """Whether it ends in what an assistant has said, or one of its tools."""
    return bool(checkpoint.messages) and checkpoint.messages[-1].kind != "human"


runner = Runner()
