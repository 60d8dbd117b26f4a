"""What a killed process had saved but not recorded is found, once, and where the reader would look for it."""

from __future__ import annotations

import asyncio
from unittest.mock import patch

import pytest
from django.db import OperationalError

from branching import recovery, runs
from branching.exceptions import NothingToRun
from branching.models import Run
from branching.types import Checkpoint
from tests.branching.conftest import Reply, Story, answers, expire, is_token, screen
from tests.branching.models import HANG, Scripted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def chat(chat: Story) -> Story:
    """Replies are a1, a2, ... in the order in which they are asked for."""
    answers(chat, Scripted(replies=tuple(f"a{number}" for number in range(1, 20))))
    return chat


async def dies_with_all_saved(story: Story, reply: Reply) -> None:
    """The process is killed when the whole reply is on disk, while the index knows nothing of the run yet."""
    original = runs._record

    async def record(run: Run, checkpoint: Checkpoint) -> bool:
        await asyncio.Event().wait()
        return await original(run, checkpoint)

    with patch.object(runs, "_record", record):
        playing = asyncio.create_task(reply.finish())
        while len(await _saved(story, reply)) < 3:  # noqa: ASYNC110 - a saver tells nobody when it has saved
            await asyncio.sleep(0.01)
        with patch.object(runs.leases, "lose", expire):
            playing.cancel()
            await asyncio.wait({playing})


async def _saved(story: Story, reply: Reply) -> list[Checkpoint]:
    graph = story.engine.graph(story.thread.assistant)
    return await runs.history.of_run(graph, story.thread.pk, reply.run.pk)


async def recover(story: Story) -> bool:
    return await recovery.recover(story.engine, story.thread.pk)


@pytest.mark.parametrize("earlier", [0, 1])
async def test_a_reply_that_was_saved_but_not_recorded_is_there_after_a_reload(chat: Story, earlier: int) -> None:
    for number in range(earlier):
        await chat.send(f"q{number}")
    await dies_with_all_saved(chat, await chat.begin("send", text="q"))
    assert (await chat.screen())[-2:] == ["(q)", "[lost]"]
    assert await recover(chat)
    assert (await chat.screen())[-2:] == ["q", f"a{earlier + 1}"]
    assert (await Run.objects.alatest("created_at")).status == "done"


async def test_it_happens_once(chat: Story) -> None:
    await dies_with_all_saved(chat, await chat.begin("send", text="q1"))
    assert any(await asyncio.gather(*(recover(chat) for _ in range(3))))
    assert not await recover(chat)
    assert await chat.screen() == ["q1", "a1"]


async def test_where_nothing_died_there_is_nothing_to_do(chat: Story) -> None:
    await chat.send("q1")
    reply = await chat.begin("send", text="q2")
    before = await chat.view()
    assert not await recover(chat)
    assert await chat.view() == before
    await reply.finish()


async def test_a_reply_cut_in_the_middle_stays_interrupted_and_can_be_resumed(chat: Story) -> None:
    answers(chat, Scripted(replies=(("One", HANG), "a1")))
    await (await (await chat.begin("send", text="q1")).take_until(is_token)).crash()
    assert await recover(chat)
    assert await chat.screen() == ["q1", "[lost]"]
    await chat.resume()
    assert await chat.screen() == ["q1", "a1"]


async def test_without_a_reload_the_next_command_finds_it(chat: Story) -> None:
    """The reader saw q1 interrupted and pressed Resume: its reply is there already."""
    reply = await (await chat.begin("send", text="q1")).take(2)
    await dies_with_all_saved(chat, reply)
    assert await chat.screen() == ["q1", "[lost]"]
    with pytest.raises(NothingToRun):
        await chat.resume()
    assert await chat.screen() == ["q1", "a1"]


async def test_a_reader_who_has_gone_elsewhere_stays_there_and_finds_it_on_return(chat: Story) -> None:
    """
    q1 ── a1 ── q2 ── a3   <- died
       └─ a2               <- the reader
    """
    await chat.send("q1")
    await chat.replay(await chat.version(1))
    await chat.switch((await chat.version(1)).previous)
    reply = await chat.begin("send", text="q2")
    await chat.switch((await chat.version(1)).next)
    await dies_with_all_saved(chat, reply)
    await recover(chat)
    assert await chat.screen() == ["q1", "a2 2/2"]
    assert screen(await chat.undo()) == ["q1", "a1 1/2", "q2", "a3"]


async def test_a_run_that_the_apps_database_failed_is_completed(chat: Story) -> None:
    """It fails to record the second checkpoint; what was saved beyond it is not lost."""
    original, calls = runs._record, []

    async def record(run: Run, checkpoint: Checkpoint) -> bool:
        calls.append(checkpoint)
        if len(calls) == 2:
            raise OperationalError("database is locked")
        return await original(run, checkpoint)

    with patch.object(runs, "_record", record):
        await chat.send("q1")
    await recover(chat)
    assert (await chat.screen())[0] == "q1"
    assert await chat.findings() == []


async def test_recover_all_finds_every_thread(chat: Story, story: Story) -> None:
    for each in (chat, story):
        await (await (await each.begin("send", text="q1")).take(2)).crash()
    await recovery.recover_all(chat.engine)
    assert not await Run.objects.filter(ended_at=None).aexists()
