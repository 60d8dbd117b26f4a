"""Takes out of old conversations what nobody comes back to, by rules: see `manage.py prune`.

Plain functions for a command, which is no page and waits for nothing. Each thread is one transaction, under its lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, NamedTuple

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from branching import deleting, heads, sharing, sizes
from branching.branches import refuse_unless_settled
from branching.exceptions import HeadMoved, NotFinished
from branching.models import Action, HeadMove, IndexedCheckpoint, Run, StoredThread, Thread
from branching.outline import Outline
from branching.removal import Removal
from branching.standing import at_head
from branching.store import held

Keep = Literal["tips", "head"]


@dataclass(frozen=True)
class Rules:
    """Which threads, and what of them stays.

    `tips`: every version, and whatever a button leads to. `head`: the branch that is shown and those
    that are shared, and what their buttons need.
    """

    keep: Keep
    older_than: timedelta | None = None
    """Only threads that nobody has given a command for so long."""
    finished: bool = False
    """Only threads in which nothing runs, failed, was interrupted or waits, on no branch."""


class Loss(NamedTuple):
    """What goes."""

    versions: int
    checkpoints: int
    bytes: int


def candidates(rules: Rules) -> QuerySet[Thread]:
    """The threads that the rules are about, the one longest untouched first."""
    threads = Thread.objects.order_by("updated_at", "pk")
    if rules.older_than is not None:
        threads = threads.filter(updated_at__lte=timezone.now() - rules.older_than)
    return threads


def prune(thread: Thread, rules: Rules, *, really: bool) -> Loss:
    """Take out of the thread what the rules let go, and say what that was; not `really` does it and takes it back.

    `thread` is as it was looked at when it was chosen. Raises `HeadMoved` where it has changed since, `RunInProgress`,
    `NotFinished`, `NoSuchThread`.
    """
    with transaction.atomic():
        now = heads.locked(thread.pk)
        if (now.head, now.head_version, now.updated_at) != (thread.head, thread.head_version, thread.updated_at):
            raise HeadMoved
        refuse_unless_settled(now)
        if rules.finished and not is_finished(now):
            raise NotFinished
        before = sizes.of(now.pk)
        _carry_out(now, rules)
        after = sizes.of(now.pk)
        transaction.set_rollback(not really)
    pairs = zip(vars(before).values(), vars(after).values(), strict=True)
    return Loss(*(had - has for had, has in pairs))


def is_finished(thread: Thread) -> bool:
    """Whether nothing has anything left to do, on any branch."""
    child = IndexedCheckpoint.objects.filter(thread=thread, parent_id=OuterRef("checkpoint_id"))
    waiting = IndexedCheckpoint.objects.filter(~Exists(child), thread=thread).exclude(next=[])
    return not (at_head(thread).is_open or waiting.exists())


def strays() -> QuerySet[StoredThread]:
    """What is stored of threads that are no more."""
    return StoredThread.objects.filter(thread=None).order_by("pk")


def prune_stray(stray: StoredThread, *, really: bool) -> Loss:
    """Delete it, and say what that was. Nothing if it has gone or found its thread."""
    with transaction.atomic():
        for row in held(pk=stray.pk, thread=None):
            loss = Loss(0, row.checkpoints.count(), sizes.bytes_of(row))
            if really:
                row.delete()
            return loss
    return Loss(0, 0, 0)


def _carry_out(thread: Thread, rules: Rules) -> None:
    deleting.remove(thread, deleting.due(thread.pk))
    if rules.keep == "head":
        outline = Outline.of(thread.pk)
        shown = set(outline.path(outline.rows[thread.head].message)) if thread.head in outline.rows else set()
        for end in sharing.ends(thread.pk):
            shown.update(outline.path(end))
        others = outline.messages.keys() - shown
        if others:
            Removal(thread, outline, outline.with_what_led_there(others, thread.head), others).carry_out()
            heads.outdate(thread.pk)
    outline = Outline.of(thread.pk)
    unneeded = outline.rows.keys() - outline.needed(_places(thread, outline))
    Removal(thread, outline, unneeded, set()).carry_out()


def _places(thread: Thread, outline: Outline) -> list[str | None]:
    """Where HEAD is, where Undo leads and where runs are, and what stands in for other places that are written down."""
    runs = Run.objects.filter(thread=thread).values_list("tip", "base")
    moves = HeadMove.objects.filter(thread=thread).values_list("target", flat=True)
    asked = Action.objects.filter(thread=thread, payload__isnull=False).values_list("checkpoint_id", flat=True)
    loose = [*(base for _, base in runs), *moves]
    return [
        thread.head,
        *(tip for tip, _ in runs),
        *asked,  # a copy too: the answer was given there, and no other checkpoint has it
        *heads.undoable(thread.pk).values_list("origin", flat=True),
        *(outline.stand_in(place) for place in loose if place in outline.rows),
    ]
