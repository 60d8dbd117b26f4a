"""How much room conversations take in the database, and which of their branches takes it.

What is counted: the bytes of the checkpoints, of what tasks wrote, and of the pieces with their names. What is not:
the rows around them, the indexes, and the app's own rows about the thread, which are small beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any
from uuid import UUID

from django.db.models import F, Func, IntegerField, OuterRef, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce, Left, Length

from branching.database import on_database
from branching.encoding import NAME
from branching.models import IndexedCheckpoint, Message, Piece, StoredCheckpoint, StoredThread, StoredWrites, Thread
from branching.outline import Outline
from branching.pieces import Holders, weights
from branching.store import PARAMETERS, parts

WORDS = 120
"""Characters of a message by which one knows it again."""


@dataclass(frozen=True)
class Size:
    """What a thread holds, in all its versions."""

    messages: int
    checkpoints: int
    bytes: int


@dataclass(frozen=True)
class Branch:
    """One way through the conversation, from the first message to an end of the tree; HEAD is an end too."""

    end: int
    """The pk of its last message."""
    begins: str
    """The first words of where it parts from all others; empty where it has nothing of its own."""
    ends: str
    """The first words of its last message."""
    messages: int
    own: int
    """How many of its messages no other branch has."""
    own_bytes: int
    """What it alone holds, and what deleting it gives back at least."""
    shared_bytes: int
    """What it has in common with others."""
    is_shown: bool
    is_deleted: bool
    """Whether it is hidden, and goes before long."""


@dataclass(frozen=True)
class Storage:
    """A thread's size by its branches: the one that is shown first, then the largest."""

    size: Size
    shared_bytes: int
    """What more than one branch holds, or none in particular."""
    branches: Sequence[Branch]


def of(thread_id: UUID) -> Size:
    """The size of a thread; zeros for one that does not exist."""
    stored = StoredThread.objects.filter(thread=thread_id).first()
    messages, checkpoints = (model.objects.filter(thread=thread_id).count() for model in (Message, IndexedCheckpoint))
    return Size(messages, checkpoints, bytes_of(stored) if stored else 0)


def bytes_of(stored: StoredThread) -> int:
    """What all that is stored under this name takes."""
    bodies = (rows.aggregate(total=Sum(Length("body")))["total"] or 0 for rows in (stored.checkpoints, stored.writes))
    pieces = stored.pieces.aggregate(total=Sum(Length("data") + NAME))["total"] or 0
    return sum(bodies) + pieces


def with_sizes(threads: QuerySet[Thread]) -> QuerySet[Thread]:
    """The threads with `message_count`, `checkpoint_count` and `bytes`, for lists of them."""
    stored = StoredThread.objects.filter(thread=OuterRef(OuterRef("pk"))).values("pk")
    kinds = ((StoredCheckpoint, Length("body")), (StoredWrites, Length("body")), (Piece, Length("data") + NAME))
    sums = [_one(kind.objects.filter(thread=Subquery(stored)), Func(size, function="SUM")) for kind, size in kinds]
    return threads.annotate(
        message_count=_one(Message.objects.filter(thread=OuterRef("pk")), Func(F("pk"), function="COUNT")),
        checkpoint_count=_one(IndexedCheckpoint.objects.filter(thread=OuterRef("pk")), Func(F("pk"), function="COUNT")),
        bytes=sums[0] + sums[1] + sums[2],
    )


def _one(rows: QuerySet[Any], value: Any) -> Coalesce:
    whole = rows.order_by().annotate(value=value).values("value")
    return Coalesce(Subquery(whole, output_field=IntegerField()), Value(0))


@on_database
def storage(thread: Thread) -> Storage:
    """The sizes of a thread's branches. Walks all that is stored of it once."""
    outline = Outline.of(thread.pk)
    head = outline.rows[thread.head].message if thread.head in outline.rows else None
    ends = ends_of(outline, head)
    holders = _holders(outline, ends)
    found = _weights(thread, outline, holders)
    branches = _branches(thread, outline, ends, holders, found, head)
    size = Size(len(outline.messages), len(outline.rows), found.total())
    alone = sum(branch.own_bytes for branch in branches)
    return Storage(size, size.bytes - alone, sorted(branches, key=lambda each: (not each.is_shown, -each.own_bytes)))


def ends_of(outline: Outline, head: int | None) -> list[int]:
    """The messages that nothing follows, and the one at HEAD, which is a place to be too.

    In the order of the tree: the branches that pass a message follow each other.
    """
    found, waiting = [], list(reversed(outline.after.get(None, ())))
    while waiting:
        message = waiting.pop()
        following = outline.after.get(message, ())
        waiting += reversed(following)
        if not following or message == head:
            found.append(message)
    return found


def own_of(outline: Outline, end: int, shown: set[int]) -> list[int]:
    """The messages that only the branch with this end has, the last one first; `shown` are those up to HEAD."""
    own: list[int] = []
    for message in outline.path(end):
        followers = len(outline.after.get(message, ()))
        # Up to HEAD all are its own, except where another branch goes on from one of them.
        if followers > bool(own) or (message in shown and own and own[0] not in shown):
            break
        own.append(message)
    return own


def _holders(outline: Outline, ends: Sequence[int]) -> dict[int | None, Holders]:
    """For each message the branches that it is on; what comes before all messages is on all."""
    found: dict[int | None, Holders] = {None: (1 << len(ends)) - 1}
    for at, end in enumerate(ends):
        found[end] = found.get(end, 0) | 1 << at
    for message in reversed(outline.messages):  # those that follow come first
        parent = outline.messages[message]
        both = found.get(parent, 0) | found[message]
        found[parent] = found[message] if both == found[message] else both
    return found


def _weights(thread: Thread, outline: Outline, holders: dict[int | None, Holders]) -> Counter[Holders]:
    """The bytes by the branches that hold them."""
    held: dict[str, Holders] = {}
    for row in reversed(outline.rows.values()):
        led_to = 0
        if outline.is_threshold(row) and row.id != thread.head:
            for child in outline.children.get(row.id, ()):
                led_to |= held[child.id]
        held[row.id] = led_to or holders[row.message]
    stored = StoredThread.objects.filter(thread=thread).first()
    return weights(stored, lambda checkpoint_id: held.get(checkpoint_id, 0)) if stored else Counter()


def _branches(
    thread: Thread,
    outline: Outline,
    ends: Sequence[int],
    holders: dict[int | None, Holders],
    found: Counter[Holders],
    head: int | None,
) -> list[Branch]:
    shown = set(outline.path(head))
    own = {end: own_of(outline, end, shown) for end in ends}
    totals = _totals(found, len(ends))
    depths = _depths(outline)
    hidden = set(Message.objects.filter(deletion__thread=thread).values_list("pk", flat=True))
    wanted = {*ends, *(messages[-1] for messages in own.values() if messages)}
    words = _words(wanted)
    return [
        Branch(
            end=end,
            begins=words[own[end][-1]] if own[end] else "",
            ends=words[end],
            messages=depths[end],
            own=len(own[end]),
            own_bytes=found[1 << at],
            shared_bytes=totals[at] - found[1 << at],
            is_shown=end == head,
            is_deleted=end in hidden,
        )
        for at, end in enumerate(ends)
    ]


def _totals(found: Counter[Holders], count: int) -> list[int]:
    """What each branch holds in all. Those that hold a thing are a few runs of bits, however many they are."""
    steps = [0] * (count + 1)
    for held, size in found.items():
        while held:
            start = (held & -held).bit_length() - 1
            run = held >> start
            end = start + (~run & run + 1).bit_length() - 1
            steps[start] += size
            steps[end] -= size
            held = held >> end << end
    return list(accumulate(steps[:count]))


def _depths(outline: Outline) -> dict[int | None, int]:
    """How many messages there are up to each."""
    found: dict[int | None, int] = {None: 0}
    for message, parent in outline.messages.items():
        found[message] = found[parent] + 1
    return found


def _words(messages: Iterable[int]) -> dict[int, str]:
    """The first words of each."""
    rows = (Message.objects.filter(pk__in=some) for some in parts(list(messages), PARAMETERS))
    return dict(pair for some in rows for pair in some.values_list("pk", Left("text", WORDS)))
