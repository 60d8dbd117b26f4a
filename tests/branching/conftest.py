"""An engine on the saver that ships, threads of Alice's, and the commands played through to their end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from branching import check, commands, heads, history, llm, runs, threads, transcript, tree
from branching.engine import Engine
from branching.local_model import LocalModel
from branching.models import Run, Thread
from branching.saver import DjangoSaver
from branching.types import CheckpointSaved, RunEnded, RunEvent, ThreadView, Token, Version

IS_POSTGRES = connection.vendor == "postgresql"
# What is said in these is the same whatever database is below: SQLite hears it.
collect_ignore = [
    f"test_{name}.py"
    for name in (
        "assistants", "comparing", "concierge_rules", "desk_property", "docs", "explain", "forecast_property", "guide",
        "lanes", "llm", "planner", "providers", "scenario_files", "scenario_recording", "scenarios", "subgraphs",
    )
    if IS_POSTGRES
]  # fmt: skip


def seeds(count: int) -> range:
    """Of stories told at random: PostgreSQL, where each takes three times as long, hears two of them."""
    return range(min(count, 2) if IS_POSTGRES else count)


@pytest.fixture
def engine(db: None) -> Engine:
    return Engine(DjangoSaver(), llm.open_models(chat_model="", base_url="", token_delay=0))


class Story:
    """A thread in the hands of its owner: each command as a page would give it, with the run played to its end."""

    def __init__(self, engine: Engine, thread: Thread) -> None:
        self.engine, self.thread = engine, thread
        self.is_sound = True
        """Whether the index must agree with the checkpoints when the test ends."""

    async def view(self) -> ThreadView:
        return await transcript.read(self.thread.pk)

    async def screen(self) -> list[str]:
        return screen(await self.view())

    async def version(self, at: int) -> Version:
        """The message in this place on screen."""
        return (await self.view()).versions[at]

    async def send(self, text: str, **more: Any) -> list[RunEvent]:
        return await (await self.begin("send", text=text, **more)).finish()

    async def replay(self, version: Version | int, **more: Any) -> list[RunEvent]:
        return await (await self.begin("replay", message=_pk(version), **more)).finish()

    async def resume(self, **more: Any) -> list[RunEvent]:
        return await (await self.begin("resume", **more)).finish()

    async def edit(self, version: Version | int, text: str, *, answer: bool = True, **more: Any) -> list[RunEvent]:
        arguments = {**await self._page(), "message": _pk(version), "text": text, **more}
        edited = await commands.edit(self.engine, self.thread.pk, **arguments)
        return await self.resume() if edited and answer else []

    async def begin(self, command: str | Callable[..., Awaitable[Run | None]], **arguments: Any) -> Reply:
        """The run that this command (of `commands.py`, if it is a name) leads to, taken event by event."""
        given = {**await self._page(), **arguments}
        call = getattr(commands, command) if isinstance(command, str) else command
        run = await commands.begin(self.engine, call, self.thread.pk, **given)
        assert run is not None
        return Reply(self.engine, run)

    async def play(self, run: Run) -> list[RunEvent]:
        return await Reply(self.engine, run).finish()

    async def switch(self, version: Version | int, **more: Any) -> ThreadView:
        await heads.switch(self.thread.pk, **{**await self._page(), "message": _pk(version), **more})
        return await self.view()

    async def go(self, checkpoint_id: str) -> ThreadView:
        await heads.go(self.thread.pk, checkpoint_id=checkpoint_id, **await self._page())
        return await self.view()

    async def undo(self, **more: Any) -> ThreadView:
        await heads.undo(self.thread.pk, **{**await self._page(), **more})
        return await self.view()

    async def tree(self) -> tree.Tree:
        """What the whole history says."""
        return tree.derive(await history.read_all(self.engine.graph(self.thread.assistant), self.thread.pk))

    async def findings(self) -> list[str]:
        return [str(finding) for finding in await check.check(self.engine, self.thread)]

    async def _page(self) -> dict[str, int]:
        return {"head_version": (await self.view()).head_version}


class Reply:
    """A run in the making: its events are taken when the test wants them, and it can be stopped or killed."""

    def __init__(self, engine: Engine, run: Run) -> None:
        self.run = run
        self.heard: list[RunEvent] = []
        self.has_ended = False
        self._stop = asyncio.Event()
        self._events = runs.execute(engine, run, self._stop)

    async def take(self, count: int = 1) -> Reply:
        """Hear so many events more, or all that are left."""
        for _ in range(count):
            if self.has_ended:
                break
            self.heard.append(await anext(self._events))
            self.has_ended = isinstance(self.heard[-1], RunEnded)
        return self

    async def take_until(self, wanted: Callable[[RunEvent], bool]) -> Reply:
        """Hear on until such an event has come."""
        while not (self.heard and wanted(self.heard[-1])):
            assert not self.has_ended, f"it never came: {self.heard}"
            await self.take()
        return self

    async def finish(self) -> list[RunEvent]:
        """All events of the run."""
        while not self.has_ended:
            await self.take()
        assert not [event async for event in self._events], "RunEnded is the last event"
        return self.heard

    def ask_to_stop(self) -> None:
        self._stop.set()

    async def stop(self) -> list[RunEvent]:
        self.ask_to_stop()
        return await self.finish()

    async def leave(self) -> None:
        """The consumer goes away, as when a server shuts down in order."""
        await self._events.aclose()
        if not self.heard:
            await expire(self.run)  # nobody has begun with it, so nobody could say that it was lost

    async def crash(self) -> None:
        """The process dies: nothing is put in order, and its lease runs out."""
        with patch.object(runs, "_end", _nothing):
            await self._events.aclose()
        await expire(self.run)


@contextmanager
def saving_only(engine: Engine, count: int) -> Iterator[None]:
    """The disk takes so many checkpoints more, then it is full."""
    kind, left = type(engine.saver), iter(range(count))
    put, aput = vars(kind)["put"], vars(kind)["aput"]

    def take() -> None:
        if next(left, None) is None:
            raise OSError("The disk is full.")

    def put_or_fail(saver: Any, *args: Any) -> Any:
        take()
        return put(saver, *args)

    async def aput_or_fail(saver: Any, *args: Any) -> Any:
        take()
        return await aput(saver, *args)

    # The class, since graphs hold copies of the saver.
    with patch.object(kind, "put", put_or_fail), patch.object(kind, "aput", aput_or_fail):
        yield


@contextmanager
def saving_held_back(engine: Engine) -> Iterator[asyncio.Event]:
    """Nothing reaches the disk until the event is set."""
    kind, let = type(engine.saver), asyncio.Event()
    aput = vars(kind)["aput"]

    async def put(saver: Any, *args: Any) -> Any:
        await let.wait()
        return await aput(saver, *args)

    with patch.object(kind, "aput", put):
        yield let


async def _nothing(*args: Any, **kwargs: Any) -> None:
    pass


async def expire(run: Run) -> None:
    """Let the run's lease have run out."""
    await Run.objects.filter(pk=run.pk).aupdate(lease_until=timezone.now() - timedelta(seconds=1))


def screen(view: ThreadView) -> list[str]:
    """What a person sees: each message, with "2/3" where it has other versions; what is open stands in brackets."""
    seen = [version.text + _count(version) for version in view.versions]
    seen += [f"({view.pending.text})"] if view.pending else []
    return [*seen, f"[{view.open_reply.state}{_count(view.open_reply)}]"] if view.open_reply else seen


def _count(place: Any) -> str:
    return f" {place.position}/{place.total}" if place.has_siblings else ""


def _pk(version: Version | int) -> int:
    return version.pk if isinstance(version, Version) else version


def is_token(event: RunEvent) -> bool:
    return isinstance(event, Token)


def is_saved(event: RunEvent) -> bool:
    return isinstance(event, CheckpointSaved)


def spoken(events: list[RunEvent]) -> str:
    """The text that was streamed."""
    return "".join(event.text for event in events if isinstance(event, Token))


def ending(events: list[RunEvent]) -> str:
    """How the run ended."""
    return events[-1].status


@pytest.fixture
async def story(engine: Engine, alice: User) -> AsyncIterator[Story]:
    """Alice's thread with Echo."""
    story = Story(engine, await threads.create(alice, assistant="echo"))
    yield story
    assert not (story.is_sound and await story.findings())


@pytest.fixture
async def chat(engine: Engine, alice: User) -> AsyncIterator[Story]:
    """Alice's thread with Chat, on the demo model until `answers` gives it another."""
    story = Story(engine, await threads.create(alice, assistant="chat"))
    yield story
    assert not (story.is_sound and await story.findings())


def answers(story: Story, model: LocalModel) -> LocalModel:
    """Let this model answer in `story` from now on."""
    story.engine.models = replace(story.engine.models, chat=model)
    story.engine.graphs.clear()
    return model
