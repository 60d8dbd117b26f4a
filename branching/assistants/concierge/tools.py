"""The tools as a model is told of them. What they do stands in desk.py: they need the state, and may ask a person."""

from __future__ import annotations

from datetime import date
from typing import Any

from langchain_core.tools import BaseTool, tool

from branching.assistants.concierge.hotels import Room


@tool
def search_hotels(city: str, check_in: date, nights: int = 1, max_price: int | None = None) -> dict[str, Any]:
    """Find hotels with free rooms. max_price is the most that a room may cost a night, in CNY."""
    raise NotImplementedError


@tool
def book_hotel(hotel_id: str, room_type: Room, check_in: date, nights: int) -> dict[str, Any]:
    """Book a room in a hotel that search_hotels has returned. A person is asked to approve it first."""
    raise NotImplementedError


@tool
def cancel_booking(order_id: str) -> dict[str, Any]:
    """Cancel a booking by its order id, such as XA-1001. A person is asked to approve it first."""
    raise NotImplementedError


@tool
def get_weather(city: str, date: date) -> dict[str, Any]:
    """The weather in a city on a day."""
    raise NotImplementedError


TOOLS: list[BaseTool] = [search_hotels, book_hotel, cancel_booking, get_weather]
ACTING = (book_hotel.name, cancel_booking.name)
"""Those that change the world, and so ask a person first."""
