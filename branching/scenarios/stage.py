"""Where a scenario is played: who executes the runs. A server has a runner of its own; here is one for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol
from uuid import UUID

from branching import commands, runs
from branching.engine import Engine
from branching.models import Run
from branching.types import CheckpointSaved, Token


class Stage(Protocol):
    """What playing needs beside the commands."""

    engine: Engine

    async def begin(self, command: Callable[..., Awaitable[Run | None]], thread_id: UUID, **arguments: Any) -> None:
        """Carry out a command, and execute the run that it leads to."""

    async def stop(self, run_id: UUID) -> None:
        """Stop the run, and wait until it is at rest."""

    async def interrupt(self, run_id: UUID) -> None:
        """Break the run off, as when the server goes down."""

    def said(self, run_id: UUID) -> str:
        """What the run has said since its last message."""

    async def changed(self, thread_id: UUID) -> None:
        """Tell whoever looks at the thread."""


@dataclass
class _Running:
    task: asyncio.Task[None] | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    said: str = ""


class BareStage:
    """Executes runs as they are, without a server."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._running: dict[UUID, _Running] = {}

    async def begin(self, command: Callable[..., Awaitable[Run | None]], thread_id: UUID, **arguments: Any) -> None:
        run = await commands.begin(self.engine, command, thread_id, **arguments)
        if run:
            running = self._running[run.pk] = _Running()
            running.task = asyncio.create_task(self._execute(run, running))

    async def stop(self, run_id: UUID) -> None:
        if running := self._running.get(run_id):
            running.stop.set()
            await asyncio.wait({running.task})

    async def interrupt(self, run_id: UUID) -> None:
        if running := self._running.get(run_id):
            running.task.cancel()
            await asyncio.wait({running.task})

    def said(self, run_id: UUID) -> str:
        return self._running[run_id].said if run_id in self._running else ""

    async def changed(self, thread_id: UUID) -> None:
        """Nobody looks."""

    async def _execute(self, run: Run, running: _Running) -> None:
        async for event in runs.execute(self.engine, run, running.stop):
            if isinstance(event, Token):
                running.said += event.text
            elif isinstance(event, CheckpointSaved) and event.checkpoint.messages:
                is_of_a_person = event.checkpoint.messages[-1].kind == "human"
                running.said = running.said if is_of_a_person else ""
