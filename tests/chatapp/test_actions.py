"""Answers by POST, cards on the page, the record of actions, and bookings cancelled by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import AsyncClient

from branching import assistants, threads
from branching.assistants import cards
from branching.assistants.concierge import clock
from branching.models import Action, Booking
from tests.branching.desk import BOTH, SUITE, TODAY
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def desk(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> Tab:
    """Alice's empty thread with the concierge."""
    monkeypatch.setattr(clock, "today", lambda: TODAY)
    return Tab(tab.client, await threads.create(tab.thread.owner, assistant="concierge"))


async def answer(desk: Tab, decision: str, *, number: int = 0, **fields: Any) -> HttpResponse:
    """Answer the question with this number."""
    asked = (await desk.view()).waiting[number]
    path = f"checkpoints/{asked.checkpoint_id}/answer/"
    response = await desk.post(path, **{"decision": decision, "question": asked.interrupt_id, **fields})
    await desk.rest()
    return response


async def page(desk: Tab, path: str = "") -> str:
    return (await desk.client.get(desk.url + path)).content.decode()


async def test_a_question_is_a_card_and_the_list_says_that_it_waits(desk: Tab) -> None:
    await desk.send(SUITE)
    html = await page(desk)
    assert "Book this room?" in html and "2,560 CNY" in html and "data-waiting" in html
    assert 'data-run-state="waiting"' in html


async def test_what_can_be_done_with_a_reply_that_waits_stands_below_its_cards(desk: Tab) -> None:
    await desk.send(SUITE)
    html = await page(desk)
    assert html.count('data-action="regenerate"') == 1
    assert html.index('data-action="approve"') < html.index('data-action="regenerate"')


async def test_a_link_to_where_one_is_asked_says_so_and_has_no_buttons(desk: Tab) -> None:
    await desk.send(SUITE)
    asked = (await desk.view()).waiting[0]
    html = await page(desk, f"checkpoints/{asked.checkpoint_id}/")
    assert "asks something here" in html and 'data-action="approve"' not in html
    await answer(desk, "approve")
    assert "it was answered" in await page(desk, f"checkpoints/{asked.checkpoint_id}/")


async def test_a_yes_books_what_was_asked(desk: Tab) -> None:
    await desk.send(SUITE)
    assert (await answer(desk, "approve")).status_code == 200
    assert await Booking.objects.acount() == 1
    assert "data-question" not in await page(desk)


async def test_case_59_the_second_tab_that_answers_hears_that_it_was_answered(desk: Tab) -> None:
    await desk.send(SUITE)
    asked = (await desk.view()).waiting[0]
    await answer(desk, "reject", reason="no")
    path, fields = f"checkpoints/{asked.checkpoint_id}/answer/", {"question": asked.interrupt_id}
    response = await desk.post(path, decision="approve", **fields)
    assert response.status_code == 409 and "answered already" in response.content.decode()
    assert await Booking.objects.acount() == 0


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"decision": "perhaps"}, 422),
        ({"decision": ""}, 422),
        ({"decision": "approve", "question": "nothing"}, 404),
        ({"decision": "edit"}, 422),
        ({"decision": "edit", "argument-hotel_id": "city-wall"}, 422),
    ],
)
async def test_what_is_no_answer_is_refused_and_the_question_waits(
    desk: Tab, fields: dict[str, str], status: int
) -> None:
    await desk.send(SUITE)
    assert (await answer(desk, fields.pop("decision"), **fields)).status_code == status
    assert len((await desk.view()).waiting) == 1


async def test_both_are_answered_with_one_post(desk: Tab) -> None:
    await desk.send(BOTH)
    waiting = (await desk.view()).waiting
    questions = [each.interrupt_id for each in waiting]
    await desk.post(f"checkpoints/{waiting[0].checkpoint_id}/answer/", decision="approve", question=questions)
    await desk.rest()
    assert await Booking.objects.acount() == 2


async def test_pressed_twice_is_one_answer(desk: Tab) -> None:
    await desk.send(SUITE)
    asked = (await desk.view()).waiting[0]
    fields = {"decision": "approve", "question": asked.interrupt_id, "key": "pressed-twice"}
    for _ in range(2):
        assert (await desk.post(f"checkpoints/{asked.checkpoint_id}/answer/", **fields)).status_code == 200
        await desk.rest()
    assert await Booking.objects.acount() == 1


async def test_hostile_words_in_a_question_a_result_and_a_reason_are_shown_as_words(
    desk: Tab, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil = "<script>alert(1)</script>"
    await desk.send(SUITE)
    await Action.objects.aupdate(payload={"action": evil, "arguments": {"x": evil}, "editable": ["x"], evil: evil})
    monkeypatch.setitem(assistants.ASSISTANTS, "concierge", replace(assistants.get("concierge"), card=cards.plain))
    assert evil not in await page(desk)
    await answer(desk, "reject", reason=evil)
    await Action.objects.aupdate(result=json.dumps({"error": evil}), name=evil)
    for path in ("", "actions/"):
        html = await page(desk, path)
        assert evil not in html and "&lt;script&gt;alert(1)" in html


async def test_the_record_tells_what_was_done_where_and_how_often(desk: Tab) -> None:
    await desk.send(SUITE)
    await answer(desk, "approve")
    row, html = await Action.objects.aget(), await page(desk, "actions/")
    for shown in (row.checkpoint_id, row.call_id, str(row.run_id), row.node, str(desk.thread.pk), "XA-"):
        assert shown in html
    assert f"<dd data-times>{row.times}</dd>" in html and row.times == 2


async def test_a_booking_is_cancelled_by_hand_once(desk: Tab) -> None:
    await desk.send(SUITE)
    await answer(desk, "approve")
    order = (await Booking.objects.aget()).order
    assert (await desk.post(f"bookings/{order}/cancel/")).status_code == 302
    again = await desk.post(f"bookings/{order}/cancel/")
    assert again.status_code == 409 and "cancelled already" in again.content.decode()
    assert (await desk.post("bookings/XA-1/cancel/")).status_code == 404


async def test_nobody_else_answers_decides_reads_or_cancels(desk: Tab, bob: User) -> None:
    await desk.send(SUITE)
    asked = (await desk.view()).waiting[0]
    message = (await desk.view()).versions[2].pk
    bobs = AsyncClient()
    await bobs.aforce_login(bob)
    fields = {"decision": "approve", "question": asked.interrupt_id, "head_version": 1, "key": "k"}
    at = f"checkpoints/{asked.checkpoint_id}/"
    for path in (f"{at}answer/", f"{at}decide/", f"messages/{message}/again/", "bookings/XA-1001/cancel/"):
        assert (await bobs.post(desk.url + path, fields)).status_code == 404, path
    assert (await bobs.get(desk.url + "actions/")).status_code == 404
    own = Tab(bobs, await threads.create(bob, assistant="concierge"))
    assert (await own.post(f"{at}answer/", **fields)).status_code == 404
    assert (await own.post(f"{at}decide/", **fields)).status_code == 404
    assert len((await desk.view()).waiting) == 1 and await Booking.objects.acount() == 0
