"""Something new said at any checkpoint: a branch of its own begins there, by the rules of `send`."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from branching import explain, forecast, threads, travel
from branching.engine import Engine
from branching.exceptions import (
    BadText,
    EmptyMessage,
    HeadMoved,
    HistoryLost,
    MessageTooLong,
    NoSuchCheckpoint,
    RunInProgress,
)
from branching.limits import MESSAGE_MAX
from branching.models import HeadMove, StoredCheckpoint
from tests.branching.conftest import Story, answers, ending
from tests.branching.desk import SUITE, YES, Guest, guest
from tests.branching.models import Scripted
from tests.branching.test_chains import TWO_TURNS, chain, drawn
from tests.branching.test_explain import presses
from tests.branching.test_forks import checkpoints, rows, two_turns

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]


async def say_from(story: Story, checkpoint_id: str, text: str, **more: object) -> str:
    """How the run ended."""
    reply = await story.begin(travel.send_from, checkpoint_id=checkpoint_id, text=text, **more)
    return ending(await reply.finish())


async def test_from_where_a_turn_ended_it_is_a_version_of_what_came_next(story: Story) -> None:
    """
    h1 ── a1 ── h2 ── a2
             └─ new ── b2
    """
    ids = await two_turns(story)
    assert await say_from(story, ids[3], "new") == "done"
    added = ["8 input 3 __start__ 3", "9 loop 4 booking 8", "10 loop 5 reply 9", "11 loop 6 - 10"]
    assert await chain(story) == drawn(TWO_TURNS) + added
    assert await story.screen() == ["h1", "回复：h1", "new 2/2", "回复：new"]
    move = await HeadMove.objects.alatest("id")
    assert (move.why, move.origin, move.target) == ("send", ids[7], (await checkpoints(story))[11])
    await story.undo()
    assert (await story.view()).head == ids[7]


async def test_from_the_middle_of_a_turn_it_follows_what_was_not_answered_there(story: Story) -> None:
    """
    h1 ── a1 ── ...
       └─ new ── b1
    """
    ids = await two_turns(story)
    await say_from(story, ids[1], "new")
    assert await story.screen() == ["h1", "new 2/2", "回复：new"]


@pytest.mark.parametrize(
    ("number", "screen"),
    [(0, ["new 2/2", "回复：new"]), (4, ["h1", "回复：h1", "new 2/2", "回复：new"])],
)
async def test_what_waits_to_be_taken_in_is_not_taken_along(story: Story, number: int, screen: list[str]) -> None:
    """LangGraph lets the new input take its place."""
    ids = await two_turns(story)
    await say_from(story, ids[number], "new")
    assert await story.screen() == screen


@pytest.mark.parametrize("number", [0, 1, 2])
async def test_what_is_said_there_already_is_run_again_and_not_said_twice(story: Story, number: int) -> None:
    ids = await two_turns(story)
    await say_from(story, ids[number], " h1\n")
    assert (await chain(story))[8].split()[1] == "fork"
    assert await story.screen() == ["h1", "回复：h1 2/2"]


async def test_from_head_it_is_what_send_is(story: Story) -> None:
    ids = await two_turns(story)
    await say_from(story, ids[7], "h3")
    assert await story.screen() == ["h1", "回复：h1", "h2", "回复：h2", "h3", "回复：h3"]
    await story.undo()
    assert (await story.view()).head == ids[7]


async def test_from_a_branch_that_is_not_shown(story: Story) -> None:
    ids = await two_turns(story)
    await story.edit(await story.version(0), "h1'")
    await say_from(story, ids[7], "h3")
    assert await story.screen() == ["h1 1/2", "回复：h1", "h2", "回复：h2", "h3", "回复：h3"]


async def test_the_rules_of_send_hold(story: Story) -> None:
    ids = await two_turns(story)
    page = {"engine": story.engine, "head_version": (await story.view()).head_version, "checkpoint_id": ids[3]}
    before = await rows(story)
    for error, wrong in (
        (EmptyMessage, {"text": " \n"}),
        (MessageTooLong, {"text": "x" * (MESSAGE_MAX + 1)}),
        (BadText, {"text": "a\0b"}),
        (NoSuchCheckpoint, {"text": "x", "checkpoint_id": "nowhere"}),
        (HeadMoved, {"text": "x", "head_version": 0}),
    ):
        with pytest.raises(error):
            await travel.send_from(story.thread.pk, **{**page, **wrong})
    assert await rows(story) == before
    reply = await story.begin(travel.send_from, checkpoint_id=ids[3], text="x", key="k")
    with pytest.raises(RunInProgress):
        await travel.send_from(story.thread.pk, **{**page, "text": "y"})
    assert await travel.send_from(story.thread.pk, **page, text="x", key="k") is None, "the key was seen"
    await reply.finish()
    await StoredCheckpoint.objects.filter(checkpoint_id=ids[3]).adelete()
    page["head_version"] = (await story.view()).head_version
    with pytest.raises(HistoryLost):
        await travel.send_from(story.thread.pk, **page, text="z")
    story.is_sound = False


async def test_a_run_that_fails_leaves_the_message_there_to_be_tried_again(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1.", "a2.", ValueError("as planned"), "b2.")))
    await chat.send("q1.")
    first = (await chat.view()).head
    await chat.send("q2.")
    assert await say_from(chat, first, "new.") == "failed"
    assert await chat.screen() == ["q1.", "a1.", "new. 2/2", "[failed]"]
    await chat.resume()
    assert await chat.screen() == ["q1.", "a1.", "new. 2/2", "b2."]


async def test_what_waits_for_an_answer_there_is_declined_first_and_its_call_closed(guest: Guest) -> None:
    """On the branch that is shown another question goes on waiting."""
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    await guest.replay((await guest.view()).versions[-1])
    [other] = await guest.waiting()
    assert await say_from(guest, asked.checkpoint_id, "Never mind. Hotels from 2026-12-05 for 2 nights") == "done"
    kinds = [version.kind for version in (await guest.view()).versions]
    assert kinds[:6] == ["human", "ai", "tool", "ai", "tool", "human"] and kinds[-1] == "ai"
    assert await guest.bookings() == []
    await guest.go(other.checkpoint_id)
    assert await guest.waiting() == (other,)
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2"]


async def test_what_was_done_there_is_told_to_the_model_and_stays(guest: Guest) -> None:
    """From where it was asked and answered: the call keeps the result that it had."""
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    await guest.answer(YES)
    done = [each.text for each in (await guest.view()).versions if each.kind == "tool"]
    ahead = await forecast.of(guest.engine, guest.thread, asked.checkpoint_id, ("__start__",))
    assert (ahead.acting, ahead.needs_consent) == (("tools",), True)
    await say_from(guest, asked.checkpoint_id, "Hotels from 2026-12-05 for 2 nights")
    assert [each.text for each in (await guest.view()).versions if each.kind == "tool"][: len(done)] == done
    assert await guest.bookings() == ["suite bell-tower 2"]


async def test_of_an_assistant_that_takes_whole_turns_too(alice: User, engine: Engine) -> None:
    """A new input at an old id is what LangGraph can do with a function as well. The first checkpoint is empty."""
    talk = Story(engine, await threads.create(alice, assistant="guide"))
    await talk.send("What is HEAD?")
    await talk.send("What is a branch?")
    ids = [each async for each in talk.thread.checkpoints.order_by("id").values_list("checkpoint_id", flat=True)]
    for number in (2, 3, 1):
        await say_from(talk, ids[number], f"What is a checkpoint? {number}")
    kinds = [(each.kind, each.total) for each in (await talk.view()).versions]
    assert kinds == [("human", 2), ("ai", 1)]
    await talk.go(ids[4])
    assert [each.total for each in (await talk.view()).versions] == [2, 1, 3, 1]
    assert not await talk.findings()


async def test_by_the_form_and_by_the_text_of_the_explanation_the_same_is_added(story: Story) -> None:
    ids = await two_turns(story)
    for number in (3, 1, 0):
        told = await explain.send_from(story.engine, story.thread.pk, checkpoint_id=ids[number], text="new")
        await presses(story, told, lambda number=number: say_from(story, ids[number], "new"))
        assert '"input"' in told.requests[0] and "/runs/wait" in told.requests[0]
