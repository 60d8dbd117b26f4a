"""The concierge's questions as a person reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext_lazy as _

from branching.assistants.cards import Card, Field
from branching.assistants.concierge import clock
from branching.assistants.concierge.desk import MOST_NIGHTS
from branching.assistants.concierge.hotels import ROOMS

TITLES = {
    "search_hotels": _("Search hotels"),
    "book_hotel": _("Book a room"),
    "cancel_booking": _("Cancel a booking"),
    "get_weather": _("Look up the weather"),
}
"""What the page calls the tools."""

QUESTIONS = {"book_hotel": _("Book this room?"), "cancel_booking": _("Cancel this booking?")}
ROOM_NAMES = {"suite": _("Suite"), "standard": _("Standard room")}


def card(payload: Mapping[str, Any]) -> Card:
    """The question to book or to cancel."""
    title = gettext(QUESTIONS[payload["action"]])
    return Card(title, list(_facts(payload)), list(_warnings(payload)), list(_fields(payload)))


def _facts(payload: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "order" in payload:
        yield gettext("Order"), payload["order"]
    name = "chinese" if (get_language() or "").startswith("zh") else "name"
    yield gettext("Hotel"), payload["hotel"][name]
    yield gettext("Room"), str(ROOM_NAMES[payload["room"]])
    yield gettext("Arrival"), date_format(date.fromisoformat(payload["check_in"]), "DATE_FORMAT")
    nights = payload["nights"]
    yield gettext("Stay"), ngettext("%(count)d night", "%(count)d nights", nights) % {"count": nights}
    yield gettext("Total"), _money(payload["total"], payload)


def _warnings(payload: Mapping[str, Any]) -> Iterator[str]:
    if "over_budget" in payload.get("warnings", ()):
        budget = _money(payload["budget"], payload)
        yield gettext("This is more than your budget of %(budget)s.") % {"budget": budget}


def _money(amount: int, payload: Mapping[str, Any]) -> str:
    if payload["currency"] != "CNY":
        return f"{amount:,} {payload['currency']}"
    return gettext("%(amount)s CNY") % {"amount": f"{amount:,}"}


def _fields(payload: Mapping[str, Any]) -> Iterator[Field]:
    if not payload["editable"]:
        return
    rooms = [(room, str(ROOM_NAMES[room])) for room in ROOMS]
    yield Field("room_type", gettext("Room"), "choice", payload["room"], rooms)
    yield Field("check_in", gettext("Arrival"), "date", payload["check_in"], least=clock.today().isoformat())
    yield Field("nights", gettext("Nights"), "number", payload["nights"], least=1, most=MOST_NIGHTS)
