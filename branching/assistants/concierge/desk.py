"""What the tools do. Each is given its call and what the branch knows, and says what came of it.

Rules that must hold whatever a model says stand here: dates in the past, hotels that no search returned, rooms that
are gone. Booking and cancelling first stop the graph with a question; what was edited in the answer is checked anew.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any

from langgraph.types import interrupt
from pydantic import BaseModel, ValidationError

from branching import actions, bookings
from branching.actions import Step
from branching.assistants.concierge import clock, hotels, weather
from branching.assistants.concierge.hotels import CURRENCY, HOTELS, Hotel
from branching.assistants.concierge.tools import ACTING, TOOLS
from branching.exceptions import AlreadyCancelled, NoSuchBooking
from branching.llm import MALFORMED
from branching.models import Action, Booking

SCHEMAS: dict[str, type[BaseModel]] = {tool.name: tool.args_schema for tool in TOOLS}
MOST_NIGHTS = 30

REFUSALS = {
    "unknown_tool": "There is no such tool.",
    "bad_arguments": "The arguments are wrong.",
    "unknown_city": "Only Xi'an is known here.",
    "past": "This date is in the past.",
    "bad_nights": f"A stay is 1 to {MOST_NIGHTS} nights.",
    "unknown_hotel": "There is no hotel with this id.",
    "not_seen": "No search has returned this hotel. Search first; only hotels that a search returned may be booked.",
    "full": "There is no such room for these nights.",
    "declined": "The person said no. It was not done.",
    "unknown_order": "There is no booking with this id.",
    "already_cancelled": "This booking was cancelled before.",
}


class Refused(Exception):
    """The tool won't do it. Its result says why."""

    def __init__(self, code: str, **more: Any) -> None:
        self.result = {"error": code, "message": REFUSALS[code], **more}
        super().__init__(code)


@dataclass(frozen=True)
class Known:
    """What the branch knows when the tool is called."""

    seen_hotel_ids: tuple[str, ...]
    budget: int | None


@dataclass(frozen=True)
class Offer:
    """A stay that could be booked."""

    hotel: Hotel
    room: hotels.Room
    check_in: date
    nights: int

    @property
    def total(self) -> int:
        return self.hotel.price(self.room) * self.nights

    def is_over(self, budget: int | None) -> bool:
        return budget is not None and self.total > budget

    def describe(self) -> dict[str, Any]:
        return {
            "hotel": {"id": self.hotel.id, "name": self.hotel.name, "chinese": self.hotel.chinese},
            "room": self.room,
            "check_in": self.check_in.isoformat(),
            "nights": self.nights,
            "total": self.total,
            "currency": CURRENCY,
        }


async def serve(call: Mapping[str, Any], known: Known, step: Step) -> dict[str, Any]:
    """The result of the tool call: a JSON object, with `error` in it where the tool has refused."""
    try:
        arguments = _parsed(call["name"], call["args"])
        if call["name"] in ACTING:
            return await _act(call, known, step)
        return _search(arguments, known) if call["name"] == "search_hotels" else _weather(arguments)
    except Refused as refused:
        return refused.result


def _parsed(name: str, arguments: Mapping[str, Any]) -> Any:
    if name not in SCHEMAS:
        raise Refused("unknown_tool")
    if MALFORMED in arguments:
        raise Refused("bad_arguments", wrong=["not JSON"])
    try:
        return SCHEMAS[name].model_validate(dict(arguments))
    except ValidationError as error:
        wrong = sorted({str(each["loc"][0]) for each in error.errors() if each["loc"]})
        raise Refused("bad_arguments", wrong=wrong) from None


def _search(asked: Any, known: Known) -> dict[str, Any]:
    if not hotels.is_known(asked.city):
        raise Refused("unknown_city", city=asked.city)
    _check_stay(asked.check_in, asked.nights)
    limits = [asked.max_price, known.budget // asked.nights if known.budget else None]
    most = min((limit for limit in limits if limit), default=None)
    found = [_listed(hotel, asked.check_in, asked.nights, most) for hotel in HOTELS.values()]
    fitting = sorted((each for each in found if each["rooms"]), key=lambda each: min(each["rooms"].values()))
    stay = {"check_in": asked.check_in.isoformat(), "nights": asked.nights, "currency": CURRENCY}
    limited = {"most_a_night": most} if most else {}
    return {**stay, **limited, "hotels": fitting}


def _listed(hotel: Hotel, check_in: date, nights: int, most: int | None) -> dict[str, Any]:
    prices = {room: hotel.price(room) for room in hotel.free_rooms(check_in, nights)}
    rooms = {room: price for room, price in prices.items() if most is None or price <= most}
    names = {"id": hotel.id, "name": hotel.name, "chinese": hotel.chinese, "district": hotel.district}
    return {**names, "rooms": rooms}


def _weather(asked: Any) -> dict[str, Any]:
    if not hotels.is_known(asked.city):
        raise Refused("unknown_city", city=asked.city)
    return weather.on(asked.date)


def _check_stay(check_in: date, nights: int) -> None:
    if check_in < clock.today():
        raise Refused("past", check_in=check_in.isoformat(), today=clock.today().isoformat())
    if not 1 <= nights <= MOST_NIGHTS:
        raise Refused("bad_nights", nights=nights)


async def _act(call: Mapping[str, Any], known: Known, step: Step) -> dict[str, Any]:
    """Book or cancel, once for this step, and with a person's leave."""
    given = {"name": call["name"], "call_id": call["id"], "arguments": call["args"]}
    action = await actions.enter(step, **given)
    try:
        if actions.is_done(action):
            # Asked again, and answered at once: a step that runs twice must write the same at the same places.
            interrupt(action.payload)
            return json.loads(action.result)
        if call["name"] == "book_hotel":
            return await _book(action, call, known)
        return await _cancel(action, call)
    except Refused as refused:
        await actions.note(action, text_of(refused.result))
        raise


async def _book(action: Action, call: Mapping[str, Any], known: Known) -> dict[str, Any]:
    offer = _offer(call["args"], known)
    question = {**_question(call), **offer.describe(), "editable": ["room_type", "check_in", "nights"]}
    if offer.is_over(known.budget):
        question |= {"warnings": ["over_budget"], "budget": known.budget}
    answer = _approved(interrupt(question))
    offer = _offer({**call["args"], **answer.get("arguments", {})}, known)
    return json.loads(await actions.carry_out(action, partial(_write_booking, offer, known.budget)))


def _offer(arguments: Mapping[str, Any], known: Known) -> Offer:
    """The stay that these arguments name. Raises `Refused` where it can't be booked."""
    asked = _parsed("book_hotel", arguments)
    hotel = HOTELS.get(asked.hotel_id)
    if hotel is None:
        raise Refused("unknown_hotel", hotel_id=asked.hotel_id)
    if hotel.id not in known.seen_hotel_ids:
        raise Refused("not_seen", hotel_id=hotel.id)
    _check_stay(asked.check_in, asked.nights)
    offer = Offer(hotel, asked.room_type, asked.check_in, asked.nights)
    if not hotel.is_free(offer.room, offer.check_in, offer.nights):
        raise Refused("full", **offer.describe())
    return offer


def _write_booking(offer: Offer, budget: int | None, action: Action) -> str:
    stay = {"room": offer.room, "check_in": offer.check_in, "nights": offer.nights, "total": offer.total}
    booking = bookings.book(action, hotel_id=offer.hotel.id, currency=CURRENCY, **stay)
    noted = {"over_budget": budget} if offer.is_over(budget) else {}
    return text_of({"order": booking.order, "status": "booked", **offer.describe(), **noted})


async def _cancel(action: Action, call: Mapping[str, Any]) -> dict[str, Any]:
    order = _parsed("cancel_booking", call["args"]).order_id
    try:
        booking = await bookings.find(action.thread_id, order)
        if booking.cancelled_at:
            raise AlreadyCancelled
        _approved(interrupt({**_question(call), "order": booking.order, **_stay(booking), "editable": []}))
        return json.loads(await actions.carry_out(action, partial(_write_cancelling, booking)))
    except NoSuchBooking:
        raise Refused("unknown_order", order=order) from None
    except AlreadyCancelled:
        raise Refused("already_cancelled", order=order) from None


def _write_cancelling(booking: Booking, action: Action) -> str:
    bookings.cancel(booking, action=action)
    return text_of({"order": booking.order, "status": "cancelled", **_stay(booking)})


def _stay(booking: Booking) -> dict[str, Any]:
    stay = Offer(HOTELS[booking.hotel_id], booking.room, booking.check_in, booking.nights).describe()
    return {**stay, "total": booking.total, "currency": booking.currency}


def _question(call: Mapping[str, Any]) -> dict[str, Any]:
    return {"action": call["name"], "call": call["id"], "arguments": dict(call["args"])}


def _approved(answer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer, if it is a yes. Raises `Refused` with the person's reason for a no."""
    if answer["type"] not in actions.APPROVALS:
        raise Refused("declined", reason=answer.get("reason", ""))
    return answer


def text_of(result: Mapping[str, Any]) -> str:
    """The result as a model reads it."""
    return json.dumps(result, ensure_ascii=False)
