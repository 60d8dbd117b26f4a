"""Runs outlive requests and tabs, end when they are told to, and never outlive their process unnoticed."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from branching.models import Run
from chatapp import engine
from chatapp.runner import runner
from tests.branching.models import HANG, Scripted, models_with
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)


SAID = "some words "


async def begin(chat: Tab) -> object:
    """A reply that has said something and then hangs."""
    engine.get().models = models_with(Scripted(replies=((SAID, HANG),)))
    await chat.post("messages/", content="h1")
    live = runner.live((await chat.view()).run.id)
    async with asyncio.timeout(5):
        while live.reply.size < len(SAID):  # noqa: ASYNC110 - no event says that a reply has come so far
            await asyncio.sleep(0.01)
    return live


async def test_a_run_goes_on_without_any_tab(chat: Tab) -> None:
    await chat.post("messages/", content="h1")
    await chat.rest()
    assert len(await chat.texts()) == 2


async def test_case_47_stop_ends_it_within_a_second_and_keeps_the_text(chat: Tab) -> None:
    live = await begin(chat)
    start = time.monotonic()
    response = await chat.post(f"runs/{live.run.pk}/stop/")
    assert time.monotonic() - start < 1
    assert 'data-state="stopped"' in response.content.decode()
    assert await chat.texts() == ["h1", SAID]
    assert (await chat.view()).run is None


async def test_stopping_twice_changes_nothing_more(chat: Tab) -> None:
    live = await begin(chat)
    for _ in range(2):
        assert (await chat.post(f"runs/{live.run.pk}/stop/")).status_code == 200
    assert len(await chat.texts()) == 2


async def test_a_server_that_stops_leaves_its_runs_interrupted_and_they_can_be_resumed(chat: Tab) -> None:
    await begin(chat)
    await runner.close()
    assert (await chat.view()).open_reply.state == "lost"
    engine.get().models = models_with(Scripted(replies=("a reply",)))
    engine.get().graphs.clear()
    await chat.post("runs/")
    await chat.rest()
    assert await chat.texts() == ["h1", "a reply"]


@pytest.mark.parametrize("path", ["messages/", "runs/", "messages/{}/edit/"])
async def test_a_run_is_not_given_up_because_its_process_was_asleep(chat: Tab, path: str) -> None:
    live = await begin(chat)
    said = (await chat.view()).versions[0]
    await Run.objects.filter(pk=live.run.pk).aupdate(lease_until=timezone.now() - timedelta(hours=8))
    assert (await chat.post(path.format(said.pk), content="h2")).status_code == 409
    assert (await chat.view()).run.id == live.run.pk


async def test_a_deleted_thread_takes_its_run_with_it(chat: Tab) -> None:
    live = await begin(chat)
    await chat.client.post(f"{chat.url}delete/")
    assert live.task.done()
    saved = engine.get().saver.alist({"configurable": {"thread_id": str(chat.thread.pk)}})
    assert [each async for each in saved] == []
