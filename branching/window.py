"""Stretches of a transcript: a page shows the end of it, and fetches what comes before as one scrolls up.

Where the shown part begins depends on nothing but the messages on HEAD's path, and moves only once in `STEP` of
them: so tabs can share a rendering, and a page that is drawn again looks the same.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any
from uuid import UUID

from django.db.models import BigIntegerField, Case, F, Func, OuterRef, QuerySet, Subquery, When

from branching import ancestry, index, steps
from branching.database import on_database
from branching.exceptions import NoSuchMessage
from branching.models import IndexedCheckpoint, Message, Thread
from branching.types import Stretch, ThreadView, Version

CHUNK, STEP = 50, 10
"""A stretch has from `CHUNK` to `CHUNK + STEP` messages, unless it begins with the first one.

It begins after a multiple of `STEP`, or at the first human message after that, if that is as near.
"""


def newest(last: Message | None) -> Sequence[Version]:
    """The end of the transcript that `last` ends."""
    return _up_to(last) if last else ()


@on_database
def earlier(thread_id: UUID, message: int) -> Stretch:
    """What comes before: the messages up to this one, which is the last of them. Raises `NoSuchMessage`."""
    versions = _up_to(_message(thread_id, message))
    return Stretch(versions, above=_above(versions), below=None)


@on_database
def later(thread_id: UUID, message: int, *, to: int) -> Stretch:
    """What comes after a message on the way to another. Raises `NoSuchMessage`."""
    first, end = _message(thread_id, message), _message(thread_id, to)
    if not ancestry.is_on_the_way(first, end):
        raise NoSuchMessage
    last = _back(end, first.depth + CHUNK)
    return Stretch(_between(first.depth + 1, last), above=None, below=_below(last, end))


@on_database
def around(view: ThreadView, message: int) -> Stretch | None:
    """A message with those before and after it, where it is above what `view` shows; None where that shows it.

    Raises `NoSuchMessage` for one that is not on the way to where `view` ends.
    """
    if any(version.pk == message for version in view.versions):
        return None
    middle = _message(view.id, message)
    end = Message.objects.filter(pk=view.above).first()
    if not ancestry.is_on_the_way(middle, end):
        raise NoSuchMessage
    last = _back(end, middle.depth + CHUNK // 2)
    versions = _between(max(1, middle.depth - CHUNK // 2), last)
    return Stretch(versions, above=_above(versions), below=_below(last, end))


async def whole(thread: Thread) -> AsyncIterator[Version]:
    """All messages of the version that the thread shows, from the first on."""
    pks = await _on_path(thread)
    for start in range(0, len(pks), 10 * CHUNK):
        for version in await on_database(_of)(pks[start : start + 10 * CHUNK]):
            yield version


@on_database
def _on_path(thread: Thread) -> list[int]:
    end = IndexedCheckpoint.objects.filter(thread=thread, checkpoint_id=thread.head).select_related("message").first()
    return ancestry.path(end.message, 1)[::-1] if end and end.message else []


def _of(pks: Sequence[int]) -> tuple[Version, ...]:
    rows = _placed(Message.objects.filter(pk__in=pks))
    return tuple(_versions(list(rows.order_by("depth").select_related("parent"))))


@on_database
def only(thread_id: UUID, message: int) -> Version:
    """One message of the thread, wherever HEAD is. Raises `NoSuchMessage`."""
    row = _message(thread_id, message)
    return _between(row.depth, row)[0]


def _message(thread_id: UUID, pk: int) -> Message:
    message = Message.objects.filter(thread_id=thread_id, pk=pk).first()
    if message is None:
        raise NoSuchMessage
    return message


def _back(end: Message, depth: int) -> Message:
    """The message at this depth on the way to `end`, or that."""
    return end if end.depth <= depth else Message.objects.get(pk=ancestry.ancestor(end, depth))


def _above(versions: Sequence[Version]) -> int | None:
    return versions[0].parent if versions else None


def _below(last: Message, end: Message) -> int | None:
    return None if last == end else last.pk


def _up_to(last: Message) -> tuple[Version, ...]:
    """The stretch that ends with `last`."""
    versions = _between(max(0, (last.depth - CHUNK) // STEP * STEP) + 1, last)
    if _above(versions) is None:
        return versions
    human = (at for at, version in enumerate(versions[:STEP]) if version.kind == "human")
    return versions[next(human, 0) :]


def _between(first: int, last: Message) -> tuple[Version, ...]:
    """The messages from this depth on to `last`, as versions."""
    return _of(ancestry.path(last, first))


def _placed(rows: QuerySet[Message]) -> QuerySet[Message]:
    """The rows with the checkpoint that each ends in, and with its place among its siblings."""
    tip = index.ending_in(OuterRef("pk")).values("checkpoint_id")[:1]
    return rows.annotate(
        tip=Subquery(tip),
        position=_of_siblings("COUNT", pk__lte=OuterRef("pk")),
        total=_of_siblings("COUNT"),
        previous=_of_siblings("MAX", pk__lt=OuterRef("pk")),
        next=_of_siblings("MIN", pk__gt=OuterRef("pk")),
    )


def _of_siblings(function: str, **which: Any) -> Case:
    """An aggregate of the keys of a message's siblings, read from an index alone."""
    others = Message.objects.filter(parent=OuterRef("parent"), deletion=None, **which)
    others = others.annotate(value=Func(F("pk"), function=function, output_field=BigIntegerField()))
    # PostgreSQL would look for the next first message among all messages, if it were not for the sum.
    firsts = Message.objects.filter(thread=OuterRef("thread"), parent=None, deletion=None, **which)
    firsts = firsts.annotate(value=Func(F("pk") + 0, function=function, output_field=BigIntegerField()))
    return Case(When(parent=None, then=Subquery(firsts.values("value"))), default=Subquery(others.values("value")))


def _versions(rows: Sequence[Message]) -> Iterator[Version]:
    known = steps.of(rows)
    for row in rows:
        yield Version(
            pk=row.pk,
            parent=row.parent_id,
            depth=row.depth,
            message_id=row.message_id,
            kind=row.kind,
            text=row.text,
            state="stopped" if row.data.get("stopped") else "done",
            position=row.position,
            total=row.total,
            previous=row.previous,
            next=row.next,
            checkpoint_id=row.tip or "",
            created_at=row.created_at,
            data=row.data,
            label=row.label,
            is_continued=row.parent is not None and row.kind != "human" and row.parent.kind != "human",
            step=known.get(row.pk),
        )
