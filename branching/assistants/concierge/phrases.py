"""What the rules model says, in English and in Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Phrases:
    """One language."""

    name: str
    """The key of a hotel's name in this language."""
    rooms: Mapping[str, str]
    skies: Mapping[str, str]
    districts: Mapping[str, str]
    help: str
    noted: str
    when: str
    which_hotel: str
    which_order: str
    found: str
    limited: str
    line: str
    room: str
    nothing: str
    unfit: str
    gone: str
    booked: str
    over: str
    still: str
    cancelled: str
    weather: str
    refusals: Mapping[str, str]
    reason: str
    other: str


ENGLISH = Phrases(
    name="name",
    rooms={"suite": "suite", "standard": "standard room"},
    skies={},
    districts={},
    help=(
        "I book hotels in Xi'an. Tell me when you arrive and for how many nights, and I look for rooms; then say which "
        "one to book. I can also cancel a booking, and I know the weather."
    ),
    noted="I keep to a budget of {budget} CNY for a stay.",
    when="When do you arrive? A date will do, such as 2026-12-05, and for how many nights.",
    which_hotel="Which hotel is it to be? Name one of those I have found.",
    which_order="Which booking? Tell me its order number, such as XA-1001.",
    found="From {check_in}, for {nights} night(s), I found {count} hotel(s):",
    limited="From {check_in}, for {nights} night(s), and for at most {most} CNY a night, I found {count} hotel(s):",
    line="- **{name}** ({district}): {rooms}",
    room="{room} {price} CNY",
    nothing="From {check_in}, for {nights} night(s), I found no room that fits.",
    unfit="{hotel} has nothing that fits from {check_in} for {nights} night(s).",
    gone="{hotel} has no such room from {check_in} for {nights} night(s).",
    booked="Booked: {room} in {hotel} from {check_in}, {nights} night(s), {total} {currency}. Order {order}.",
    over="That is over your budget of {budget} CNY.",
    still="Order {order}, the {room} in {hotel}, still stands. Say so if I am to cancel it.",
    cancelled="Cancelled: order {order}, the {room} in {hotel}.",
    weather="Xi'an on {date}: {sky}, {low} to {high} °C.",
    refusals={
        "unknown_city": "I only know hotels in Xi'an, not in {city}.",
        "past": "{check_in} is in the past: today is {today}.",
        "bad_nights": "A stay is 1 to 30 nights, not {nights}.",
        "unknown_hotel": "I know no hotel called “{hotel_id}”.",
        "not_seen": "I have not looked for rooms in that hotel yet. Ask me to search first.",
        "declined": "Then I have left it.",
        "unknown_order": "There is no booking {order}.",
        "already_cancelled": "Booking {order} was cancelled before.",
        "bad_arguments": "That was not clear enough to do. Say the hotel, the room, the date and the nights.",
    },
    reason=" You said: {reason}",
    other="The tool said: {text}",
)

CHINESE = Phrases(
    name="chinese",
    rooms={"suite": "套房", "standard": "标准间"},
    skies={
        "sunny": "晴",
        "cloudy": "多云",
        "hazy": "有霾",
        "light rain": "小雨",
        "clear": "晴朗",
        "overcast": "阴",
        "windy": "有风",
        "light snow": "小雪",
    },
    districts={
        "Bell Tower": "钟楼",
        "South Gate": "南门",
        "Qujiang": "曲江",
        "Lianhu": "莲湖",
        "High-Tech Zone": "高新区",
        "Weiyang": "未央",
        "Beilin": "碑林",
        "Lintong": "临潼",
    },
    help="我可以预订西安的酒店。告诉我哪天入住、住几晚，我来找房；然后说订哪一家。我也能取消订单、查天气。",
    noted="好的，每次住宿的预算是 {budget} 元。",
    when="哪天入住？请说日期，例如 2026-12-05，以及住几晚。",
    which_hotel="订哪一家？请说出我找到的一家酒店。",
    which_order="取消哪个订单？请告诉我订单号，例如 XA-1001。",
    found="{check_in} 入住，{nights} 晚，找到 {count} 家酒店：",
    limited="{check_in} 入住，{nights} 晚，每晚不超过 {most} 元，找到 {count} 家酒店：",
    line="- **{name}**（{district}）：{rooms}",
    room="{room} {price} 元",
    nothing="{check_in} 入住，{nights} 晚，没有找到合适的房间。",
    unfit="{hotel} 从 {check_in} 起 {nights} 晚没有合适的房间。",
    gone="{hotel} 从 {check_in} 起 {nights} 晚没有这种房间。",
    booked="已预订：{hotel} {room}，{check_in} 入住，{nights} 晚，共 {total} 元。订单号 {order}。",
    over="这超出了您 {budget} 元的预算。",
    still="订单 {order}（{hotel} {room}）仍然有效。如需取消请告诉我。",
    cancelled="已取消：订单 {order}（{hotel} {room}）。",
    weather="西安 {date}：{sky}，{low} 到 {high} °C。",
    refusals={
        "unknown_city": "我只知道西安的酒店，不知道{city}的。",
        "past": "{check_in} 已经过去了：今天是 {today}。",
        "bad_nights": "住宿为 1 到 30 晚，不能是 {nights} 晚。",
        "unknown_hotel": "我不知道叫“{hotel_id}”的酒店。",
        "not_seen": "我还没有查过那家酒店的房间。请先让我查询。",
        "declined": "好的，没有办理。",
        "unknown_order": "没有订单 {order}。",
        "already_cancelled": "订单 {order} 之前已经取消了。",
        "bad_arguments": "我没听明白。请说出酒店、房型、日期和晚数。",
    },
    reason="您说：{reason}",
    other="工具说：{text}",
)


def refusal(phrases: Phrases, result: Mapping[str, Any]) -> str:
    """Why a tool has not done it."""
    code = result["error"]
    if code == "full":
        return phrases.gone.format(**{**result, "hotel": result["hotel"][phrases.name]})
    if code not in phrases.refusals:
        return phrases.other.format(text=result.get("message", code))
    more = phrases.reason.format(reason=result["reason"]) if result.get("reason") else ""
    return phrases.refusals[code].format(**result) + more
