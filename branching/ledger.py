"""What a thread's assistant has done or wanted to do, on all of its branches: what was asked, answered and done."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from branching import actions, ancestry
from branching.database import on_database
from branching.exceptions import NoSuchThread
from branching.models import Action, Booking, IndexedCheckpoint, Message, Thread
from branching.types import BookingLine, LedgerLine


@on_database
def read(thread_id: UUID) -> tuple[LedgerLine, ...]:
    """A line for each action of the thread, the oldest first. Raises `NoSuchThread`."""
    thread = Thread.objects.filter(pk=thread_id).first()
    if thread is None:
        raise NoSuchThread
    rows = list(thread.actions.select_related("booking", "cancelled").order_by("id"))
    known, results = _places(thread, rows)
    last = Message.objects.filter(pk=known.get(thread.head or "")).first()
    shown = set(ancestry.path(last, 1)) if last else set()
    return tuple(_line(row, thread, known.get(row.checkpoint_id), results[row.checkpoint_id], shown) for row in rows)


def left_standing(thread: Thread, last: Message | None) -> int:
    """How many bookings of the thread stand that were made on another way than the one to `last`."""
    asked = Booking.objects.filter(thread=thread, cancelled_at=None).values_list("action__checkpoint_id", flat=True)
    if not (places := list(asked)):
        return 0
    _known, results = _after(thread, set(places))
    first = min((depth for _parent, _message, depth in results), default=1)
    shown = set(ancestry.path(last, first)) if last else set()
    here = {thread.head} | {parent for parent, message, _depth in results if message in shown}
    return sum(place not in here for place in places)


def _places(thread: Thread, rows: Iterable[Action]) -> tuple[dict[str, int | None], dict[str, list[int]]]:
    """The message that each checkpoint of an action ends in, and HEAD; and the results that came after each."""
    asked = {row.checkpoint_id for row in rows}
    known, came = _after(thread, asked | ({thread.head} if thread.head else set()))
    results = defaultdict(list)
    for parent, message, _depth in came:
        results[parent].append(message)
    return known, results


def _after(thread: Thread, places: set[str]) -> tuple[dict[str, int | None], list[tuple[str, int, int]]]:
    """The message that each of these checkpoints ends in; and what came after them: after which, the message, and its
    depth. A copy of a checkpoint ends in the same message: nothing has come by it."""
    rows = IndexedCheckpoint.objects.filter(thread=thread)
    known = dict(rows.filter(checkpoint_id__in=places).values_list("checkpoint_id", "message_id"))
    grown = rows.filter(parent_id__in=places, message__isnull=False).order_by("id")
    ended = grown.values_list("parent_id", "message_id", "message__depth")
    return known, [(parent, message, depth) for parent, message, depth in ended if message != known.get(parent)]


def _line(row: Action, thread: Thread, message: int | None, results: list[int], shown: set[int]) -> LedgerLine:
    answer = row.answer or {}
    return LedgerLine(
        id=row.pk,
        name=row.name or row.node,
        arguments=row.arguments,
        payload=row.payload,
        state=actions.state_of(row),
        reason=answer.get("reason", ""),
        edits=answer.get("arguments", {}),
        result=row.result,
        node=row.node,
        times=row.times,
        run_id=row.run_id,
        checkpoint_id=row.checkpoint_id,
        call_id=row.call_id,
        interrupt_id=row.interrupt_id,
        on_branch=row.checkpoint_id == thread.head or bool(shown.intersection(results)),
        message=results[-1] if results else message,
        booking=_booking(row),
        created_at=row.created_at,
        answered_at=row.answered_at,
    )


def _booking(row: Action) -> BookingLine | None:
    booking = getattr(row, "booking", None) or getattr(row, "cancelled", None)
    if booking is None:
        return None
    return BookingLine(
        order=booking.order,
        hotel_id=booking.hotel_id,
        room=booking.room,
        check_in=booking.check_in,
        nights=booking.nights,
        total=booking.total,
        currency=booking.currency,
        is_cancelled=booking.cancelled_at is not None,
    )
