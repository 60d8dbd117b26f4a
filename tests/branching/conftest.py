"""An engine on the saver that ships, a thread of Alice's, and the commands played through to their end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from branching import commands, heads, llm, runs, threads, transcript
from branching.checkpointer import open_saver
from branching.engine import Engine
from branching.models import Run, Thread
from branching.types import RunEvent, ThreadView, Version
from django.contrib.auth.models import User
from langchain_core.language_models import BaseChatModel


@pytest.fixture
async def engine(tmp_path: Path) -> AsyncIterator[Engine]:
    async with open_saver(tmp_path / "checkpoints.sqlite3") as saver:
        yield Engine(saver, llm.open_models(chat_model="", base_url="", token_delay=0))


class Story:
    """A thread in the hands of its owner: each command as a page would give it, with the run played to its end."""

    def __init__(self, engine: Engine, thread: Thread) -> None:
        self.engine, self.thread = engine, thread

    async def view(self) -> ThreadView:
        return await transcript.read(self.thread.pk)

    async def send(self, text: str, **more: Any) -> list[RunEvent]:
        return await self.play(await commands.send(self.thread.pk, text=text, **await self._page(), **more))

    async def replay(self, version: Version | int, **more: Any) -> list[RunEvent]:
        run = await commands.replay(self.thread.pk, message=_pk(version), **await self._page(), **more)
        return await self.play(run)

    async def edit(self, version: Version | int, text: str, *, answer: bool = True) -> list[RunEvent]:
        edited = await commands.edit(
            self.engine, self.thread.pk, message=_pk(version), text=text, **await self._page()
        )
        return await self.resume() if edited and answer else []

    async def resume(self, **more: Any) -> list[RunEvent]:
        return await self.play(await commands.resume(self.thread.pk, **await self._page(), **more))

    async def switch(self, version: Version | int) -> ThreadView:
        await heads.switch(self.thread.pk, message=_pk(version), **await self._page())
        return await self.view()

    async def undo(self) -> ThreadView:
        await heads.undo(self.thread.pk, **await self._page())
        return await self.view()

    async def play(self, run: Run | None, stop: asyncio.Event | None = None) -> list[RunEvent]:
        assert run is not None
        return [event async for event in runs.execute(self.engine, run, stop or asyncio.Event())]

    async def _page(self) -> dict[str, int]:
        return {"head_version": (await self.view()).head_version}


def _pk(version: Version | int) -> int:
    return version.pk if isinstance(version, Version) else version


@pytest.fixture
async def story(engine: Engine, alice: User) -> Story:
    """Alice's thread with Echo."""
    return Story(engine, await threads.create(alice, assistant="echo"))


@pytest.fixture
async def chat(engine: Engine, alice: User) -> Story:
    """Alice's thread with Chat, on the demo model until `answers` gives it another."""
    return Story(engine, await threads.create(alice, assistant="chat"))


def answers(story: Story, model: BaseChatModel) -> None:
    """Let this model answer in `story` from now on."""
    story.engine.models = replace(story.engine.models, chat=model)
    story.engine.graphs.clear()
