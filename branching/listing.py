"""All checkpoints of a thread as a list, read from the index: what the time machine shows, without any state."""

from __future__ import annotations

from uuid import UUID

from django.db.models.functions import Substr

from branching import index
from branching.database import on_database
from branching.models import IndexedCheckpoint
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
    "created_at": "created_at",
}


@on_database
def checkpoints(thread_id: UUID, *, before: str | None = None, limit: int | None = None) -> list[ListedCheckpoint]:
    """The checkpoints of the thread in the order in which they came, the last one first.

    With `limit` no more than so many; with `before` those that came before that one, so that a list goes on where
    another has ended. Raises `NoSuchCheckpoint` where `before` names none of this thread.
    """
    rows = IndexedCheckpoint.objects.filter(thread_id=thread_id).annotate(gist=Substr("message__text", 1, GIST))
    if before is not None:
        rows = rows.filter(pk__lt=index.checkpoint_of(thread_id, before).pk)
    found = rows.order_by("-pk").values_list(*COLUMNS.values())[:limit]
    return [ListedCheckpoint(**dict(zip(COLUMNS, row, strict=True))) for row in found]
