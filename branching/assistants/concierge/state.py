"""What the concierge remembers of a branch, and how what two steps add to it at once is put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from langgraph.graph import MessagesState


def each_once(known: Sequence[str] | None, more: Sequence[str] | None) -> list[str]:
    """All of them, each at its first place."""
    return list(dict.fromkeys([*(known or ()), *(more or ())]))


def by_order(known: Mapping[str, Any] | None, more: Mapping[str, Any] | None) -> dict[str, Any]:
    """All orders; what is told of one later replaces what was told before."""
    return {**(known or {}), **(more or {})}


class State(MessagesState):
    """The messages, and what the concierge knows from them."""

    seen_hotel_ids: Annotated[list[str], each_once]
    """The hotels that a search returned: only those may be booked."""
    orders: Annotated[dict[str, Any], by_order]
    """The bookings made on this branch, by their number."""
    budget: int | None
    """What the person wants to spend on one stay, if they have said so."""
    warnings: Annotated[list[str], each_once]
    """What was said to the person on the way: over the budget, and the like."""
