"""Several versions at once: replays from one checkpoint that run beside each other and never into each other."""

from __future__ import annotations

import asyncio
import random

import pytest

from branching import commands, recovery, several, threads
from branching.exceptions import BadRequest, NoSuchRun, NothingToRun, OneAtATime, RunInProgress
from branching.models import IndexedCheckpoint, Run
from tests.branching.conftest import Reply, Story, answers, expire, is_token
from tests.branching.models import HANG, Scripted

pytestmark = pytest.mark.django_db(transaction=True)


async def begin(chat: Story, count: int = 3, slot: int = 1, **more: object) -> list[Reply]:
    view = await chat.view()
    given = {"message": view.versions[slot].pk, "count": count, "head_version": view.head_version, **more}
    return [Reply(chat.engine, run) for run in await several.begin(chat.engine, chat.thread.pk, **given)]


async def test_each_becomes_a_version_and_head_goes_with_the_first(chat: Story) -> None:
    """
    q1 ─┬─ a1
        ├─ b1 (HEAD)
        ├─ b2
        └─ b3
    """
    answers(chat, Scripted(replies=("a1", "b", "b", "b"), token_delay=0.001))
    await chat.send("q1")
    replies = await begin(chat)
    await asyncio.gather(*(reply.finish() for reply in replies))
    view = await chat.view()
    assert view.versions[1].total == 4
    found = await several.attempts(chat.thread.pk, replies[0].run.pk)
    assert [each.run.pk for each in found] == [reply.run.pk for reply in replies]
    assert {each.version.position for each in found} == {2, 3, 4}
    assert found[0].version.pk == view.versions[1].pk
    assert view.run is None and view.ready is None
    copies = IndexedCheckpoint.objects.filter(thread=chat.thread, source="fork")
    assert len({row.origin_id async for row in copies}) == 1 and await copies.acount() == 3


async def test_the_others_leave_head_alone_also_where_they_are_faster(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", "b", "b")))
    await chat.send("q1")
    first, second = await begin(chat, 2)
    before = (await chat.view()).head
    await second.finish()
    assert (await chat.view()).head == before
    await first.finish()
    assert (await chat.view()).head == (await Run.objects.aget(pk=first.run.pk)).tip


async def test_each_has_wording_of_its_own_with_the_demo_model(chat: Story) -> None:
    await chat.send("Plan two days in Xi'an for me.")
    replies = await begin(chat, 4)
    await asyncio.gather(*(reply.finish() for reply in replies))
    texts = [message.text async for message in chat.thread.messages.filter(kind="ai")]
    assert len(texts) == len(set(texts)) == 5


async def test_whichever_is_heard_of_first_all_agrees(chat: Story) -> None:
    """The index numbers replies as it hears of them, here the other way round than their checkpoints' ids."""
    answers(chat, Scripted(replies=("a1", "b1", "b2")))
    await chat.send("q1")
    first, second = await begin(chat, 2)
    await first.take()
    await asyncio.sleep(0.3)  # it writes on, though nobody listens
    await second.finish()
    await first.finish()
    rows = [row async for row in chat.thread.messages.filter(text__startswith="b").order_by("pk")]
    ends = [await row.checkpoints.order_by("pk").afirst() for row in rows]
    assert ends[0].checkpoint_id > ends[1].checkpoint_id
    assert not await chat.findings()


async def test_one_is_stopped_and_the_other_goes_on(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", ("one two", HANG), "b")))
    await chat.send("q1")
    first, second = await begin(chat, 2)
    await second.take_until(is_token)
    await second.stop()
    await first.finish()
    found = await several.attempts(chat.thread.pk, first.run.pk)
    assert [(each.run.status, each.version.state) for each in found] == [("done", "done"), ("stopped", "stopped")]


@pytest.mark.parametrize("seed", range(4))
async def test_whatever_becomes_of_each_no_other_is_mixed_up_with_it(chat: Story, seed: int) -> None:
    """Four write at the same time; some fail, some are stopped in the middle, some die with their process."""
    chance = random.Random(seed)
    ends = [(), (ValueError("as planned"),), (HANG,), (HANG,)]
    replies = [(f"b{number} ", f"b{number}", *chance.choice(ends)) for number in range(4)]
    answers(chat, Scripted(replies=("a1", "a2", *replies, "c"), token_delay=0.001))
    await chat.send("q1")
    await chat.send("q2")
    begun = await begin(chat, 4, slot=3)
    tasks = {asyncio.create_task(reply.finish()): reply for reply in begun}
    for task in (await asyncio.wait(tasks, timeout=1))[1]:
        tasks[task].ask_to_stop()
    await asyncio.wait(tasks)
    view = await chat.view()
    found = await several.attempts(chat.thread.pk, begun[0].run.pk)
    for each in found:
        if each.version:
            words = set(each.version.text.split())
            assert len(words) == 1, "what another one said is in it"
            came = await chat.switch(each.version.pk)
            assert [version.text for version in came.versions[:3]] == ["q1", "a1", "q2"]
            assert came.versions[3].pk == each.version.pk
    assert view.versions[2].text == "q2" and view.run is None
    rows = [row async for row in IndexedCheckpoint.objects.filter(thread=chat.thread, run__in=[b.run for b in begun])]
    by_id = {row.checkpoint_id: row for row in rows}
    for row in rows:
        parent = by_id.get(row.parent_id)
        assert (parent is None) == (row.source == "fork") and (parent is None or parent.run_id == row.run_id)
    assert await chat.findings() == []


async def test_where_the_first_comes_to_nothing_another_is_shown_once_all_have_ended(chat: Story) -> None:
    """
    q1 ─┬─ a1
        ├─ (failed)
        ├─ b2 (HEAD)
        └─ b3
    """
    answers(chat, Scripted(replies=("a1", ("b", ValueError("as planned")), "b2", "b3")))
    await chat.send("q1")
    before = await chat.view()
    first, second, third = await begin(chat)
    await first.finish()
    assert (await chat.view()).open_reply.state == "failed"
    await second.finish()
    assert (await chat.view()).open_reply.state == "failed", "one is still being written"
    await third.finish()
    view = await chat.view()
    assert (view.versions[1].text, view.run_state) == ("b2", "idle")
    assert (await chat.undo()).head == before.head


async def test_who_has_gone_elsewhere_stays_there(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", ("b", ValueError("as planned")), "b2")))
    await chat.send("q1")
    old = await chat.version(1)
    first, second = await begin(chat, 2)
    await first.finish()
    await chat.switch(old.pk)
    await second.finish()
    assert (await chat.view()).versions[1].text == "a1"


async def test_one_that_was_cut_short_is_gone_on_with(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", "b1", "b2", ("b3", HANG), "again")))
    await chat.send("q1")
    first, second, third = await begin(chat)
    await first.finish()
    await second.finish()
    await third.take_until(is_token)
    await third.crash()
    [_, _, lost] = await several.attempts(chat.thread.pk, first.run.pk)
    assert lost.is_resumable and not lost.is_active
    given = {"run": third.run.pk, "head_version": (await chat.view()).head_version, "key": "k"}
    run = await commands.begin(chat.engine, several.go_on, chat.thread.pk, **given)
    await chat.play(run)
    assert (await chat.view()).versions[1].text == "again"
    [_, _, found] = await several.attempts(chat.thread.pk, first.run.pk)
    assert found.version.text == "again" and not found.is_resumable
    assert await commands.begin(chat.engine, several.go_on, chat.thread.pk, **given) is None
    with pytest.raises(NothingToRun):
        await commands.begin(chat.engine, several.go_on, chat.thread.pk, **{**given, "key": "other"})


async def test_while_they_run_nothing_else_begins_and_the_page_says_so(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", "b", "b")))
    await chat.send("q1")
    first, second = await begin(chat, 2)
    await first.finish()
    view = await chat.view()
    assert (view.run_state, view.run.company) == ("running", first.run.pk)
    with pytest.raises(RunInProgress):
        await commands.send(chat.thread.pk, text="q2", head_version=view.head_version)
    await second.finish()
    await chat.send("q2")


async def test_what_a_dead_process_has_left_does_no_harm(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", ("b", HANG), ("b", HANG), "c2")))
    await chat.send("q1")
    for reply in await begin(chat, 2):
        await reply.take(1)
        await reply.leave()
        await expire(reply.run)
    await chat.send("q2")
    view = await chat.view()
    assert view.run_state == "idle" and [version.text for version in view.versions][-1] != "q2"


async def test_what_was_finished_before_its_process_died_is_shown_instead(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", "b1", ("b2", HANG))))
    await chat.send("q1")
    first, second = await begin(chat, 2)
    await second.finish()
    await first.take_until(is_token)
    await first.crash()
    assert (await chat.view()).open_reply.state == "lost"
    await recovery.recover(chat.engine, chat.thread.pk)
    assert (await chat.view()).versions[1].text == "b1"
    assert await chat.findings() == []


async def test_one_comes_back_to_the_others_by_the_arrows(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", "b1", "b2"), token_delay=0.001))
    await chat.send("q1")
    replies = await begin(chat, 2)
    await asyncio.gather(*(reply.finish() for reply in replies))
    other = (await several.attempts(chat.thread.pk, replies[0].run.pk))[1].version
    await chat.switch(other.pk)
    assert (await chat.view()).versions[1].pk == other.pk


async def test_a_repeated_key_begins_nothing_and_what_can_t_be_is_refused(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", "b", "b", "c")))
    await chat.send("q1")
    replies = await begin(chat, 2, key="k")
    await asyncio.gather(*(reply.finish() for reply in replies))
    assert await begin(chat, 2, key="k") == []
    for count in (1, 5):
        with pytest.raises(BadRequest):
            await begin(chat, count)
    with pytest.raises(NoSuchRun):
        await several.attempts(chat.thread.pk, (await Run.objects.filter(kind="send").afirst()).pk)


async def test_an_assistant_that_acts_answers_one_at_a_time(chat: Story) -> None:
    desk = Story(chat.engine, await threads.create(chat.thread.owner, assistant="concierge"))
    await desk.send("Which hotels are there from 2027-01-05 for 2 nights?")
    with pytest.raises(OneAtATime):
        await begin(desk, 2, slot=-1)
