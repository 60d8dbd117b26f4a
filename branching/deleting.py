"""Deletes a version with all that follows it, so that it can be brought back for a while.

It is hidden at once: from the arrows, the map, the search, exports and links. HEAD goes to the nearest version that is
left. Only after `UNDO_FOR`, when somebody opens the conversation or prunes, it is removed: see `removal.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Func, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Left
from django.utils import timezone

from branching import deletions, heads, index, recovery
from branching.branches import refuse_unless_settled
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import BeginsHere, GoneForGood, HeadMoved, NoSuchMessage, RunInProgress
from branching.limits import UNDO_FOR
from branching.models import Deletion, HeadMove, IndexedCheckpoint, Message, Thread
from branching.outline import Outline
from branching.removal import Removal
from branching.types import Kind

GIST = 120
"""Characters by which one knows a version again."""

LISTED = 3
"""Deletions that a page tells of."""


@dataclass(frozen=True)
class Going:
    """What a deletion would take, or has taken."""

    pk: int
    """Of the version; of the deletion where it has been made."""
    kind: Kind
    gist: str
    later: int
    """How many later messages go with it."""


@on_database
def preview(thread_id: UUID, *, message: int) -> Going:
    """What would go if this were deleted. Raises `NoSuchMessage`, `BeginsHere`."""
    family = _Family(Thread.objects.get(pk=thread_id))
    first = family.version_of(message)
    family.survivor(first)
    kind, gist = Message.objects.filter(pk=first).values_list("kind", Left("text", GIST)).get()
    return Going(first, kind, gist, len(family.below(first)) - 1)


async def delete(
    engine: Engine, thread_id: UUID, *, message: int, head_version: int, key: str | None = None, by: Any = None
) -> None:
    """Delete the version that this message belongs to. It can be brought back, be it by Undo.

    Raises `NoSuchMessage`, `BeginsHere`, `RunInProgress`, `HeadMoved`.
    """
    await recovery.recover(engine, thread_id)
    await _delete(thread_id, message=message, head_version=head_version, key=key, by=by)


@on_database
@transaction.atomic
def _delete(thread_id: UUID, *, message: int, head_version: int, key: str | None, by: Any) -> None:
    thread = heads.locked(thread_id)
    if heads.seen(thread_id, key):
        return
    refuse_unless_settled(thread)
    if thread.head_version != head_version:
        raise HeadMoved
    family = _Family(thread)
    first = family.version_of(message)
    going = family.below(first)
    if family.head in going:
        target = family.survivor(first)
        heads.move(thread_id, target, why="remove", head_version=head_version, key=key, by=by)
    else:
        heads.claim(thread_id, head_version=head_version)
        heads.log(thread_id, origin=thread.head, target=thread.head, why="remove", key=key, by=by)
    move = HeadMove.objects.filter(thread=thread).latest("id")
    deletions.mark(going, Deletion.objects.create(thread=thread, move=move))
    family.leave(first, going)


@on_database
@transaction.atomic
def restore(thread_id: UUID, *, deletion: int, head_version: int, key: str | None = None, by: Any = None) -> None:
    """Bring back what was deleted; HEAD too, unless one has gone on since. Raises `GoneForGood`, `HeadMoved`."""
    thread = heads.locked(thread_id)
    if heads.seen(thread_id, key):
        return
    row = Deletion.objects.filter(thread=thread, pk=deletion).first()
    if row is None:
        raise GoneForGood
    last = heads.undoable(thread_id).first()
    if last and last.pk == row.move_id:
        heads.undo.func(thread_id, head_version=head_version, key=key, by=by)
    else:
        heads.claim(thread_id, head_version=head_version)
        deletions.bring_back(deletions.first_of(row))
        heads.log(thread_id, origin=thread.head, target=thread.head, why="restore", key=key, by=by)


@on_database
def pending(thread_id: UUID) -> Sequence[Going]:
    """What can be brought back, the newest first."""
    beside = Message.objects.filter(deletion=OuterRef("deletion")).order_by()
    count = beside.annotate(value=Func(F("pk"), function="COUNT", output_field=IntegerField())).values("value")
    firsts = Message.objects.filter(Q(parent=None) | Q(parent__deletion=None), deletion__thread=thread_id)
    rows = firsts.annotate(gist=Left("text", GIST), count=Subquery(count)).order_by("-deletion")
    columns = rows.values_list("deletion", "kind", "gist", "count")
    return [Going(pk, kind, gist, count - 1) for pk, kind, gist, count in columns[:LISTED]]


@on_database
def clear(thread_id: UUID) -> bool:
    """Remove what was deleted long enough ago. Whether anything was; not while a reply is being written."""
    if not due(thread_id).exists():
        return False
    with transaction.atomic():
        thread = heads.locked(thread_id)
        try:
            refuse_unless_settled(thread)
        except RunInProgress:
            return False
        remove(thread, due(thread_id))
    return True


@on_database
@transaction.atomic
def remove_now(thread_id: UUID, *, deletion: int) -> None:
    """Remove for good what was deleted, at once. Raises `GoneForGood`, `RunInProgress`."""
    thread = heads.locked(thread_id)
    refuse_unless_settled(thread)
    rows = Deletion.objects.filter(thread=thread, pk=deletion)
    if not rows.exists():
        raise GoneForGood
    remove(thread, rows)


def due(thread_id: UUID) -> QuerySet[Deletion]:
    """The deletions that nobody has taken back in time."""
    return Deletion.objects.filter(thread=thread_id, created_at__lt=timezone.now() - UNDO_FOR)


def remove(thread: Thread, rows: QuerySet[Deletion]) -> None:
    """Remove what these have hidden, in the transaction that holds the thread, on which nothing runs."""
    firsts = [deletions.first_of(row).pk for row in rows]
    if not firsts:
        return
    outline = Outline.of(thread.pk)
    going = {each for first in firsts for each in outline.below(first)}
    Removal(thread, outline, outline.with_what_led_there(going, thread.head), going).carry_out()
    # No page offers anything of it but to bring it back: so none has to be drawn again before it can be used.
    Thread.objects.filter(pk=thread.pk).update(revision=F("revision") + 1)


class _Family:
    """The messages of a thread that are not hidden, and how they hang together."""

    def __init__(self, thread: Thread) -> None:
        self.thread, self.outline = thread, Outline.of(thread.pk)
        self.hidden = set(Message.objects.filter(deletion__thread=thread).values_list("pk", flat=True))
        row = self.outline.rows.get(thread.head)
        self.head = row.message if row else None

    def below(self, first: int) -> list[int]:
        """The message with all that follows it."""
        return [each for each in self.outline.below(first) if each not in self.hidden]

    def siblings(self, message: int) -> list[int]:
        """The other versions."""
        beside = self.outline.after[self.outline.messages[message]]
        return [each for each in beside if each not in self.hidden and each != message]

    def version_of(self, message: int) -> int:
        """The message with which the version begins: of a reply, where it parts from others, or its turn begins."""
        if message not in self.outline.messages or message in self.hidden:
            raise NoSuchMessage
        kinds = dict(Message.objects.filter(thread=self.thread).values_list("pk", "kind"))
        parent = self.outline.messages[message]
        while parent and "human" not in (kinds[message], kinds[parent]) and not self.siblings(message):
            message, parent = parent, self.outline.messages[parent]
        # What came in one step with others has nothing to go back to between them.
        tips = self.outline.tips()
        while parent and parent not in tips and not self.siblings(message):
            message, parent = parent, self.outline.messages[parent]
        return message

    def survivor(self, first: int) -> IndexedCheckpoint:
        """Where one is without this version: at the one before it, or after it, or where it began."""
        if beside := self.siblings(first):
            nearest = max((each for each in beside if each < first), default=beside[0])
            return index.checkpoint_of(self.thread.pk, heads.landing.func(self.thread.pk, nearest))
        if parent := self.outline.messages[first]:
            return index.tip_of(Message.objects.get(pk=parent))
        start = IndexedCheckpoint.objects.filter(thread=self.thread, parent_id=None, message=None).order_by("id")
        if found := start.first():
            return found
        raise BeginsHere

    def leave(self, first: int, going: Sequence[int]) -> None:
        """Let no version lead to what is hidden now; the first of it keeps where one was in it."""
        taken = set(going)
        ends = Message.objects.filter(thread=self.thread).exclude(end=None).values_list("pk", "end")
        end = next((end for pk, end in ends if end in taken and pk not in taken), None)
        if end is not None and end != first:
            Message.objects.filter(pk=first).update(end=end)
        Removal(self.thread, self.outline, set(), self.hidden | taken).forget_places()
