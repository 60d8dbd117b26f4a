"""Rooms that were booked: made and cancelled here, and nowhere undone by going back in a conversation."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from branching import heads
from branching.database import on_database
from branching.exceptions import AlreadyCancelled, NoSuchBooking
from branching.models import Action, Booking


def book(
    action: Action, *, hotel_id: str, room: str, check_in: date, nights: int, total: int, currency: str
) -> Booking:
    """The booking of this step. One step books once: the database has room for no second. Inside a transaction."""
    return Booking.objects.create(
        thread_id=action.thread_id,
        action=action,
        hotel_id=hotel_id,
        room=room,
        check_in=check_in,
        nights=nights,
        total=total,
        currency=currency,
    )


def cancel(booking: Booking, *, action: Action | None) -> None:
    """Cancel it for a step, or with None by hand. Raises `AlreadyCancelled`. Inside a transaction."""
    open_ones = Booking.objects.filter(pk=booking.pk, cancelled_at=None)
    if not open_ones.update(cancelled_at=timezone.now(), cancelled_by=action):
        raise AlreadyCancelled


@on_database
def find(thread_id: UUID, order: str) -> Booking:
    """The booking with this number, whichever branch of the thread it was made on. Raises `NoSuchBooking`."""
    return _find(thread_id, order)


@on_database
@transaction.atomic
def cancel_by_hand(thread_id: UUID, *, order: str, by: Any = None) -> Booking:
    """Cancel a booking of the thread without asking its assistant. Raises `NoSuchBooking`, `AlreadyCancelled`."""
    heads.locked(thread_id)
    booking = _find(thread_id, order)
    cancel(booking, action=None)
    booking.refresh_from_db()
    return booking


def _find(thread_id: UUID, order: str) -> Booking:
    number = order.strip().upper().removeprefix("XA").lstrip("-")
    key = int(number) - 1000 if number.isascii() and number.isdigit() and len(number) < 12 else 0
    booking = Booking.objects.filter(thread_id=thread_id, pk=key).first()
    if booking is None:
        raise NoSuchBooking
    return booking
