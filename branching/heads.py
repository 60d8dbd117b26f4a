"""The only writer of HEAD, of the remembered places, and of the log of moves.

A command's move is compare-and-set on `head_version`, the number its page was drawn with. Following a run is
compare-and-set on the checkpoint that the run was at before; it extends the move that the run's command made and
leaves `head_version` alone, since the page still shows the same branch.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, OuterRef, Q, Subquery
from django.utils import timezone

from branching import deletions, index, places
from branching.database import on_database
from branching.exceptions import HeadMoved, NoSuchMessage, NoSuchThread, NothingToUndo
from branching.models import HeadMove, IndexedCheckpoint, Message, Run, Thread


@on_database
@transaction.atomic
def switch(thread_id: UUID, *, message: int, head_version: int, key: str | None = None, by: Any = None) -> None:
    """Show another version: HEAD goes to where one was in it when one left. Runs nothing, stores nothing else."""
    if seen(thread_id, key):
        return
    landing = _landing(thread_id, message)
    move(thread_id, landing, why="switch", head_version=head_version, key=key, by=by, chosen=message)


@on_database
def landing(thread_id: UUID, message: int) -> str:
    """The checkpoint to which a switch to this message would go. Raises `NoSuchMessage`."""
    return _landing(thread_id, message).checkpoint_id


def _landing(thread_id: UUID, message: int) -> IndexedCheckpoint:
    chosen = Message.objects.filter(thread_id=thread_id, pk=message, deletion=None).first()
    if chosen is None:
        raise NoSuchMessage
    return index.tip_of(places.back_to(chosen, _at(thread_id, _head(thread_id))))


@on_database
@transaction.atomic
def go(thread_id: UUID, *, checkpoint_id: str, head_version: int, key: str | None = None, by: Any = None) -> None:
    """Show the branch that ends in this checkpoint of the thread."""
    if not seen(thread_id, key):
        row = index.checkpoint_of(thread_id, checkpoint_id)
        move(thread_id, row, why="switch", head_version=head_version, key=key, by=by)


@on_database
@transaction.atomic
def undo(thread_id: UUID, *, head_version: int, key: str | None = None, by: Any = None) -> None:
    """Take the last move back. What it led to stays where it is, and is found under its arrows."""
    locked(thread_id)
    if seen(thread_id, key):
        return
    last = undoable(thread_id).first()
    target = _return_to(last) if last else None
    if target is None:
        raise NothingToUndo
    deletions.take_back(last)
    move(thread_id, target, why="undo", head_version=head_version, key=key, by=by)
    HeadMove.objects.filter(pk=last.pk).update(undone=True)


def undoable(thread_id: UUID) -> Any:
    """The moves that Undo can take back, newest first."""
    known = IndexedCheckpoint.objects.filter(thread=OuterRef("thread"), checkpoint_id=OuterRef("origin"))
    led_somewhere = HeadMove.objects.filter(thread_id=thread_id, undone=False).exclude(target=None)
    # For `Exists`, PostgreSQL would make a table of all the thread's checkpoints.
    is_known = Q(origin=Subquery(known.values("checkpoint_id")[:1]))
    return led_somewhere.filter(Q(origin=None) | is_known).order_by("-id")


def seen(thread_id: UUID, key: str | None) -> bool:
    """Whether the command with this idempotency key was carried out before."""
    return bool(key) and HeadMove.objects.filter(thread_id=thread_id, key=key).exists()


def _return_to(last: HeadMove) -> IndexedCheckpoint | None:
    """Where taking `last` back lands. A thread that was empty then shows its first checkpoint, which holds nothing."""
    if last.origin is not None:
        return index.checkpoint_of(last.thread_id, last.origin)
    return IndexedCheckpoint.objects.filter(thread_id=last.thread_id, parent_id=None).order_by("id").first()


def locked(thread_id: UUID) -> Thread:
    """The thread's row, held until the transaction ends. Raises `NoSuchThread`."""
    thread = Thread.objects.select_for_update().filter(pk=thread_id).first()
    if thread is None:
        raise NoSuchThread
    return thread


def claim(thread_id: UUID, *, head_version: int) -> None:
    """Make every page drawn before this command stale. Raises `HeadMoved` when the command's own page is."""
    drawn = Thread.objects.filter(pk=thread_id, head_version=head_version)
    claimed = drawn.update(head_version=F("head_version") + 1, revision=F("revision") + 1, updated_at=timezone.now())
    if not claimed:
        raise HeadMoved


def outdate(thread_id: UUID) -> None:
    """Make every page of the thread stale, for what is no command of a person: it is not written to by that."""
    Thread.objects.filter(pk=thread_id).update(head_version=F("head_version") + 1, revision=F("revision") + 1)


def move(
    thread_id: UUID,
    to: IndexedCheckpoint,
    *,
    why: str,
    head_version: int,
    key: str | None = None,
    by: Any = None,
    run: Run | None = None,
    chosen: int | None = None,
) -> None:
    """Point HEAD at `to`, unless it moved since `head_version` was read: then `HeadMoved`. Inside a transaction.

    If that is in a version that was deleted, the version is there again: HEAD is nowhere that is hidden.
    """
    claim(thread_id, head_version=head_version)
    deletions.bring_back(to.message)
    origin = _head(thread_id)
    Thread.objects.filter(pk=thread_id).update(head=to.checkpoint_id)
    places.leave(_at(thread_id, origin), to.message)
    log(thread_id, origin=origin, target=to.checkpoint_id, why=why, key=key, by=by, run=run, chosen=chosen)


def log(
    thread_id: UUID,
    *,
    origin: str | None,
    target: str | None,
    why: str,
    key: str | None = None,
    by: Any = None,
    run: Run | None = None,
    chosen: int | None = None,
) -> None:
    """Write a move down, without making it."""
    # A move with a run led somewhere though HEAD may not have stayed for it; and what was removed can come back.
    stays = why in ("undo", "repair") or (origin == target and run is None and why != "remove")
    moved = {"origin": origin, "target": target, "why": why, "chosen": chosen}
    HeadMove.objects.create(thread_id=thread_id, **moved, key=key, by=by, run=run, undone=stays)


def extend(thread_id: UUID, run: Run, *, by: Any) -> None:
    """Let `run` continue the move that led to HEAD, so that one Undo takes both back."""
    head = _head(thread_id)
    last = undoable(thread_id).first()
    if last and last.target == head:
        HeadMove.objects.filter(pk=last.pk).update(run=run)
    else:
        log(thread_id, origin=head, target=head, why="resume", by=by, run=run)


def follow(run: Run, to: IndexedCheckpoint) -> bool:
    """Take HEAD along to `to` if it is where `run` was before; otherwise the reader is elsewhere, and it stays.

    A run that was begun beside another leaves the place where both began to that one. Inside the transaction that
    records `to`. Does not change `run`.
    """
    was = run.tip or run.base
    thread = Thread.objects.filter(pk=run.thread_id)
    here = thread.filter(head=None) if was is None else thread.filter(head=was)
    is_led = run.beside_id is not None and run.tip is None
    followed = not is_led and not _was_just_undone(run) and bool(here.update(head=to.checkpoint_id))
    thread.update(revision=F("revision") + 1)
    if followed:
        HeadMove.objects.filter(run=run).update(target=to.checkpoint_id)
        places.leave(_at(run.thread_id, was), to.message)
    else:
        pass_by(run, to)
    return followed


def _was_just_undone(run: Run) -> bool:
    """Whether HEAD is where `run` was since its move was undone, and not because the reader came back to it."""
    last = HeadMove.objects.filter(thread_id=run.thread_id).order_by("-id").first()
    if last is None or last.why != "undo":
        return False
    return HeadMove.objects.filter(Q(origin=last.target) | Q(origin=None), run=run, undone=True).exists()


def pass_by(run: Run, to: IndexedCheckpoint) -> None:
    """Leave HEAD where it is as `run` goes on to `to`.

    Whoever left the run where it was will come back to where it has got to, be it by Undo or by an arrow. Inside the
    transaction that records `to`. Does not change `run`.
    """
    was = run.tip or run.base
    own = HeadMove.objects.filter(run=run).order_by("-id").values("id")[:1]
    left = HeadMove.objects.filter(thread_id=run.thread_id, origin=was, id__gt=Subquery(own))
    left.exclude(target=was).update(origin=to.checkpoint_id)
    if to.message:
        places.grow(to.message, _at(run.thread_id, _head(run.thread_id)))


def fall_back(run: Run) -> None:
    """Show the first reply of those that were begun together, where the one that HEAD went with came to none.

    Not before all of them have ended, and not where the reader has gone elsewhere. Undo takes it back with the move
    that began them. Inside the transaction that writes down how `run` ended.
    """
    first = Run.objects.get(pk=run.beside_id or run.pk)
    others = list(Run.objects.filter(beside=first).order_by("created_at"))
    if not others or any(each.status in Run.ACTIVE for each in (first, *others)):
        return
    written = next((each for each in others if each.status == Run.Status.DONE and each.tip), None)
    came_to_nothing = first.status in (Run.Status.FAILED, Run.Status.STOPPED, Run.Status.LOST)
    if written is None or not came_to_nothing or locked(run.thread_id).head != (first.tip or first.base):
        return
    moves = HeadMove.objects.filter(run=first, undone=False)
    was, there = _at(run.thread_id, first.tip or first.base), _at(run.thread_id, first.base)
    if was == there and moves.exists():
        Thread.objects.filter(pk=run.thread_id).update(head=written.tip)
        outdate(run.thread_id)
        moves.update(target=written.tip)
        places.leave(was, _at(run.thread_id, written.tip))


def begin(thread_id: UUID, at: IndexedCheckpoint, *, ends: Mapping[Message, Message]) -> None:
    """Show this checkpoint of a thread that has just been made whole, and remember where its versions were left.

    Ends that no path of its messages could have are not taken over. Inside a transaction.
    """
    Thread.objects.filter(pk=thread_id).update(head=at.checkpoint_id, head_version=F("head_version") + 1)
    for version, end in ends.items():
        Message.objects.filter(pk=version.pk).update(end=end)
    rows = {row.pk: row for row in Message.objects.filter(thread_id=thread_id)}
    for version in list(places.astray(rows, at.message_id)):
        Message.objects.filter(pk=version.pk).update(end=None)


def repair(thread_id: UUID, to: IndexedCheckpoint | None) -> None:
    """Point a HEAD that leads nowhere at `to`, whatever it was."""
    thread = locked(thread_id)
    target = to.checkpoint_id if to else None
    changed = {"head_version": F("head_version") + 1, "revision": F("revision") + 1}
    deletions.bring_back(to.message if to else None)
    Thread.objects.filter(pk=thread_id).update(head=target, **changed)
    places.leave(_at(thread_id, thread.head), to.message if to else None)
    log(thread_id, origin=thread.head, target=target, why="repair")


def _at(thread_id: UUID, checkpoint_id: str | None) -> Message | None:
    """The message that a checkpoint ends in. None too where there is no such checkpoint."""
    rows = IndexedCheckpoint.objects.filter(thread_id=thread_id, checkpoint_id=checkpoint_id)
    row = rows.select_related("message").first()
    return row.message if row else None


def _head(thread_id: UUID) -> str | None:
    return Thread.objects.values_list("head", flat=True).get(pk=thread_id)
