"""Deletes a branch: what one end of the conversation has to itself, for good, in one transaction."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from branching import heads, leases, recovery, sizes
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import HasGoneOn, HeadMoved, NoSuchMessage, RunInProgress, ShownNow
from branching.models import Thread
from branching.outline import Outline
from branching.removal import Removal


async def delete(
    engine: Engine, thread_id: UUID, *, message: int, head_version: int, key: str | None = None, by: Any = None
) -> None:
    """Delete the branch that ends in `message`: its messages back to where it parts from all others.

    Whatever belongs to them goes too, and Undo passes over it. HEAD stays where it is. Raises `NoSuchMessage`,
    `ShownNow`, `HasGoneOn`, `RunInProgress`, `HeadMoved`.
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
    outline = Outline.of(thread_id)
    own = _own(thread, outline, message)
    Removal(thread, outline, outline.with_what_led_there(own, thread.head), own).carry_out()
    heads.claim(thread_id, head_version=head_version)
    heads.log(thread_id, origin=thread.head, target=thread.head, why="delete", key=key, by=by)


def refuse_unless_settled(thread: Thread) -> None:
    """Raises `RunInProgress` while a run is under way, or has died and was not recovered. The thread is held."""
    leases.refuse_while_running(thread)
    if thread.runs.filter(ended_at=None).exists():
        raise RunInProgress


def _own(thread: Thread, outline: Outline, end: int) -> set[int]:
    """The messages that go with the branch, if it may go."""
    if end not in outline.messages:
        raise NoSuchMessage
    head = outline.rows[thread.head].message if thread.head in outline.rows else None
    shown = set(outline.path(head))
    if end in shown:
        raise ShownNow
    if outline.after.get(end):
        raise HasGoneOn
    return set(sizes.own_of(outline, end, shown))
