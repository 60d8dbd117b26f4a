"""All checkpoints of a thread as a list, read from the index: what the time machine shows, without any state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import (
    BooleanField,
    Case,
    Exists,
    F,
    Func,
    IntegerField,
    Model,
    OuterRef,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Length, Substr

from branching import index, lanes, lineage
from branching.database import on_database
from branching.lanes import Place
from branching.models import Action, HeadMove, IndexedCheckpoint, Message, Run, StoredCheckpoint, StoredWrites, Thread
from branching.types import ListedCheckpoint

GIST = 120
"""Characters of a message that a list shows."""

COLUMNS = {
    "id": "checkpoint_id",
    "parent_id": "parent_id",
    "origin_id": "origin_id",
    "source": "source",
    "step": "step",
    "next": "next",
    "run_id": "run_id",
    "run_kind": "run__kind",
    "message": "message_id",
    "kind": "message__kind",
    "depth": "message__depth",
    "gist": "gist",
    "call": "message__data__tool_calls__0__name",
    "by": "by",
    "is_head": "is_head",
    "on_path": "on_path",
    "is_tip": "is_tip",
    "is_waiting": "is_waiting",
    "has_failed": "has_failed",
    "is_deleted": "is_deleted",
    "size": "size",
    "created_at": "created_at",
}


@dataclass(frozen=True)
class Sieve:
    """Which checkpoints a list is to show."""

    source: str = ""
    node: str = ""
    """Where this node comes next."""
    run: UUID | None = None
    on_path: bool = False
    """Only what HEAD grew from."""
    tip: str = ""
    """Only this checkpoint and what it grew from."""

    @property
    def leaves_gaps(self) -> bool:
        """Whether something may be missing between two checkpoints that pass."""
        return bool(self.source or self.node or self.run)


SIEVE = Sieve()
"""Everything."""


@on_database
def checkpoints(
    thread_id: UUID, *, before: str | None = None, limit: int | None = None, sieve: Sieve = SIEVE
) -> list[ListedCheckpoint]:
    """The checkpoints of the thread in the order in which they came, the last one first; those that `sieve` lets pass.

    With `limit` no more than so many; with `before` those that came before that one, so that a list goes on where
    another has ended. Raises `NoSuchCheckpoint` where `before` or the sieve's tip names none of this thread.
    """
    if sieve.tip:
        index.checkpoint_of(thread_id, sieve.tip)
    rows = _sifted(thread_id, sieve)
    if before is not None:
        rows = rows.filter(pk__lt=index.checkpoint_of(thread_id, before).pk)
    return _listed(thread_id, rows, limit)


def some(thread_id: UUID, **which: Any) -> list[ListedCheckpoint]:
    """These checkpoints of the thread, the last one first."""
    return _listed(thread_id, IndexedCheckpoint.objects.filter(thread_id=thread_id, **which))


@on_database
def places(thread_id: UUID, rows: Sequence[ListedCheckpoint], sieve: Sieve = SIEVE) -> dict[str, Place]:
    """Where these checkpoints, which follow each other in a list without gaps, stand in the drawing of all of it."""
    if not rows:
        return {}
    known = IndexedCheckpoint.objects.filter(thread_id=thread_id)
    parents = known.filter(checkpoint_id=OuterRef("parent_id")).values("checkpoint_id")[:1]
    last = known.filter(checkpoint_id=rows[-1].id).values("pk")[:1]
    # What came before them changes nothing of it.
    above = _sifted(thread_id, sieve).filter(pk__gte=Subquery(last))
    above = above.annotate(parent=Subquery(parents), on_path=_on_path(thread_id))
    drawn = above.order_by("-pk").values_list("checkpoint_id", "parent", "on_path")
    return lanes.draw(drawn.iterator(), {row.id for row in rows})


def _sifted(thread_id: UUID, sieve: Sieve) -> QuerySet[IndexedCheckpoint]:
    rows = IndexedCheckpoint.objects.filter(thread_id=thread_id)
    if sieve.source:
        rows = rows.filter(source=sieve.source)
    if sieve.node:
        # As text, since SQLite can't look into a list.
        rows = rows.alias(nodes=Cast("next", TextField())).filter(nodes__contains=json.dumps(sieve.node))
    if sieve.run:
        rows = rows.filter(run=sieve.run)
    if sieve.tip:
        rows = rows.filter(pk__in=lineage.leading_to(thread_id, sieve.tip))
    return rows.filter(pk__in=lineage.shown(thread_id)) if sieve.on_path else rows


def _listed(thread_id: UUID, rows: QuerySet[IndexedCheckpoint], limit: int | None = None) -> list[ListedCheckpoint]:
    found = rows.annotate(**_marks(thread_id)).order_by("-pk").values_list(*COLUMNS.values())[:limit]
    return [ListedCheckpoint(**dict(zip(COLUMNS, row, strict=True))) for row in found]


def _marks(thread_id: UUID) -> dict[str, Any]:
    here = {"thread": OuterRef("thread"), "checkpoint_id": OuterRef("checkpoint_id")}
    moves = HeadMove.objects.filter(run=OuterRef("run")).order_by("id")
    grown = IndexedCheckpoint.objects.filter(thread=OuterRef("thread"), parent_id=OuterRef("checkpoint_id"))
    asked = Action.objects.filter(**here, payload__isnull=False, answer__isnull=True)
    failed = Run.objects.filter(thread=OuterRef("thread"), tip=OuterRef("checkpoint_id"), status=Run.Status.FAILED)
    deleted = Message.objects.filter(pk=OuterRef("message"), deletion__isnull=False)
    owner = F("thread__owner__username")
    return {
        "gist": Substr("message__text", 1, GIST),
        # The move of an edit or a fork passes on to the run that answers it; whoever has a thread gives its commands.
        "by": Case(When(run=None, then=None), default=Coalesce(Subquery(moves.values("by__username")[:1]), owner)),
        "is_head": Exists(Thread.objects.filter(pk=OuterRef("thread"), head=OuterRef("checkpoint_id"))),
        "on_path": _on_path(thread_id),
        "is_tip": ~Exists(grown),
        "is_waiting": Exists(asked),
        "has_failed": Exists(failed),
        "is_deleted": Exists(deleted),
        "size": _size(StoredCheckpoint) + _size(StoredWrites),
    }


def _size(kind: type[Model]) -> Coalesce:
    names = {"thread__thread": OuterRef("thread"), "ns": "", "checkpoint_id": OuterRef("checkpoint_id")}
    sums = kind.objects.filter(**names).order_by().annotate(value=Func(Length("body"), function="SUM")).values("value")
    return Coalesce(Subquery(sums, output_field=IntegerField()), Value(0))


def _on_path(thread_id: UUID) -> Case:
    return Case(When(pk__in=lineage.shown(thread_id), then=True), default=False, output_field=BooleanField())
