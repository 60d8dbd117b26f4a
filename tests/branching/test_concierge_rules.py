"""The model that the concierge has without a key understands its small world, in English and in Chinese."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, HumanMessage

from branching import llm
from branching.assistants.concierge import clock, dates, hotels, reading, rules, weather
from branching.assistants.concierge.phrases import CHINESE, ENGLISH
from branching.assistants.concierge.reading import Stay
from branching.assistants.concierge.rules import RulesModel
from branching.assistants.concierge.state import by_order, each_once
from branching.assistants.concierge.tools import TOOLS
from tests.branching.conftest import ending
from tests.branching.desk import BOTH, NO, SUITE, TODAY, YES, Guest, guest

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]

DAY = date(2026, 12, 5)
BELL_SUITE, WALL_STANDARD = Stay("bell-tower", "suite", DAY, 2), Stay("city-wall", "standard", DAY, 2)


@pytest.mark.parametrize(
    ("text", "stays"),
    [
        (SUITE, [BELL_SUITE]),
        ("预订钟楼饭店的套房，2026-12-05入住，两晚", [BELL_SUITE]),
        ("Please reserve a suite at the Bell Tower Hotel, December 5th, two nights", [BELL_SUITE]),
        (BOTH, [BELL_SUITE, WALL_STANDARD]),
        ("订钟楼饭店的套房和城墙客栈的标准间，12月5日入住，住2晚", [BELL_SUITE, WALL_STANDARD]),
        (
            "Book the suite and the standard room in Bell Tower Hotel from 2026-12-05 to 2026-12-07",
            [BELL_SUITE, Stay("bell-tower", "standard", DAY, 2)],
        ),
        ("the suite is too expensive, take the standard room", [Stay(None, "standard", None, None)]),
        ("套房太贵了，要标准间", [Stay(None, "standard", None, None)]),
        ("Book the suite in Grand Hilton for 2 nights from 2026-12-05", [Stay("Grand Hilton", "suite", DAY, 2)]),
        ("Don't book anything", []),
        ("别订了", []),
        ("取消订单 XA-1001", []),
    ],
)
def test_what_is_to_be_booked(text: str, stays: list[Stay]) -> None:
    assert list(reading.read(text, TODAY).stays) == stays


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("on 2026-12-05", DAY),
        ("Dec 5", DAY),
        ("the 5th of December 2026", DAY),
        ("12月5号", DAY),
        ("2026年12月5日", DAY),
        ("tomorrow", date(2026, 12, 1)),
        ("后天", date(2026, 12, 2)),
        ("昨天", date(2026, 11, 29)),
        ("on January 3", date(2027, 1, 3)),
        ("2026-02-30", None),
        ("2月30日", None),
    ],
)
def test_days_are_read_as_people_write_them(text: str, day: date | None) -> None:
    assert reading.read(text, TODAY).check_in == day


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My budget is 1,500", {"budget": 1500}),
        ("预算改为1000元", {"budget": 1000}),
        ("hotels under 600", {"most": 600, "searches": True}),
        ("找每晚500元以内的酒店", {"most": 500, "searches": True}),
        ("cancel XA-1001 and xa1002", {"orders": ("XA-1001", "XA-1002")}),
        ("Is there rain in Xi'an?", {"asks_weather": True, "searches": False}),
        ("Hotels in Beijing", {"city": "Beijing"}),
        ("上海有酒店吗", {"city": "上海"}),
        ("for three nights", {"nights": 3}),
        ("五晚", {"nights": 5}),
    ],
)
def test_the_rest_of_what_people_ask_for(text: str, expected: dict[str, Any]) -> None:
    wish = reading.read(text, TODAY)
    assert {name: getattr(wish, name) for name in expected} == expected


@pytest.mark.parametrize("text", ["", "hello", "\ud800", "XA-" * 50, "book " * 200, "9" * 5000, "订" * 500])
def test_whatever_is_said_is_taken_calmly(text: str) -> None:
    assert reading.read(text, TODAY)


async def test_its_tool_calls_come_in_pieces_and_are_the_same_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "today", lambda: TODAY)
    model = RulesModel().bind_tools(TOOLS)
    pieces = [piece async for piece in model.astream([HumanMessage("Hotels and weather on 2026-12-05")])]
    assert len([piece for piece in pieces if isinstance(piece, AIMessageChunk) and piece.tool_call_chunks]) > 6
    once, again = [(await llm.reply(model, [HumanMessage("Hotels and weather on 2026-12-05")])) for _ in range(2)]
    assert [call["name"] for call in once.tool_calls] == ["get_weather", "search_hotels"]
    assert once.tool_calls == again.tool_calls and once.id != again.id


async def test_it_calls_no_tool_that_it_was_not_given() -> None:
    assert not (await llm.reply(RulesModel(), [HumanMessage("Hotels on 2026-12-05")])).tool_calls


def test_the_hotels_and_the_weather_are_the_same_whenever_one_asks() -> None:
    assert len(hotels.HOTELS) == 12
    assert weather.on(DAY) == weather.on(DAY)
    assert all(hotel.free_rooms(DAY, 1) for hotel in hotels.HOTELS.values())
    full = [hotel for hotel in hotels.HOTELS.values() if not hotel.is_free("suite", DAY, 13)]
    assert len(full) == 12, "a suite is not free for ever"
    for phrases in (ENGLISH, CHINESE):
        assert set(phrases.rooms) == set(hotels.ROOMS)
    assert {hotel.district for hotel in hotels.HOTELS.values()} == set(CHINESE.districts)
    assert {*weather.SKIES, weather.SNOW} == set(CHINESE.skies)


def test_a_stay_may_go_on_where_the_calendar_ends() -> None:
    assert all(hotel.free_rooms(date.max, 30) for hotel in hotels.HOTELS.values())


def test_what_two_steps_learn_at_once_is_put_together() -> None:
    assert each_once(["a", "b"], ["b", "c"]) == ["a", "b", "c"]
    assert each_once(None, None) == []
    assert by_order({"1": "booked"}, {"1": "cancelled", "2": "booked"}) == {"1": "cancelled", "2": "booked"}
    assert dates.is_month("May")


async def said(guest: Guest, text: str) -> str:
    await guest.send(text)
    return (await guest.view()).versions[-1].text


async def test_a_conversation_in_chinese(guest: Guest) -> None:
    found = await said(guest, "12月5日入住，住两晚，找酒店")
    assert found.startswith("2026-12-05 入住，2 晚，找到 12 家酒店：") and "**钟楼饭店**（钟楼）" in found
    assert ending(await guest.send("订钟楼饭店的套房")) == "waiting"
    await guest.answer(NO)
    assert (await guest.view()).versions[-1].text == "好的，没有办理。您说：not today"
    await guest.send("套房太贵了，要标准间")
    [asked] = await guest.waiting()
    assert (asked.payload["room"], asked.payload["total"]) == ("standard", 1120)
    await guest.answer(YES)
    assert (
        (await guest.view()).versions[-1].text.startswith("已预订：钟楼饭店 标准间，2026-12-05 入住，2 晚，共 1120 元")
    )
    assert "西安 2026-12-05：" in await said(guest, "那天天气怎么样？")


async def test_the_suite_is_too_expensive(guest: Guest) -> None:
    await guest.send(SUITE)
    await guest.answer(YES)
    await guest.send("the suite is too expensive, take the standard room")
    [asked] = await guest.waiting()
    assert (asked.payload["hotel"]["id"], asked.payload["room"], asked.payload["nights"]) == (
        "bell-tower",
        "standard",
        2,
    )
    await guest.answer(YES)
    last = (await guest.view()).versions[-1].text
    assert "Booked: standard room" in last and "the suite in Bell Tower Hotel, still stands" in last


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Hotels from 2026-11-01", "2026-11-01 is in the past: today is 2026-11-30."),
        ("Hotels in Beijing from 2026-12-05", "I only know hotels in Xi'an, not in Beijing."),
        ("Book the suite in Grand Hilton from 2026-12-05", "I know no hotel called “Grand Hilton”."),
        ("Hotels under 100 from 2026-12-05", "I found no room that fits."),
        ("Hotels for 99 nights from 2026-12-05", "A stay is 1 to 30 nights, not 99."),
        ("Find me a hotel", "When do you arrive?"),
        ("Book the suite in Bell Tower Hotel", "When do you arrive?"),
        ("Book the suite for 2026-12-05", "Which hotel is it to be?"),
        ("Cancel my booking", "Which booking?"),
        ("My budget is 900", "I keep to a budget of 900 CNY"),
        ("hello", "I book hotels in Xi'an."),
        ("Book the suite in Bell Tower Hotel for 30 nights from 2026-12-05", "has no such room"),
    ],
)
async def test_what_it_says_where_it_can_do_nothing(guest: Guest, text: str, answer: str) -> None:
    assert answer in await said(guest, text)
    assert await guest.waiting() == ()


async def test_the_cheapest(guest: Guest) -> None:
    await guest.send("Book the cheapest for 1 night from 2026-12-05")
    [asked] = await guest.waiting()
    assert (asked.payload["hotel"]["id"], asked.payload["total"]) == ("north-station", 220)


async def test_a_hotel_that_no_search_has_returned_is_searched_for_first(guest: Guest) -> None:
    await guest.send(SUITE)
    calls = [call["name"] for version in (await guest.view()).versions for call in version.data.get("tool_calls", ())]
    assert calls == ["search_hotels", "book_hotel"]
    assert "bell-tower" in (await guest.state())["seen_hotel_ids"]


async def test_the_rule_and_not_the_model_refuses_what_no_search_has_returned(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a day in the past, whatever a model calls."""
    wanted: dict[str, Any] = {"hotel_id": "bell-tower", "room_type": "suite", "check_in": "2026-12-05", "nights": 1}

    def calls(mind: rules.Mind) -> list[tuple[str, dict[str, Any]]]:
        return [] if mind.now else [("book_hotel", wanted)]

    with monkeypatch.context() as patched:
        patched.setattr(rules.Mind, "calls", calls)
        await guest.send("now")
        assert await result(guest) == "not_seen"
    await guest.send("Hotels from 2026-12-05")
    monkeypatch.setattr(rules.Mind, "calls", calls)
    for changed, error in (
        ({"check_in": "2026-11-29"}, "past"),
        ({"nights": 0}, "bad_nights"),
        ({"room_type": "palace"}, "bad_arguments"),
        ({"check_in": "soon"}, "bad_arguments"),
        ({"hotel_id": "ritz"}, "unknown_hotel"),
    ):
        wanted |= {"hotel_id": "bell-tower", "room_type": "suite", "check_in": "2026-12-05", "nights": 1} | changed
        await guest.send(f"now {changed}")
        assert await result(guest) == error
    assert await guest.waiting() == () and await guest.bookings() == []


async def result(guest: Guest) -> str:
    """The code with which the last tool call was refused."""
    return json.loads((await guest.view()).versions[-2].text)["error"]
