"""What is hidden, since a person has deleted it: its messages name the `Deletion` that they went with.

A message is hidden if one is that it follows, and HEAD is at none of them. `deleting.py` has the commands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from uuid import UUID

from django.db.models import F

from branching.models import Deletion, HeadMove, IndexedCheckpoint, Message
from branching.store import PARAMETERS, parts


def is_hidden(thread_id: UUID, checkpoint_id: str | None) -> bool:
    """Whether the checkpoint ends in a message that is hidden."""
    rows = IndexedCheckpoint.objects.filter(thread_id=thread_id, checkpoint_id=checkpoint_id)
    return rows.filter(message__deletion__isnull=False).exists()


def first_of(deletion: Deletion | int) -> Message:
    """The version that was deleted; the others follow it."""
    return Message.objects.filter(deletion=deletion).order_by("depth").select_related("parent").first()


def bring_back(message: Message | None) -> None:
    """Let the message be seen again, and with it all that went when it or what it follows went."""
    found = []
    while message is not None and message.deletion_id is not None:
        found.append(message.deletion_id)
        message = first_of(message.deletion_id).parent
    if found:
        # What did nothing else can't be taken back any more.
        HeadMove.objects.filter(deletion__in=found, origin=F("target")).update(undone=True)
        Deletion.objects.filter(pk__in=found).delete()


def take_back(move: HeadMove) -> None:
    """Bring back what was deleted with this move, if anything was and is still there."""
    deletion = Deletion.objects.filter(move=move).first()
    if deletion:
        bring_back(first_of(deletion))


def by_path(thread_id: UUID) -> dict[str, int]:
    """What is hidden, by paths, which a rebuild does not change, and with which deletion."""
    return dict(Message.objects.filter(deletion__thread=thread_id).values_list("path", "deletion"))


def hide(thread_id: UUID, paths: Mapping[str, int]) -> None:
    """Hide it again, with what follows it. Deletions that hide nothing are forgotten."""
    found: dict[int, int | None] = {None: None}
    if paths:
        for pk, parent, path in (
            Message.objects.filter(thread=thread_id).order_by("pk").values_list("pk", "parent", "path")
        ):
            found[pk] = paths.get(path) or found[parent]
    by_deletion = defaultdict(list)
    for pk, deletion in found.items():
        if deletion:
            by_deletion[deletion].append(pk)
    for deletion, pks in by_deletion.items():
        mark(pks, deletion)
    Deletion.objects.filter(thread=thread_id, messages=None).delete()


def mark(messages: list[int], deletion: Deletion | int) -> None:
    """Hide these messages as parts of the deletion."""
    for some in parts(messages, PARAMETERS):
        Message.objects.filter(pk__in=some).update(deletion=deletion)
