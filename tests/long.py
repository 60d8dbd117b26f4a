"""Long threads with many forks, in the index alone: by the graph they would take hours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.management.color import no_style
from django.db import connection, models
from django.utils import timezone

from branching.models import HeadMove, IndexedCheckpoint, Message, Run, Thread

BATCH = 2_000


@dataclass(frozen=True)
class Line:
    """A thread of one long line of messages, and of two short ones that begin beside it."""

    thread: Thread
    path: list[int]
    """The keys of the long line, from the first message to HEAD's."""
    forks: list[int]
    """The keys of the versions beside it."""


def plant(thread: Thread, length: int, forks: Iterable[int] = (), text: str = "A word. ") -> Line:
    """Questions and replies in turn, so many messages in all, with another version at each depth that `forks` names.

    HEAD is at their end. Each version has its checkpoints, each reply its run and its move of HEAD.
    """
    began = timezone.now() - timedelta(days=30)
    first = (Message.objects.aggregate(newest=models.Max("pk"))["newest"] or 0) + 1
    beside = [depth for depth in forks if depth <= length]
    depths = [*range(1, length + 1), *beside]
    rows = list(_messages(thread, first, length, depths, text, began))
    _save(rows)
    _save(_checkpoints(thread, rows, began))
    runs = [
        Run(thread=thread, kind="send", base=f"{row.parent_id}", tip=f"{row.pk}", status="done", lease_until=began,
            ended_at=began, created_at=began)
        for row in rows if row.kind == "ai"
    ]  # fmt: skip
    _save(runs)
    _save(HeadMove(thread=thread, origin=run.base, target=run.tip, why="send", run=run) for run in runs)
    Thread.objects.filter(pk=thread.pk).update(head=f"{first + length - 1}", title="A long one")
    return Line(thread, [row.pk for row in rows[:length]], [row.pk for row in rows[length:]])


def _messages(
    thread: Thread, first: int, length: int, depths: list[int], text: str, began: datetime
) -> Iterator[Message]:
    def at(depth: int) -> int | None:
        """The message of the long line at this depth."""
        return first + depth - 1 if depth else None

    for number, depth in enumerate(depths):
        kind = "human" if depth % 2 else "ai"
        yield Message(
            pk=first + number,
            thread=thread,
            parent_id=at(depth - 1),
            jump_id=at(depth & (depth - 1)),
            depth=depth,
            message_id=f"m{first + number}",
            path=f"{number}",
            kind=kind,
            text=f"{kind} {depth}{'' if number < length else ' again'}. {text}",
            created_at=began,
        )


def _checkpoints(thread: Thread, rows: list[Message], began: datetime) -> Iterator[IndexedCheckpoint]:
    """One that each message came with. What only announces one is left out."""
    for row in rows:
        yield IndexedCheckpoint(
            thread=thread,
            checkpoint_id=f"{row.pk}",
            parent_id=f"{row.parent_id}" if row.parent_id else None,
            origin_id=f"{row.pk}",
            source="loop",
            step=row.depth,
            next=[] if row.kind == "ai" else ["model"],
            message=row,
            created_at=began,
        )


def _save(rows: Iterable[models.Model]) -> None:
    rows = list(rows)
    if rows:
        type(rows[0]).objects.bulk_create(rows, batch_size=BATCH)
        with connection.cursor() as cursor:
            for statement in connection.ops.sequence_reset_sql(no_style(), [type(rows[0])]):
                cursor.execute(statement)
