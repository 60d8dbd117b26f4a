"""Plays scenarios in this server, step by step, while their threads' pages look on."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings

from branching.engine import Engine
from branching.exceptions import BadScenario
from branching.models import Play, Run, Thread
from branching.scenarios import plays, reading
from branching.scenarios.form import Scenario
from branching.scenarios.judging import Outcome
from branching.scenarios.playing import Player
from chatapp import engine, stream
from chatapp.runner import runner

FOLDER = Path(settings.ROOT) / "tests" / "scenarios"
"""The starting set. Where the app is deployed without its tests there is none."""

REMEMBERED = 50
"""Plays that wait for their next step with all that was seen so far. Others go on without it."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Listed:
    """A file of the starting set."""

    name: str
    source: str
    scenario: Scenario | None
    problem: str = ""
    """What is wrong with the file, where it holds no scenario."""


def starting_set() -> list[Listed]:
    """What is in `FOLDER`, in the order of the names; read anew each time, for whoever is writing one."""
    return [_listed(file) for file in sorted(FOLDER.glob("*.toml"))]


def _listed(file: Path) -> Listed:
    source = file.read_text(encoding="utf-8", errors="replace")
    try:
        return Listed(file.stem, source, reading.read(source, file.name))
    except BadScenario as error:
        return Listed(file.stem, source, None, str(error))


def listed(name: str) -> Listed:
    """The one of this name. Raises `BadScenario`."""
    found = next((each for each in starting_set() if each.name == name), None)
    if found is None:
        raise BadScenario
    return found


class ServerStage:
    """The runner of this process as a place to play; whoever looks at the thread is told of each step."""

    def __init__(self, owner_id: int) -> None:
        self.owner_id = owner_id

    @property
    def engine(self) -> Engine:
        return engine.get()

    async def begin(self, command: Callable[..., Awaitable[Run | None]], thread_id: UUID, **arguments: Any) -> None:
        await runner.begin(command, thread_id, **arguments)

    async def stop(self, run_id: UUID) -> None:
        await runner.stop(run_id)

    async def interrupt(self, run_id: UUID) -> None:
        await runner.interrupt(run_id)

    def said(self, run_id: UUID) -> str:
        live = runner.live(run_id)
        return live.reply.text if live else ""

    async def changed(self, thread_id: UUID) -> None:
        await stream.announce(thread_id)
        await stream.announce_list(self.owner_id)


class Performances:
    """The plays that go on in this process by themselves: at most one of each thread."""

    def __init__(self) -> None:
        self._players: dict[UUID, Player] = {}
        self._tasks: dict[UUID, asyncio.Task[None]] = {}

    def goes_on(self, thread_id: UUID) -> bool:
        """Whether steps of the thread are being played now."""
        return thread_id in self._tasks

    def play(self, thread: Thread, play: Play, *, by: Any, steps: int | None = None) -> None:
        """Play what is left, or so many steps of it. Nothing happens where it is being played already."""
        if self.goes_on(thread.pk):
            return
        scenario = plays.scenario_of(play)
        player = self._players.pop(thread.pk, None) or Player(ServerStage(thread.owner_id), thread, scenario, by=by)
        going = self._go(player, len(play.outcomes), steps)
        task = asyncio.create_task(going, name=f"play {thread.pk}", context=contextvars.Context())
        self._tasks[thread.pk] = task
        task.add_done_callback(lambda _done: self._tasks.pop(thread.pk, None))

    async def close(self) -> None:
        """End them all."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _go(self, player: Player, at: int, steps: int | None) -> None:
        count = len(player.scenario.steps)
        end = count + 1 if steps is None else min(at + steps, count + 1)
        try:
            for place in range(at, end):
                outcome = await (player.step(place) if place < count else player.close())
                await plays.note(player.thread.pk, outcome.as_json())
                if outcome.stuck:
                    return
        except Exception:
            log.exception("A scenario broke off.", extra={"thread_id": player.thread.pk})
            return
        if end <= count:
            self._players[player.thread.pk] = player  # it remembers what it has seen
            if len(self._players) > REMEMBERED:
                self._players.pop(next(iter(self._players)))


performances = Performances()


def outcomes_of(play: Play) -> list[Outcome]:
    """What came of the steps that were played so far."""
    return [Outcome.from_json(each) for each in play.outcomes]
