"""The life of a server process: what it does when it starts and ends, and that there is one of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db import connection  # noqa: F401 - for the conditions of skips
from langchain_core.messages import HumanMessage

from branching import commands, history, recovery
from branching.models import Run
from chatapp import engine
from chatapp.asgi import application
from tests.chatapp.conftest import Tab
from tests.chatapp.test_runner import begin

pytestmark = pytest.mark.django_db(transaction=True)


@asynccontextmanager
async def served() -> AsyncIterator[dict[str, Any]]:
    """What the app answers to the start of a server; it is told of the end afterwards."""
    said, answers = asyncio.Queue(), asyncio.Queue()
    life = asyncio.create_task(application({"type": "lifespan"}, said.get, answers.put))
    said.put_nowait({"type": "lifespan.startup"})
    yield await answers.get()
    said.put_nowait({"type": "lifespan.shutdown"})
    await asyncio.wait({life}, timeout=10)
    assert life.done() and life.exception() is None


async def killed_after_its_last_checkpoint(tab: Tab, text: str) -> Run:
    """A run of which the saver has everything and the index nothing."""
    run = await commands.send(tab.thread.pk, text=text, head_version=(await tab.view()).head_version)
    graph = engine.get().graph("echo")
    config = history.config_for(tab.thread.pk, run.base, **{history.RUN: str(run.pk)})
    await graph.ainvoke({"messages": [HumanMessage(text, id=run.input["id"])]}, config, durability="sync")
    await Run.objects.filter(pk=run.pk).aupdate(status=Run.Status.RUNNING)
    return run


async def test_a_start_takes_in_what_the_last_process_had_saved(tab: Tab) -> None:
    await tab.send("h1")
    await killed_after_its_last_checkpoint(tab, "h2")
    async with served() as answer:
        assert answer == {"type": "lifespan.startup.complete"}
        assert await tab.texts() == ["h1", "回复：h1", "h2", "回复：h2"]
        assert (await tab.view()).run_state == "idle"


async def test_a_thread_that_cannot_be_recovered_does_not_keep_the_server_from_starting(tab: Tab, monkeypatch) -> None:
    await killed_after_its_last_checkpoint(tab, "h1")
    monkeypatch.setattr(recovery.history, "of_run", None)
    async with served() as answer:
        assert answer["type"] == "lifespan.startup.complete"
        assert (await tab.view()).open_reply.state == "lost"


async def test_an_end_leaves_runs_interrupted(chat: Tab) -> None:
    async with served():
        await begin(chat)
    assert (await chat.view()).open_reply.state == "lost"


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="With SQLite the folder is the data.")
async def test_case_79_on_postgresql_it_is_the_database_that_one_process_serves(tmp_path: Path, settings: Any) -> None:
    async with served():
        settings.DATA_DIR = tmp_path
        async with served() as answer:
            assert answer["type"] == "lifespan.startup.failed"
    async with served() as answer:
        assert answer["type"] == "lifespan.startup.complete"


async def test_case_79_a_second_process_on_the_same_data_is_refused_and_leaves_the_first_alone(chat: Tab) -> None:
    async with served():
        live = await begin(chat)
        async with served() as answer:
            assert answer["type"] == "lifespan.startup.failed"
            assert "Another process already serves" in answer["message"]
        assert not live.task.done()
        assert (await chat.view()).run_state == "running"
