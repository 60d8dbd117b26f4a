"""The model that the concierge has without a key: rules that read the conversation and call tools as a model does.

It knows no more than any model would: the messages, and the tools that it was given. What it does follows from them
alone, so that it does the same each time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool

from branching.assistants.concierge import clock, reading
from branching.assistants.concierge.hotels import HOTELS
from branching.assistants.concierge.phrases import CHINESE, ENGLISH, Phrases, refusal
from branching.assistants.concierge.reading import Stay, Wish
from branching.local_model import LocalModel


@dataclass(frozen=True)
class Call:
    """A tool call of the conversation and what came of it."""

    name: str
    args: dict[str, Any]
    result: dict[str, Any]


class RulesModel(LocalModel):
    """Finds, books and cancels hotels in Xi'an."""

    model: str = "concierge-rules"
    tools: tuple[str, ...] = ()

    def bind_tools(self, tools: Sequence[BaseTool], **kwargs: Any) -> RulesModel:
        """The same model, which may call these tools."""
        return self.model_copy(update={"tools": tuple(tool.name for tool in tools)})

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str | AIMessageChunk]:
        """Tool calls as long as there is something to do for the last message; then what came of them."""
        mind = Mind(messages, clock.today())
        calls = [(name, args) for name, args in mind.calls() if name in self.tools]
        if not calls:
            async for piece in self.paced(mind.reply()):
                yield piece
        for at, (name, args) in enumerate(calls):
            async for piece in self._calling(at, f"call_{_digest(messages)}_{at}", name, args):
                yield piece

    async def _calling(self, at: int, call: str, name: str, args: dict[str, Any]) -> AsyncIterator[AIMessageChunk]:
        """One call, piece by piece, as providers send it: its name first, then its arguments."""
        yield _chunk(at, id=call, name=name, args="")
        async for piece in self.paced(json.dumps(args, ensure_ascii=False)):
            yield _chunk(at, id=None, name=None, args=piece)


def _chunk(at: int, **more: Any) -> AIMessageChunk:
    return AIMessageChunk("", tool_call_chunks=[{"index": at, "type": "tool_call_chunk", **more}])


def _digest(messages: Sequence[BaseMessage]) -> str:
    """A name for this conversation: the calls of the next turn, and of another conversation, have other ids."""
    text = "\0".join(f"{message.type}:{message.text}" for message in messages if message.type != "system")
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:12]


class Mind:
    """What the rules make of a conversation."""

    def __init__(self, messages: Sequence[BaseMessage], today: date) -> None:
        last = max((at for at, message in enumerate(messages) if message.type == "human"), default=-1)
        self.wish: Wish = reading.read(messages[last].text if last >= 0 else "", today)
        self.before = list(_calls_in(messages[: max(last, 0)]))
        """The calls of earlier turns."""
        self.now = list(_calls_in(messages[last + 1 :]))
        """Those of this one."""

    def calls(self) -> list[tuple[str, dict[str, Any]]]:
        """What is left to do, all that can be done at once."""
        if not self.now:
            first = [*self._cancelling(), *self._weather(), *self._searching()]
            return [*first, *(self._booking() if not self._must_search() else [])]
        asked = [call for call in self.now if call.name == "book_hotel"]
        return [] if asked or not self._has_searched() else list(self._booking())

    def _has_searched(self) -> bool:
        return any(call.name == "search_hotels" and "error" not in call.result for call in self.now)

    def _cancelling(self) -> Iterator[tuple[str, dict[str, Any]]]:
        if self.wish.cancels:
            orders = self.wish.orders or ([self._last_order] if self._last_order else [])
            yield from (("cancel_booking", {"order_id": order}) for order in orders)

    def _weather(self) -> Iterator[tuple[str, dict[str, Any]]]:
        if self.wish.asks_weather:
            day = self.wish.check_in or self._last("check_in") or clock.today().isoformat()
            yield "get_weather", {"city": self.wish.city, "date": str(day)}

    def _searching(self) -> Iterator[tuple[str, dict[str, Any]]]:
        wish, check_in = self.wish, self.wish.check_in or self._last("check_in")
        if check_in and self._wants_search():
            stay = {"city": wish.city, "check_in": str(check_in), "nights": wish.nights or self._last("nights") or 1}
            yield "search_hotels", {**stay, **({"max_price": wish.most} if wish.most else {})}

    def _wants_search(self) -> bool:
        wish = self.wish
        if wish.stays:
            return self._must_search()
        is_about_rooms = bool(wish.searches or wish.budget or wish.most or wish.too_dear)
        return is_about_rooms or (bool(wish.check_in) and not wish.asks_weather and not wish.cancels)

    def _must_search(self) -> bool:
        """Whether a hotel that is to be booked has been in no result so far."""
        wanted = {stay["hotel_id"] for stay in self._stays() if stay["hotel_id"] in HOTELS}
        return bool(wanted - self._seen) or (self.wish.cheapest and not self._seen)

    def _booking(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for stay in self._stays():
            is_complete = stay["hotel_id"] and stay["check_in"]
            if is_complete and (stay["hotel_id"] in self._seen or stay["hotel_id"] not in HOTELS):
                yield "book_hotel", stay

    def _stays(self) -> list[dict[str, Any]]:
        """The bookings that are asked for, with what the person left out taken from what was said before."""
        return [self._completed(stay) for stay in self.wish.stays]

    def _completed(self, stay: Stay) -> dict[str, Any]:
        last = next((call.args for call in reversed(self.before) if call.name == "book_hotel"), {})
        check_in = stay.check_in or self._last("check_in")
        return {
            "hotel_id": stay.hotel or (self._cheapest if self.wish.cheapest else last.get("hotel_id")),
            "room_type": stay.room or last.get("room_type") or "standard",
            "check_in": str(check_in) if check_in else None,
            "nights": stay.nights or self._last("nights") or 1,
        }

    def _last(self, name: str) -> Any:
        """The day or the nights that were spoken of last."""
        known = [call.args for call in (*self.before, *self.now) if call.name in ("book_hotel", "search_hotels")]
        return next((args[name] for args in reversed(known) if args.get(name)), None)

    @cached_property
    def _seen(self) -> set[str]:
        return {hotel["id"] for call in (*self.before, *self.now) for hotel in call.result.get("hotels", ())}

    @property
    def _cheapest(self) -> str | None:
        found = [call.result["hotels"] for call in (*self.before, *self.now) if call.result.get("hotels")]
        return found[-1][0]["id"] if found else None

    @property
    def _standing(self) -> dict[str, dict[str, Any]]:
        """The bookings of this conversation that were not cancelled, by their orders."""
        known = {call.result["order"]: call.result for call in (*self.before, *self.now) if call.result.get("status")}
        return {order: result for order, result in known.items() if result["status"] == "booked"}

    @property
    def _last_order(self) -> str | None:
        return next(reversed(self._standing), None)

    # What it says

    def reply(self) -> str:
        """What came of the tools, or what is missing."""
        said = [text for call in self.now for text in self._told(call)] or self._missing()
        return "\n\n".join(said)

    @property
    def _phrases(self) -> Phrases:
        return CHINESE if self.wish.in_chinese else ENGLISH

    def _told(self, call: Call) -> Iterator[str]:
        phrases, result = self._phrases, call.result
        if "error" in result:
            yield refusal(phrases, result)
        elif "text" in result:
            yield phrases.other.format(**result)
        elif call.name == "search_hotels":
            yield from self._told_of_search(result)
        elif call.name == "get_weather":
            yield phrases.weather.format(**{**result, "sky": phrases.skies.get(result["sky"], result["sky"])})
        else:
            yield from self._told_of_order(result)

    def _told_of_search(self, result: dict[str, Any]) -> Iterator[str]:
        phrases, found = self._phrases, result["hotels"]
        wanted = {stay["hotel_id"]: HOTELS[stay["hotel_id"]] for stay in self._stays() if stay["hotel_id"] in HOTELS}
        for hotel in (hotel for name, hotel in wanted.items() if name not in self._seen):
            yield phrases.unfit.format(**{**result, "hotel": getattr(hotel, phrases.name)})
        if any(call.name == "book_hotel" for call in self.now):
            return  # the search was a step on the way to the booking
        if not found:
            yield phrases.nothing.format(**result)
            return
        head = phrases.limited if "most_a_night" in result else phrases.found
        lines = [head.format(**result, most=result.get("most_a_night"), count=len(found))]
        yield "\n".join([*lines, *map(self._line, found)])

    def _line(self, hotel: dict[str, Any]) -> str:
        phrases, rooms = self._phrases, hotel["rooms"].items()
        prices = ", ".join(phrases.room.format(room=phrases.rooms[room], price=price) for room, price in rooms)
        district = phrases.districts.get(hotel["district"], hotel["district"])
        return phrases.line.format(name=hotel[phrases.name], district=district, rooms=prices)

    def _told_of_order(self, result: dict[str, Any]) -> Iterator[str]:
        yield self._of_order(self._phrases.booked if result["status"] == "booked" else self._phrases.cancelled, result)
        if "over_budget" in result:
            yield self._phrases.over.format(budget=result["over_budget"])
        earlier = [each for each in self._standing.values() if each["hotel"] == result["hotel"] and each != result]
        if result["status"] == "booked" and self.wish.too_dear:
            yield from (self._of_order(self._phrases.still, each) for each in earlier)

    def _of_order(self, phrase: str, result: dict[str, Any]) -> str:
        named = {"hotel": result["hotel"][self._phrases.name], "room": self._phrases.rooms[result["room"]]}
        return phrase.format(**{**result, **named})

    def _missing(self) -> list[str]:
        phrases, wish = self._phrases, self.wish
        if wish.stays:
            return [phrases.when if any(stay["hotel_id"] for stay in self._stays()) else phrases.which_hotel]
        if wish.cancels:
            return [phrases.which_order]
        if wish.budget:
            return [phrases.noted.format(budget=wish.budget)]
        return [phrases.when if wish.searches else phrases.help]


def _calls_in(messages: Sequence[BaseMessage]) -> Iterator[Call]:
    results = {message.tool_call_id: _object(message.text) for message in messages if isinstance(message, ToolMessage)}
    for message in messages:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                if call["id"] in results:
                    yield Call(call["name"], call["args"], results[call["id"]])


def _object(text: str) -> dict[str, Any]:
    """A result as it was sent; of one that is no object, such as that of a stopped call, the text."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"text": text}
