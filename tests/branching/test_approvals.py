"""Questions that an assistant asks before it acts, answered late, twice, elsewhere, together. Cases 23, 59, 61, 62."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from branching import commands, threads
from branching.exceptions import AlreadyAnswered, AnswerFirst, BadAnswer, HeadMoved, NoSuchQuestion
from branching.models import Action, Run
from tests.branching.conftest import ending
from tests.branching.desk import BOTH, NO, STANDARD, SUITE, YES, Guest, guest

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]


async def test_booking_waits_for_an_approval_and_says_what_for(guest: Guest) -> None:
    assert ending(await guest.send(SUITE)) == "waiting"
    view = await guest.view()
    [waiting] = view.waiting
    assert (view.run_state, view.open_reply.state) == ("waiting", "waiting")
    assert waiting.checkpoint_id == view.head
    assert waiting.payload | {"call": ""} == {
        "action": "book_hotel",
        "call": "",
        "arguments": {"hotel_id": "bell-tower", "room_type": "suite", "check_in": "2026-12-05", "nights": 2},
        "hotel": {"id": "bell-tower", "name": "Bell Tower Hotel", "chinese": "钟楼饭店"},
        "room": "suite",
        "check_in": "2026-12-05",
        "nights": 2,
        "total": 2560,
        "currency": "CNY",
        "editable": ["room_type", "check_in", "nights"],
    }
    assert await guest.bookings() == []
    assert (await Run.objects.aget()).status == "waiting"


async def test_a_yes_books_once_and_the_assistant_says_so(guest: Guest) -> None:
    await guest.send(SUITE)
    assert ending(await guest.answer(YES)) == "done"
    assert await guest.bookings() == ["suite bell-tower 2"]
    view = await guest.view()
    assert (view.run_state, view.waiting, view.open_reply) == ("idle", (), None)
    assert view.versions[-1].text.startswith("Booked: suite in Bell Tower Hotel from 2026-12-05")
    [order] = (await guest.state())["orders"].values()
    assert order["status"] == "booked"


async def test_case_23_a_resume_goes_on_at_the_step_that_asked(guest: Guest) -> None:
    """Nothing before it runs again, and no copy of a checkpoint is made."""
    await guest.send(SUITE)
    before = {row.node: row.times for row in await guest.actions()}
    await guest.answer(YES)
    assert before == {"tools": 1}
    assert {row.node: row.times for row in await guest.actions()} == {"tools": 2}
    tree = await guest.tree()
    assert "fork" not in {checkpoint.source for checkpoint in tree.checkpoints.values()}
    assert [version.kind for version in (await guest.view()).versions] == ["human", "ai", "tool", "ai", "tool", "ai"]


async def test_a_no_is_a_result_and_its_reason_is_heard(guest: Guest) -> None:
    await guest.send(SUITE)
    await guest.answer(NO)
    assert await guest.bookings() == []
    assert (await guest.view()).versions[-1].text == "Then I have left it. You said: not today"
    assert (await guest.view()).versions[-2].data["status"] == "error"


async def test_an_edit_is_booked_as_edited(guest: Guest) -> None:
    await guest.send(SUITE)
    await guest.answer({"type": "edit", "arguments": {"room_type": "standard", "nights": "3"}})
    assert await guest.bookings() == ["standard bell-tower 3"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"check_in": "2026-11-01"}, "2026-11-01 is in the past: today is 2026-11-30."),
        ({"nights": 99}, "A stay is 1 to 30 nights, not 99."),
        ({"room_type": "palace"}, "That was not clear enough to do."),
    ],
)
async def test_an_edit_is_checked_as_the_tool_checks(guest: Guest, arguments: dict[str, object], said: str) -> None:
    await guest.send(SUITE)
    await guest.answer({"type": "edit", "arguments": arguments})
    assert await guest.bookings() == []
    assert said in (await guest.view()).versions[-1].text


@pytest.mark.parametrize(
    "answer",
    [
        {},
        None,
        {"type": "maybe"},
        {"type": "edit"},
        {"type": "edit", "arguments": {"hotel_id": "tang-garden"}},
        {"type": "edit", "arguments": {"nights": [1]}},
        {"type": "reject", "reason": 7},
    ],
)
async def test_what_is_no_answer_is_refused_and_the_question_stays(guest: Guest, answer: dict[str, object]) -> None:
    await guest.send(SUITE)
    with pytest.raises(BadAnswer):
        await guest.answer(answer)
    assert len(await guest.waiting()) == 1


async def test_several_bookings_are_asked_for_at_once_and_answered_together(guest: Guest) -> None:
    await guest.send(BOTH)
    assert [each.payload["hotel"]["id"] for each in await guest.waiting()] == ["bell-tower", "city-wall"]
    await guest.answer(YES, NO)
    assert await guest.bookings() == ["suite bell-tower 2"]
    last = (await guest.view()).versions[-1].text
    assert "Booked: suite in Bell Tower Hotel" in last and "Then I have left it." in last


async def test_several_questions_are_answered_one_by_one(guest: Guest) -> None:
    await guest.send(BOTH)
    assert ending(await guest.answer(YES)) == "waiting"
    view = await guest.view()
    assert [each.payload["hotel"]["id"] for each in view.waiting] == ["city-wall"]
    assert view.run_state == "waiting"
    assert ending(await guest.answer(YES)) == "done"
    assert await guest.bookings() == ["suite bell-tower 2", "standard city-wall 2"]
    assert [row.times for row in await guest.actions()] == [2, 3]


async def test_case_59_an_answer_that_was_given_is_not_taken_back_by_a_no(guest: Guest) -> None:
    """Neither from an old tab nor after going back to the question."""
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    page = (await guest.view()).head_version
    await guest.answer(YES)
    old = {"checkpoint_id": asked.checkpoint_id, "answers": {asked.interrupt_id: NO}}
    with pytest.raises(AlreadyAnswered):
        await guest.begin("answer", head_version=page, **old)
    view = await guest.go(asked.checkpoint_id)
    assert (view.waiting, view.open_reply.state, view.run_state) == ((), "answered", "idle")
    with pytest.raises(AlreadyAnswered):
        await guest.begin("answer", **old)
    assert await guest.bookings() == ["suite bell-tower 2"]


async def test_case_59_to_decide_again_asks_anew_and_a_no_then_books_nothing(guest: Guest) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    await guest.answer(YES)
    assert ending(await guest.decide_again(asked.checkpoint_id)) == "waiting"
    [anew] = await guest.waiting()
    assert anew.checkpoint_id != asked.checkpoint_id and anew.interrupt_id != asked.interrupt_id
    assert (await guest.screen())[-1] == "[waiting 2/2]"
    await guest.answer(NO)
    assert await guest.bookings() == ["suite bell-tower 2"]
    assert (await guest.screen())[-2].endswith(" 2/2")


async def test_to_decide_again_with_yes_is_a_booking_of_its_own(guest: Guest) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    await guest.answer(NO)
    await guest.decide_again(asked.checkpoint_id)
    await guest.answer(YES)
    await guest.decide_again((await guest.actions())[-1].checkpoint_id)
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2"] * 2
    assert [version.total for version in (await guest.view()).versions if version.kind == "tool"] == [1, 3]


async def test_undo_after_a_yes_leads_to_the_answered_question_and_retry_asks_anew(guest: Guest) -> None:
    await guest.send(SUITE)
    await guest.answer(YES)
    assert (await guest.undo()).open_reply.state == "answered"
    assert ending(await guest.resume()) == "waiting"
    await guest.answer(NO)
    assert await guest.bookings() == ["suite bell-tower 2"]


async def test_while_it_waits_there_is_nothing_to_retry_and_nothing_to_decide_again(guest: Guest) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    with pytest.raises(AnswerFirst):
        await guest.resume()
    with pytest.raises(AnswerFirst):
        await guest.decide_again(asked.checkpoint_id)
    assert await guest.waiting() == (asked,)


async def test_case_61_a_message_instead_of_an_answer_declines_it(guest: Guest) -> None:
    await guest.send(SUITE)
    await guest.send("never mind")
    kinds = [version.kind for version in (await guest.view()).versions]
    assert kinds == ["human", "ai", "tool", "ai", "tool", "human", "ai"]
    closed = (await guest.view()).versions[4]
    assert closed.text == "Declined: the person said something else instead of answering."
    assert (await guest.bookings(), await guest.waiting()) == ([], ())
    view = await guest.undo()
    assert (view.open_reply.state, view.waiting) == ("answered", ())


async def test_case_61_of_several_what_was_done_stays_done_and_the_rest_is_declined(guest: Guest) -> None:
    await guest.send(BOTH)
    await guest.answer(YES)
    await guest.send("never mind")
    results = [version.text for version in (await guest.view()).versions if version.kind == "tool"][1:]
    assert '"status": "booked"' in results[0] and results[1].startswith("Declined:")
    [order] = (await guest.state())["orders"].values()
    assert order["hotel"]["id"] == "bell-tower"


async def test_case_62_a_question_on_a_version_that_is_not_shown_waits_there(guest: Guest, alice: User) -> None:
    await guest.send("Hotels from 2026-12-05 for 2 nights")
    await guest.send(SUITE)
    await guest.edit(await guest.version(4), "thanks")
    view = await guest.view()
    assert (view.waiting, view.run_state) == ((), "idle")
    assert [thread.is_waiting for thread in await threads.of(alice)] == [True]
    view = await guest.switch((await guest.version(4)).previous)
    assert view.run_state == "waiting"
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2"]
    assert [thread.is_waiting for thread in await threads.of(alice)] == [False]


async def test_an_answer_belongs_to_the_version_that_asked_and_is_given_there(guest: Guest) -> None:
    """From a tab that shows another version, or to a question that nobody asked, it is refused, and nothing is lost."""
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    await guest.replay(await guest.version(1))
    with pytest.raises(HeadMoved):
        await guest.begin("answer", checkpoint_id=asked.checkpoint_id, answers={asked.interrupt_id: YES})
    [anew] = await guest.waiting()
    for wrong in (asked.interrupt_id, "nobody"):
        with pytest.raises(NoSuchQuestion):
            await guest.begin("answer", checkpoint_id=anew.checkpoint_id, answers={wrong: YES})
    with pytest.raises(NoSuchQuestion):
        await guest.begin("answer", checkpoint_id="x" * 100, answers={anew.interrupt_id: YES})
    with pytest.raises(HeadMoved):
        await guest.answer(YES, head_version=0)
    assert await guest.bookings() == []
    await guest.switch((await guest.version(1)).previous)
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2"]


async def test_a_key_answers_once(guest: Guest) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    page = (await guest.view()).head_version
    await guest.answer(YES, key="k")
    given = {"checkpoint_id": asked.checkpoint_id, "answers": {asked.interrupt_id: YES}}
    assert await commands.answer(guest.thread.pk, **given, head_version=page, key="k") is None


async def test_regenerate_while_it_waits_answers_the_whole_turn_anew(guest: Guest) -> None:
    await guest.send("Hotels from 2026-12-05 for 2 nights")
    await guest.send(SUITE)
    await guest.replay(await guest.version(5))
    view = await guest.view()
    assert [version.total for version in view.versions] == [1, 1, 1, 1, 1, 2]
    assert len(view.waiting) == 1 and await Action.objects.acount() == 2


async def test_an_edit_of_the_question_is_asked_for_on_its_own_branch(guest: Guest) -> None:
    await guest.send(SUITE)
    await guest.edit(await guest.version(0), STANDARD)
    await guest.answer(YES)
    assert await guest.bookings() == ["standard bell-tower 2"]
