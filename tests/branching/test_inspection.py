"""One checkpoint whole, two compared, and running again from any: what is read, and that reading changes nothing."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from django.apps import apps

from branching import commands, explain, forecast, history, index, inspection, travel
from branching.database import on_database
from branching.exceptions import HistoryLost, NoSuchCheckpoint, RunInProgress
from branching.forks import Update
from branching.models import IndexedCheckpoint, StoredCheckpoint
from tests.branching.conftest import Story, answers, ending
from tests.branching.desk import SUITE, YES, Guest, guest
from tests.branching.models import Scripted
from tests.branching.test_chains import TWO_TURNS, chain, drawn
from tests.branching.test_forks import checkpoints, fork, says, two_turns

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]


async def read(story: Story, checkpoint_id: str) -> inspection.Inspection:
    return await inspection.read(story.engine, story.thread, checkpoint_id)


@on_database
def all_rows() -> dict[str, list[tuple[object, ...]]]:
    """Everything that is in the database."""
    return {model._meta.label: list(model.objects.order_by("pk").values_list()) for model in apps.get_models()}


async def again(story: Story, checkpoint_id: str, **more: object) -> str:
    return ending(await (await story.begin(travel.replay_from, checkpoint_id=checkpoint_id, **more)).finish())


async def test_a_checkpoint_is_told_whole_and_reading_it_changes_nothing(story: Story) -> None:
    ids = await two_turns(story)
    before = await all_rows()
    found = await read(story, ids[2])
    assert (found.row.id, found.parent.id, [child.id for child in found.children]) == (ids[2], ids[1], [ids[3]])
    assert [message["content"] for message in found.values["messages"]] == ["h1"]
    assert (found.next, [task.node for task in found.tasks]) == (("reply",), ["reply"])
    assert found.metadata["run"] == str(found.row.run_id)
    assert "messages" in [write.channel for write in found.writes]
    assert json.loads(json.dumps(found.raw))["values"] == found.values
    assert await all_rows() == before


async def test_its_errors_and_its_questions(guest: Guest) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    [task] = (await read(guest, asked.checkpoint_id)).tasks
    assert (task.node, task.questions[0]["value"]["room"]) == ("tools", "suite")
    assert (await read(guest, asked.checkpoint_id)).row.is_waiting


async def test_an_error_is_told_where_it_came(chat: Story) -> None:
    answers(chat, Scripted(replies=(ValueError("as planned"),)))
    await chat.send("q1")
    [task] = (await read(chat, (await chat.view()).head)).tasks
    assert "as planned" in task.error


async def test_one_that_is_missing_is_an_error_and_never_an_empty_state(story: Story, chat: Story) -> None:
    ids = await two_turns(story)
    await chat.send("q1")
    for wrong in ("nowhere", (await chat.view()).head):
        with pytest.raises(NoSuchCheckpoint):
            await read(story, wrong)
        with pytest.raises(NoSuchCheckpoint):
            await again(story, wrong)
    await StoredCheckpoint.objects.filter(checkpoint_id=ids[2]).adelete()
    with pytest.raises(HistoryLost):
        await read(story, ids[2])
    with pytest.raises(HistoryLost):
        await again(story, ids[2])
    story.is_sound = False


async def test_case_64_inner_checkpoints_of_a_subgraph_are_no_checkpoints_of_the_thread(story: Story) -> None:
    """Only those with the empty namespace are in the index, and so in any list or form."""
    ids = await two_turns(story)
    inner = await StoredCheckpoint.objects.aget(checkpoint_id=ids[2])
    inner.pk, inner.ns, inner.checkpoint_id = None, "planner:1", "inner"
    await inner.asave(force_insert=True)
    with pytest.raises(NoSuchCheckpoint):
        await read(story, "inner")


async def test_what_tells_two_apart(story: Story) -> None:
    ids = await two_turns(story)
    old, new = await read(story, ids[3]), await read(story, ids[5])
    messages, following = inspection.differences(old, new)
    assert (messages.name, messages.is_same, following.is_same) == ("messages", False, False)
    assert '    "content": "h2"' in [line.text for line in messages.lines if line.change == "new"]
    assert not [line for line in messages.lines if line.change == "gone"]
    assert all(each.is_same for each in inspection.differences(old, old))


async def test_another_budget_tells_two_apart(guest: Guest) -> None:
    await guest.send("Hotels from 2026-12-05 for 2 nights")
    old = (await guest.view()).head
    await fork(guest, old, Update("agent", {"budget": 700}))
    found = inspection.differences(await read(guest, old), await read(guest, (await guest.view()).head))
    [budget] = [each for each in found if not each.is_same]
    assert (budget.name, [(line.change, line.text) for line in budget.lines][-1]) == ("budget", ("new", "700"))


def test_what_no_json_can_say_is_said_all_the_same() -> None:
    given = {"time": datetime(2026, 12, 1, tzinfo=UTC), "bytes": b"x" * 999, "set": {1}, 7: (None, 1.5, True)}
    found = inspection.plain(given)
    assert json.loads(json.dumps(found)) == found
    assert len(found["bytes"]) == inspection.BYTES and found["7"] == [None, 1.5, True]


# Running again from any checkpoint


async def test_case_24_from_step_1_it_makes_ten_and_the_first_of_them_is_a_fork(story: Story) -> None:
    ids = await two_turns(story)
    assert await again(story, ids[2]) == "done"
    assert await chain(story) == drawn(TWO_TURNS + "8 fork 2 reply 2\n 9 loop 3 - 8")
    assert await story.screen() == ["h1", "回复：h1 2/2"]


async def test_from_an_input_what_was_said_there_is_said_again(story: Story) -> None:
    """F26: it keeps its id, so it is the same version of the message, with another reply."""
    ids = await two_turns(story)
    assert await again(story, ids[4]) == "done"
    assert await story.screen() == ["h1", "回复：h1", "h2", "回复：h2 2/2"]
    await story.undo()
    assert (await story.view()).head == ids[-1]


async def test_from_a_fork_copy_it_goes_back_to_the_original(story: Story) -> None:
    ids = await two_turns(story)
    await again(story, ids[2])
    copy = (await checkpoints(story))[8]
    await again(story, copy)
    assert (await chain(story))[10] == "10 fork 2 reply 2"
    assert await story.screen() == ["h1", "回复：h1 3/3"]


async def test_where_the_graph_had_ended_a_copy_is_added_and_nothing_runs(story: Story) -> None:
    """It counts as what it copies: nothing has another version, and one regenerates from where one did before."""
    ids = await two_turns(story)
    base = await on_database(index.base_of)(await story.thread.messages.aget(pk=(await story.version(1)).pk))
    assert (await explain.replay_from(story.engine, story.thread.pk, checkpoint_id=ids[3])).copies
    assert await again(story, ids[3]) == "done"
    assert (await chain(story))[8:] == ["8 fork 3 - 3"]
    view, copy = await story.view(), (await checkpoints(story))[8]
    assert (view.head, view.open_reply) == (copy, None) and await story.screen() == ["h1", "回复：h1"]
    row = await story.thread.checkpoints.aget(checkpoint_id=copy)
    assert row.origin_id == ids[3]
    both = [await inspection.read(story.engine, story.thread, each) for each in (ids[3], copy)]
    assert all(each.is_same for each in inspection.differences(*both))
    assert await on_database(index.base_of)(await story.thread.messages.aget(pk=view.versions[1].pk)) == base
    await story.undo()
    assert (await story.view()).head == ids[7] and len(await story.screen()) == 4


async def test_of_a_copy_that_had_ended_there_is_another_copy_beside_it(story: Story) -> None:
    ids = await two_turns(story)
    await again(story, ids[7])
    await again(story, (await story.view()).head)
    assert (await chain(story))[8:] == ["8 fork 7 - 7", "9 fork 7 - 7"]


async def test_a_dead_end_that_is_the_newest_gets_no_copy_and_that_is_said_before(story: Story) -> None:
    ids = await two_turns(story)
    await fork(story, ids[2], Update("reply", says("by hand")))
    dead_end = (await story.view()).head
    await story.go(ids[7])
    assert not (await explain.replay_from(story.engine, story.thread.pk, checkpoint_id=dead_end)).copies
    assert await again(story, dead_end) == "done"
    assert (await story.view()).head == dead_end and len(await checkpoints(story)) == 9


async def test_not_while_a_run_is_under_way_and_once_for_a_key(story: Story) -> None:
    ids = await two_turns(story)
    reply = await (await story.begin("send", text="h3")).take(2)
    with pytest.raises(RunInProgress):
        await again(story, ids[2])
    await reply.finish()
    await again(story, ids[2], key="k")
    page = {"head_version": (await story.view()).head_version, "key": "k", "checkpoint_id": ids[2]}
    assert await commands.begin(story.engine, travel.replay_from, story.thread.pk, **page) is None


async def test_case_21_what_would_be_done_again_is_told_before(guest: Guest) -> None:
    """And once one runs from there, it is asked again, and booked once more only with another yes."""
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    await guest.answer(YES)
    ahead = await forecast.of(guest.engine, guest.thread, asked.checkpoint_id)
    assert (ahead.nodes, ahead.acting, ahead.needs_consent) == (("tools", "agent"), ("tools",), True)
    assert [(line.name, line.booking.room) for line in ahead.done] == [("book_hotel", "suite")]
    head = await forecast.of(guest.engine, guest.thread, (await guest.view()).head)
    assert (head.nodes, head.needs_consent) == ((), False)
    assert await again(guest, asked.checkpoint_id) == "waiting"
    assert await guest.bookings() == ["suite bell-tower 2"]
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2"] * 2


async def test_case_23_running_again_where_it_waits_asks_on_a_branch_of_its_own(guest: Guest) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    assert await again(guest, asked.checkpoint_id) == "waiting"
    [anew] = await guest.waiting()
    assert anew.checkpoint_id != asked.checkpoint_id
    await guest.go(asked.checkpoint_id)
    assert await guest.waiting() == (asked,)


async def test_an_assistant_that_does_not_act_needs_no_consent(story: Story) -> None:
    ids = await two_turns(story)
    ahead = await forecast.of(story.engine, story.thread, ids[0])
    assert (ahead.next, ahead.nodes, ahead.needs_consent) == (("__start__",), ("booking", "reply"), False)
    rows = [row async for row in IndexedCheckpoint.objects.filter(thread=story.thread)]
    assert len(rows) == len(await history.read_all(story.engine.graph("echo"), story.thread.pk))
