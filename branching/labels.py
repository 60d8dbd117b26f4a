"""The names that people give to versions."""

from __future__ import annotations

from uuid import UUID

from django.db.models import F

from branching.database import on_database
from branching.exceptions import LabelTooLong, NoSuchMessage
from branching.limits import LABEL_MAX
from branching.models import Message, Thread
from branching.words import refuse_unstorable


@on_database
def name(thread_id: UUID, *, message: int, label: str) -> None:
    """Call this version so; an empty name takes it away. Raises `NoSuchMessage`, `LabelTooLong`, `BadText`."""
    label = " ".join(label.split())
    if len(label) > LABEL_MAX:
        raise LabelTooLong
    refuse_unstorable(label)
    if not Message.objects.filter(thread_id=thread_id, pk=message).update(label=label):
        raise NoSuchMessage
    Thread.objects.filter(pk=thread_id).update(revision=F("revision") + 1)
