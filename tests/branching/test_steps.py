"""What the tool calls of a transcript came to, each on its own branch; and to go again from one of them."""

from __future__ import annotations

import pytest

from branching import commands, window
from branching.exceptions import NotReplayable
from branching.types import ToolStep, Version
from tests.branching.conftest import ending
from tests.branching.desk import BOTH, NO, STANDARD, SUITE, YES, Guest, guest

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]


async def steps(guest: Guest) -> list[ToolStep]:
    return [version.step for version in (await guest.view()).versions if version.step]


async def reply(guest: Guest, number: int) -> Version:
    return (await guest.view()).versions[number]


async def test_a_step_is_a_call_with_its_result(guest: Guest) -> None:
    await guest.send("Hotels from 2026-12-05 for 2 nights")
    [step] = await steps(guest)
    assert (step.name, step.arguments["nights"], step.failed, step.asked) == ("search_hotels", 2, False, None)
    assert '"bell-tower"' in step.result and step.seconds is not None and step.seconds >= 0


async def test_a_refusal_by_a_rule_is_a_step_that_failed(guest: Guest) -> None:
    await guest.send("Hotels from 2026-11-01 for 2 nights")
    [step] = await steps(guest)
    assert step.failed and '"past"' in step.result


async def test_a_step_that_asked_tells_its_answer_and_no_time(guest: Guest) -> None:
    """The time is the person's, not the tool's."""
    await guest.send(BOTH)
    await guest.answer(YES, NO)
    search, first, second = await steps(guest)
    assert search.asked is None
    assert [(each.asked.state, each.asked.reason, each.seconds) for each in (first, second)] == [
        ("done", "", None),
        ("rejected", "not today", None),
    ]


async def test_the_same_call_has_on_each_branch_the_answer_that_was_given_there(guest: Guest) -> None:
    """ask ─┬─ yes
    └─ asked again ── no
    """
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    await guest.answer(YES)
    yes = (await guest.view()).versions[-1].pk
    await guest.decide_again(asked.checkpoint_id)
    await guest.answer(NO)
    assert (await steps(guest))[-1].asked.state == "rejected"
    await guest.switch(yes)
    assert (await steps(guest))[-1].asked.state == "done"


async def test_what_is_due_are_the_calls_without_a_result_each_with_its_question(guest: Guest) -> None:
    await guest.send(BOTH)
    due = (await guest.view()).open_reply.steps
    assert [(step.name, step.asked.state) for step in due] == [("book_hotel", "waiting")] * 2
    await guest.answer(YES)
    due = (await guest.view()).open_reply.steps
    assert [step.asked.state for step in due] == ["done", "waiting"]


async def test_only_what_goes_on_with_a_turn_is_continued(guest: Guest) -> None:
    await guest.send(SUITE)
    await guest.answer(YES)
    versions = (await guest.view()).versions
    assert [version.is_continued for version in versions] == [False, False, True, True, True, True]


async def test_case_18_again_from_the_last_step_keeps_the_tools_results(guest: Guest) -> None:
    """h ── ai calls ── tool ── ai calls ── tool ─┬─ ai
    └─ ai (again)
    """
    await guest.send(SUITE)
    await guest.answer(YES)
    before = (await guest.view()).versions
    assert ending(await guest.replay(before[-1], whole=False)) == "done"
    after = (await guest.view()).versions
    assert [version.pk for version in after[:-1]] == [version.pk for version in before[:-1]]
    assert (after[-1].position, after[-1].total) == (2, 2)
    assert await guest.bookings() == ["suite bell-tower 2"]


async def test_again_from_a_step_that_asked_asks_anew_and_books_nothing_by_itself(guest: Guest) -> None:
    await guest.send(SUITE)
    await guest.answer(YES)
    booked = await reply(guest, 4)
    assert ending(await guest.replay(booked, whole=False)) == "waiting"
    assert await guest.bookings() == ["suite bell-tower 2"]
    await guest.answer(NO)
    assert await guest.bookings() == ["suite bell-tower 2"]
    assert [version.total for version in (await guest.view()).versions] == [1, 1, 1, 1, 2, 1]


async def test_again_from_one_of_two_parallel_steps_does_both_again(guest: Guest) -> None:
    """They are one superstep, and LangGraph goes back to what was before it."""
    await guest.send(BOTH)
    await guest.answer(YES, YES)
    second = await reply(guest, 5)
    assert ending(await guest.replay(second, whole=False)) == "waiting"
    assert len(await guest.waiting()) == 2


async def test_ones_own_message_is_no_step(guest: Guest) -> None:
    await guest.send(SUITE)
    with pytest.raises(NotReplayable):
        await commands.replay(guest.thread.pk, message=(await reply(guest, 0)).pk, whole=False, head_version=0, by=None)


async def test_a_stretch_that_begins_among_the_steps_still_knows_their_calls(guest: Guest) -> None:
    await guest.send(BOTH)
    await guest.answer(YES, YES)
    last = await reply(guest, 5)
    only = await window.only(guest.thread.pk, last.pk)
    assert only.step and only.step.name == "book_hotel" and only.step.arguments["hotel_id"] == "city-wall"


async def test_a_stretch_that_ends_among_parallel_steps_still_knows_what_was_answered(guest: Guest) -> None:
    await guest.send(BOTH)
    await guest.answer(NO, YES)
    view = await guest.view()
    first = next(version for version in view.versions if version.step and version.step.asked)
    stretch = await window.earlier(guest.thread.pk, first.pk)
    assert stretch.versions[-1].pk == first.pk
    assert stretch.versions[-1].step == first.step


async def test_bookings_that_are_left_behind_are_counted_until_they_are_cancelled(guest: Guest) -> None:
    """SUITE booked ─┐
    STANDARD asks ───┘ shown: one stands elsewhere, and none on its own version.
    """
    await guest.send(SUITE)
    await guest.answer(YES)
    assert (await guest.view()).left_standing == 0
    first = await reply(guest, 0)
    await guest.edit(first, STANDARD)
    assert (await guest.view()).left_standing == 1
    await guest.answer(YES)
    assert (await guest.view()).left_standing == 1
    await guest.switch(first)
    assert (await guest.view()).left_standing == 1
    await guest.send("Cancel my booking")
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2 cancelled", "standard bell-tower 2"]
    assert (await guest.view()).left_standing == 1


async def test_a_booking_is_left_behind_where_one_has_decided_again(guest: Guest) -> None:
    """asks ─┬─ yes, booked (left)
    └─ asked again, no (HEAD)
    """
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    await guest.answer(YES)
    await guest.decide_again(asked.checkpoint_id)
    assert (await guest.view()).left_standing == 1
    await guest.answer(NO)
    assert (await guest.view()).left_standing == 1


async def test_case_62_a_question_on_a_version_that_is_not_shown_is_told_of(guest: Guest) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    first = await reply(guest, 0)
    await guest.edit(first, "What is the weather like?")
    assert (await guest.view()).asked_elsewhere == asked.checkpoint_id
    view = await guest.go(asked.checkpoint_id)
    assert view.asked_elsewhere is None and [each.interrupt_id for each in view.waiting] == [asked.interrupt_id]
