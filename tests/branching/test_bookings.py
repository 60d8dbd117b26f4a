"""What stands outside the checkpoints: bookings on branches, once each, and a ledger. Cases 12, 18, 21 and 50."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from branching import actions, bookings, branches, ledger, prune, recovery, runs, threads
from branching.database import on_database
from branching.exceptions import AlreadyCancelled, NoSuchBooking, NotApproved
from branching.models import Action, Booking, Run, Thread
from branching.types import LedgerLine
from tests.branching.conftest import ending, expire, saving_only
from tests.branching.desk import BOTH, NO, STANDARD, SUITE, YES, Guest, guest

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]

SEARCH = "Hotels in Xi'an from 2026-12-05 for 2 nights"


async def lines(guest: Guest) -> list[LedgerLine]:
    return list(await ledger.read(guest.thread.pk))


def told(line: LedgerLine) -> tuple[str, str, bool, str | None]:
    return line.name, line.state, line.on_branch, line.booking.order if line.booking else None


async def test_the_booking_story(guest: Guest) -> None:
    """Search, regenerate before the approval, approve, fork to the standard room: both orders stay on their branches.

    search ── SUITE ── ? (left)
                    └─ ?' yes ── order 1 ──  decided again: no
           └─ STANDARD ── ? yes ── order 2
    """
    await guest.send(SEARCH)
    await guest.send(SUITE)
    await guest.replay(await guest.version(5))
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2"]

    await guest.edit(await guest.version(4), STANDARD)
    assert (await guest.view()).run_state == "waiting"
    await guest.switch((await guest.version(4)).previous)
    assert (await guest.view()).run_state == "idle"
    await guest.switch((await guest.version(4)).next)
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2", "standard bell-tower 2"]

    first, second = [booking.order async for booking in Booking.objects.order_by("id")]
    assert list((await guest.state())["orders"]) == [second]
    assert list(map(told, await lines(guest))) == [
        ("book_hotel", "waiting", False, None),
        ("book_hotel", "done", False, first),
        ("book_hotel", "done", True, second),
    ]
    await guest.switch((await lines(guest))[1].message)
    assert list((await guest.state())["orders"]) == [first]

    await guest.decide_again((await lines(guest))[1].checkpoint_id)
    await guest.answer(NO)
    assert (await guest.state())["orders"] == {}
    assert len(await guest.bookings()) == 2
    assert [line.times for line in await lines(guest)] == [1, 2, 2, 2]


async def test_a_line_of_the_ledger_says_all_of_it(guest: Guest) -> None:
    await guest.send(SEARCH)
    await guest.send(SUITE)
    await guest.answer({"type": "edit", "arguments": {"nights": 1}})
    [line] = await lines(guest)
    tree = await guest.tree()
    assert tree.checkpoints[line.checkpoint_id].next == ("tools",)
    answered = await Run.objects.aget(kind="answer")
    assert (line.run_id, line.node, line.times, line.edits) == (answered.pk, "tools", 2, {"nights": 1})
    assert (line.booking.nights, line.booking.total, line.booking.is_cancelled) == (1, 1280, False)
    version = await guest.version(6)
    assert (line.message, line.call_id) == (version.pk, version.data["tool_call_id"])


async def test_case_12_and_18_a_turn_with_tools_has_one_pair_of_arrows(guest: Guest) -> None:
    await guest.send(SEARCH)
    await guest.replay(await guest.version(3))
    assert [version.total for version in (await guest.view()).versions] == [1, 2, 1, 1]


async def test_case_21_each_replay_asks_for_itself_and_books_for_itself(guest: Guest) -> None:
    await guest.send(SEARCH)
    await guest.send(SUITE)
    await guest.answer(YES)
    for number in range(2, 5):
        await guest.replay(await guest.version(5))
        assert len(await guest.bookings()) == number - 1
        await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2"] * 4
    assert [line.on_branch for line in await lines(guest)] == [False, False, False, True]


async def test_a_booking_that_no_checkpoint_heard_of_is_found_at_the_next_try(guest: Guest) -> None:
    """The disk is full right after the room is booked."""
    await guest.send(SEARCH)
    await guest.send(SUITE)
    with saving_only(guest.engine, 0):
        assert ending(await guest.answer(YES)) == "failed"
    assert await guest.bookings() == ["suite bell-tower 2"]
    assert (await guest.view()).open_reply.state == "failed"
    assert ending(await guest.resume()) == "done"
    assert await guest.bookings() == ["suite bell-tower 2"]
    assert list((await guest.state())["orders"]) == [(await Booking.objects.aget()).order]


@pytest.mark.parametrize("way", ["crash", "leave"])
@pytest.mark.parametrize("heard", range(6))
async def test_a_run_that_dies_after_the_answer_is_resumed_with_it(guest: Guest, heard: int, way: str) -> None:
    """The person is not asked again, and the room is booked once."""
    await guest.send(SEARCH)
    await guest.send(BOTH)
    waiting = await guest.waiting()
    answers = {waiting[0].interrupt_id: YES, waiting[1].interrupt_id: NO}
    reply = await guest.begin("answer", checkpoint_id=waiting[0].checkpoint_id, answers=answers)
    await getattr(await reply.take(heard), way)()
    await recovery.recover(guest.engine, guest.thread.pk)
    if (await guest.view()).open_reply:
        assert ending(await guest.resume()) == "done"
    assert await guest.bookings() == ["suite bell-tower 2"]
    assert (await guest.view()).run_state == "idle"


async def test_after_a_dead_answer_one_may_say_something_else(guest: Guest) -> None:
    """What was booked is told as booked."""
    await guest.send(SEARCH)
    await guest.send(SUITE)
    with saving_only(guest.engine, 0):
        await guest.answer(YES)
    await guest.send("thanks")
    assert '"status": "booked"' in (await guest.version(6)).text
    assert await guest.bookings() == ["suite bell-tower 2"]


async def test_a_question_that_a_dead_run_has_asked_waits_after_the_restart(guest: Guest) -> None:
    await guest.send(SEARCH)
    reply = await guest.begin("send", text=SUITE)
    with patch.object(runs, "_wait", _dies), pytest.raises(Death):
        await reply.finish()
    await expire(reply.run)
    assert await recovery.recover(guest.engine, guest.thread.pk)
    assert (await guest.view()).run_state == "waiting"
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2"]


class Death(BaseException):
    pass


async def _dies(*_: object) -> None:
    raise Death


async def test_case_50_a_tool_that_failed_is_closed_before_something_else_is_said(guest: Guest) -> None:
    """What the calls beside it have found is kept."""
    with patch("branching.assistants.concierge.weather.on", side_effect=ValueError("no forecast")):
        assert ending(await guest.send("Weather and hotels in Xi'an on 2026-12-05")) == "failed"
    await guest.send("hello")
    view = await guest.view()
    assert [version.kind for version in view.versions] == ["human", "ai", "tool", "tool", "human", "ai"]
    texts = [version.text for version in view.versions if version.kind == "tool"]
    assert "Interrupted before its result was known." in texts
    assert any('"hotels"' in text for text in texts)


async def test_case_50_a_stop_closes_each_call_and_what_was_done_is_told(guest: Guest) -> None:
    await guest.send(SEARCH)
    await guest.send(BOTH)
    await guest.answer(YES)
    [left] = await guest.waiting()
    reply = await guest.begin("answer", checkpoint_id=left.checkpoint_id, answers={left.interrupt_id: YES})
    with patch("branching.assistants.concierge.desk.bookings.book", side_effect=lambda *_, **__: reply.ask_to_stop()):
        await reply.finish()
    texts = [version.text for version in (await guest.view()).versions if version.kind == "tool"][1:]
    assert '"status": "booked"' in texts[0] and texts[1] == "Stopped before its result was known."
    await guest.send("hello")
    assert await guest.bookings() == ["suite bell-tower 2"]


async def test_stop_before_the_answer_has_come_about_and_resume_go_together(guest: Guest) -> None:
    await guest.send(SEARCH)
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    given = {"checkpoint_id": asked.checkpoint_id, "answers": {asked.interrupt_id: YES}}
    assert ending(await (await guest.begin("answer", **given)).stop()) == "stopped"
    if (await guest.view()).open_reply:
        await guest.resume()
    await guest.send("hello")
    assert len(await guest.bookings()) <= 1


async def test_cancelling_asks_too_and_cancels_once(guest: Guest) -> None:
    await guest.send(SEARCH)
    await guest.send(SUITE)
    await guest.answer(YES)
    order = (await Booking.objects.aget()).order
    assert ending(await guest.send(f"Cancel {order}")) == "waiting"
    [asked] = await guest.waiting()
    assert {name: asked.payload[name] for name in ("action", "order", "total", "editable")} == {
        "action": "cancel_booking",
        "order": order,
        "total": 2560,
        "editable": [],
    }
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2 cancelled"]
    assert (await guest.state())["orders"][order]["status"] == "cancelled"
    await guest.send(f"Cancel {order}")
    assert "was cancelled before" in (await guest.view()).versions[-1].text
    await guest.send("Cancel XA-99999")
    assert (await guest.view()).versions[-1].text == "There is no booking XA-99999."


async def test_a_booking_of_a_branch_that_one_has_left_can_be_cancelled(guest: Guest) -> None:
    await guest.send(SEARCH)
    await guest.send(SUITE)
    await guest.answer(YES)
    order = (await Booking.objects.aget()).order
    await guest.edit(await guest.version(4), f"Cancel {order}")
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2 cancelled"]
    made, cancelled = await lines(guest)
    assert (made.on_branch, cancelled.on_branch) == (False, True)
    assert made.booking.is_cancelled and cancelled.booking.order == order


async def test_a_booking_can_be_cancelled_by_hand_and_not_by_a_stranger(guest: Guest) -> None:
    await guest.send(SEARCH)
    await guest.send(SUITE)
    await guest.answer(YES)
    order = (await Booking.objects.aget()).order
    await bookings.cancel_by_hand(guest.thread.pk, order=order)
    with pytest.raises(AlreadyCancelled):
        await bookings.cancel_by_hand(guest.thread.pk, order=order)
    for other in ("XA-1", "nonsense", "", "XA-" + "9" * 30):
        with pytest.raises(NoSuchBooking):
            await bookings.cancel_by_hand(guest.thread.pk, order=other)
    with pytest.raises(NoSuchBooking):
        await bookings.find((await threads.create(guest.thread.owner, assistant="concierge")).pk, order)


async def test_nothing_is_done_without_a_yes_whatever_a_step_may_try(guest: Guest) -> None:
    await guest.send(SEARCH)
    await guest.send(SUITE)
    [action] = await guest.actions()
    for answer in (None, {"type": "reject"}, {"type": "reject", "unanswered": True}):
        await Action.objects.filter(pk=action.pk).aupdate(answer=answer)
        with pytest.raises(NotApproved):
            await actions.carry_out(action, lambda row: "done")
    guest.is_sound = False


async def test_another_budget_leads_to_another_offer(guest: Guest) -> None:
    await guest.send("My budget is 3000")
    await guest.send(SEARCH)
    assert "Bell Tower Hotel" in (await guest.view()).versions[-1].text
    assert "suite 1280 CNY" in (await guest.view()).versions[-1].text
    await guest.edit(await guest.version(0), "My budget is 1000")
    await guest.send(SEARCH)
    assert "suite 1280 CNY" not in (await guest.view()).versions[-1].text
    await guest.send(SUITE)
    assert "Bell Tower Hotel has nothing that fits" in (await guest.view()).versions[-1].text
    await guest.send(SUITE.replace("Bell Tower Hotel", "City Wall Inn"))
    [asked] = await guest.waiting()
    assert (asked.payload["warnings"], asked.payload["budget"]) == (["over_budget"], 1000)
    await guest.answer(YES)
    assert (await guest.state())["warnings"] == ["over_budget"]


async def test_a_step_that_runs_again_beside_its_sister_books_no_second_room(guest: Guest) -> None:
    """LangGraph runs it again once another branch has grown, when the question next to it is answered."""
    await guest.send(SEARCH)
    await guest.send(BOTH)
    await guest.answer(YES)
    [left] = await guest.waiting()
    await guest.edit(await guest.version(4), "thanks")
    await guest.go(left.checkpoint_id)
    assert ending(await guest.answer(YES)) == "done"
    assert await guest.bookings() == ["suite bell-tower 2", "standard city-wall 2"]
    assert [line.times for line in await lines(guest)] == [3, 3]
    results = [version for version in (await guest.view()).versions if version.kind == "tool"][1:]
    assert ['"status": "booked"' in version.text for version in results] == [True, True]


async def test_pruning_keeps_each_place_where_one_was_asked(guest: Guest) -> None:
    await guest.send(SEARCH)
    await guest.send(SUITE)
    await guest.answer(NO)
    for answer in (YES, NO):
        await guest.decide_again((await guest.actions())[0].checkpoint_id)
        await guest.answer(answer)
    before = await lines(guest)
    guest.thread = await Thread.objects.aget(pk=guest.thread.pk)
    await on_database(prune.prune)(guest.thread, prune.Rules("tips"), really=True)
    assert await lines(guest) == before
    assert ending(await guest.decide_again(before[1].checkpoint_id)) == "waiting"
    await guest.answer(NO)
    assert await guest.bookings() == ["suite bell-tower 2"]


async def test_a_branch_that_is_deleted_takes_its_questions_along_but_no_booking(guest: Guest) -> None:
    await guest.send(SEARCH)
    await guest.send(SUITE)
    await guest.answer(YES)
    await guest.edit(await guest.version(4), STANDARD)
    left = await guest.version(4)
    await guest.switch(left.previous)
    await _delete(guest, left.pk)
    assert list(map(told, await lines(guest))) == [
        ("book_hotel", "done", True, (await Booking.objects.aget()).order),
    ]
    await guest.edit(await guest.version(4), "thanks")
    await _delete(guest, (await guest.version(4)).previous)
    [line] = await lines(guest)
    assert (line.on_branch, line.message, line.booking.is_cancelled) == (False, None, False)
    await bookings.cancel_by_hand(guest.thread.pk, order=line.booking.order)


async def _delete(guest: Guest, message: int) -> None:
    """Delete the branch to which a switch to this message leads."""
    end = await guest.switch(message)
    last, back = end.versions[-1].pk, end.versions[4].previous or end.versions[4].next
    page = await guest.switch(back)
    await branches.delete(guest.engine, guest.thread.pk, message=last, head_version=page.head_version)
