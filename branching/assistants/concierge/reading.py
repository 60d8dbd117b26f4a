"""What a person means, in English or Chinese, as far as it is about hotels: read by rules, without any model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from branching.assistants.concierge import dates
from branching.assistants.concierge.hotels import HOTELS, Room
from branching.local_model import IDEOGRAPH

AMOUNT = r"(?:cny|rmb|¥|￥|yuan)?\s*(\d[\d,]*)"
BUDGET = re.compile(
    rf"budget\s*(?:is|of|to|:|=|now|at|for it)*\s*{AMOUNT}|预算\s*(?:是|为|有|改成|改为|只有|：|:)*\s*{AMOUNT}", re.I
)
MOST = re.compile(
    rf"(?:under|below|at most|up to|no more than|less than|cheaper than|max(?:imum)?(?: price)?(?: of)?)\s*{AMOUNT}"
    rf"|(?:不超过|低于|最多|不高于|便宜过)\s*{AMOUNT}|{AMOUNT}\s*(?:元|块)?(?:以内|以下|之内)",
    re.I,
)
ORDER = re.compile(r"(?<![a-z\d])XA-?(\d{3,9})(?!\d)", re.I)
NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "ten": 10}
NUMBERS |= {"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "十": 10}
NIGHTS = re.compile(
    r"\b(\d{1,3}|a|one|two|three|four|five|six|seven|ten)[ -]nights?\b|(\d{1,3}|[一两二三四五六七十])\s*(?:个)?晚", re.I
)

BOOK = re.compile(
    r"\b(?:book|reserve|take)\b"
    r"|(?<!取消)(?<!退)预?订(?!单)|定(?:一|个|下)|要(?=.{0,12}(?:套房|标准|标间))|换成|改订",
    re.I,
)
NOT_BOOK = re.compile(r"\b(?:don't|do not|don’t|never) (?:book|reserve|take)\b|(?:别|不要|不用)预?订", re.I)
CANCEL = re.compile(r"\bcancel\b|取消|退订", re.I)
SEARCH = re.compile(
    r"\b(?:hotels?|rooms?|search|find|stay|accommodation|look for|cheaper)\b"
    r"|酒店|宾馆|饭店|旅馆|住宿|入住|找|便宜",
    re.I,
)
WEATHER = re.compile(r"\b(?:weather|rain|sunny|forecast|snow|cold|warm)\b|天气|下雨|下雪|气温|冷不冷", re.I)
TOO_DEAR = re.compile(r"too (?:expensive|much|dear|pricey)|太贵|贵了", re.I)
CHEAPEST = re.compile(r"\bcheapest\b|最便宜", re.I)
ROOMS: dict[Room, re.Pattern[str]] = {
    "suite": re.compile(r"\bsuites?\b|套房|套间", re.I),
    "standard": re.compile(r"\bstandard\b|标准间|标准房|标间|普通间", re.I),
}
NAMED = re.compile(r"\b(?:in|at) (?:the )?((?:[A-Z][\w'’-]*)(?: [A-Z][\w'’-]*)*)")
NAMED_IN_CHINESE = re.compile(r"(?:预订|预定|订)(?:一间|一个|间)?([\u3400-\u9fff]{2,10}?(?:酒店|饭店|宾馆|客栈))")
CITY = re.compile(r"xi['’]?an|西安", re.I)
OTHER_CITY = re.compile(
    r"\b(?:in|to) (Beijing|Shanghai|Chengdu|Guangzhou|Shenzhen|Hangzhou|Paris|London|Tokyo)\b"
    r"|(北京|上海|成都|广州|深圳|杭州)"
)
CLAUSES = re.compile(r"\band\b|[;,，；、]|以及|和|再", re.I)


@dataclass(frozen=True)
class Stay:
    """One booking that a person wishes for. What they leave out is None."""

    hotel: str | None
    room: Room | None
    check_in: date | None
    nights: int | None


@dataclass(frozen=True)
class Wish:
    """What one message asks for."""

    stays: tuple[Stay, ...] = ()
    orders: tuple[str, ...] = ()
    """The bookings to cancel."""
    cancels: bool = False
    searches: bool = False
    asks_weather: bool = False
    too_dear: bool = False
    cheapest: bool = False
    city: str = "Xi'an"
    check_in: date | None = None
    nights: int | None = None
    most: int | None = None
    budget: int | None = None
    in_chinese: bool = False


def read(text: str, today: date) -> Wish:
    """What `text`, said on that day, asks for."""
    text = dates.written_out(text, today)
    days = dates.found_in(text)
    refuses, dear = bool(NOT_BOOK.search(text)), bool(TOO_DEAR.search(text))
    cancels = bool(CANCEL.search(text))
    books = bool(BOOK.search(text)) and not refuses
    return Wish(
        stays=tuple(_stays(text)) if books else (),
        orders=tuple(f"XA-{number}" for number in ORDER.findall(text)) if cancels else (),
        cancels=cancels,
        searches=bool(SEARCH.search(text)) and not books and not cancels,
        asks_weather=bool(WEATHER.search(text)),
        too_dear=dear,
        cheapest=bool(CHEAPEST.search(text)),
        city=_city(text),
        check_in=days[0] if days else None,
        nights=_nights(text),
        most=_number(MOST, text),
        budget=budget_in(text),
        in_chinese=bool(IDEOGRAPH.search(text)),
    )


def budget_in(text: str) -> int | None:
    """What the person says they want to spend on one stay."""
    return _number(BUDGET, text)


def hotels_in(text: str) -> list[str]:
    """The ids of the hotels that are named, in the order of their names; a name that nobody knows as it was said."""
    places = {place: hotel for hotel, place in _places(text)}
    if places:
        return [places[place] for place in sorted(places)]
    unknown = [*NAMED.findall(text), *NAMED_IN_CHINESE.findall(text)]
    return [name for name in unknown if not CITY.fullmatch(name) and not dates.is_month(name)]


def _places(text: str) -> Iterator[tuple[str, int]]:
    said = text.lower()
    for hotel in HOTELS.values():
        names = (hotel.name.lower(), hotel.chinese, hotel.id, hotel.id.replace("-", " "), _short(hotel.chinese))
        found = [said.find(name) for name in names if name in said]
        if found:
            yield hotel.id, min(found)


def _short(chinese: str) -> str:
    return re.sub(r"(?:庭院|度假|快捷|广场|温泉)?(?:大?酒店|饭店|宾馆|客栈|民宿)$", "", chinese)


def _stays(text: str) -> Iterator[Stay]:
    """The bookings that are asked for: what one does not say is taken from the one before, or from the message."""
    days, nights = dates.found_in(text), _nights(text)
    room: Room | None = None
    for clause in _clauses(text):
        rooms = _rooms(clause) or ([room] if room else [None])
        own = dates.found_in(clause) or days
        for hotel in hotels_in(clause) or [None]:
            for room in rooms:
                yield Stay(hotel, room, own[0] if own else None, _nights(clause) or nights)


def _clauses(text: str) -> list[str]:
    """The message in as many parts as hotels are named, each with what is said around its name."""
    parts: list[str] = []
    for part in CLAUSES.split(text):
        if parts and (not hotels_in(part) or not any(map(hotels_in, parts))):
            parts[-1] += " " + part
        else:
            parts.append(part)
    return parts


def _rooms(text: str) -> list[Room]:
    """The rooms that are wanted; of one that is too expensive the other is."""
    found = {room: match.start() for room, pattern in ROOMS.items() if (match := pattern.search(text))}
    if TOO_DEAR.search(text):
        found.pop("suite", None)
        return list(found) or ["standard"]
    return sorted(found, key=found.__getitem__)


def _nights(text: str) -> int | None:
    found = NIGHTS.search(text)
    if found:
        word = (found[1] or found[2]).lower()
        return int(word) if word.isdigit() else NUMBERS[word]
    days = dates.found_in(text)
    is_span = len(days) == 2 and re.search(r"\d{4}-\d\d-\d\d\s*(?:to|until|till|-|–|到|至)\s*\d{4}-\d\d-\d\d", text)
    return max((days[1] - days[0]) // timedelta(days=1), 0) or None if is_span else None


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    found = pattern.search(text)
    digits = next((group for group in found.groups() if group), "") if found else ""
    return int(digits.replace(",", "")) if digits and len(digits) < 12 else None


def _city(text: str) -> str:
    other = OTHER_CITY.search(text)
    return (other[1] or other[2]) if other and not CITY.search(text) else "Xi'an"
