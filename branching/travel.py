"""What a person can do by hand at any checkpoint, be it on the visible path or not: run it, speak there, change it.

They are commands like those in `commands.py`: each claims the thread first, and HEAD goes along.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from branching import assistants, forks, heads, index, leases, recovery
from branching.claims import claim
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import HistoryLost, NotForkable
from branching.forks import Update
from branching.models import IndexedCheckpoint, Run, Thread
from branching.saying import close_calls, name, said_anew
from branching.standing import waiting_in
from branching.types import Content
from branching.words import checked


@on_database
@transaction.atomic
def replay_from(
    thread_id: UUID, *, checkpoint_id: str, head_version: int, engine: Engine, key: str | None = None, by: Any = None
) -> Run | None:
    """A run, yet to be executed, that goes on from any checkpoint once more; HEAD already waits there.

    What was asked there is asked again. Where the graph had ended nothing runs, and LangGraph adds a copy alone. None
    where `key` was seen before. Raises `NoSuchCheckpoint`, `HistoryLost`.
    """
    thread = heads.locked(thread_id)
    row = index.checkpoint_of(thread_id, checkpoint_id)
    return _replay(engine, thread, row, head_version=head_version, key=key, by=by)


def _replay(
    engine: Engine, thread: Thread, row: IndexedCheckpoint, *, head_version: int, key: str | None, by: Any
) -> Run | None:
    # From the original, since LangGraph goes on from its newest copy in place; unless that was pruned.
    origin = thread.checkpoints.filter(checkpoint_id=row.origin_id).first() or row
    if not engine.saver.has(thread.pk, origin.checkpoint_id):
        raise HistoryLost
    run = claim(thread, kind="replay", base=origin.checkpoint_id, key=key)
    if run:
        heads.move(thread.pk, origin, why="replay", head_version=head_version, by=by, run=run)
    return run


@on_database
@transaction.atomic
def send_from(
    thread_id: UUID,
    *,
    checkpoint_id: str,
    text: str,
    head_version: int,
    engine: Engine,
    key: str | None = None,
    by: Any = None,
) -> Run | None:
    """A run, yet to be executed, that says `text` at any checkpoint, where HEAD already waits: as `send` does at HEAD.

    What waits in the checkpoint to be taken in is not taken along: the new message takes its place, but where it says
    the same, what waits is run. None where `key` was seen before. Raises `NoSuchCheckpoint`, `HistoryLost`, and what
    `send` raises for a text.
    """
    text = checked(text)
    thread = heads.locked(thread_id)
    row = index.checkpoint_of(thread_id, checkpoint_id)
    if text == _unanswered(thread, row):
        return _replay(engine, thread, row, head_version=head_version, key=key, by=by)
    if not engine.saver.has(thread_id, row.checkpoint_id):
        raise HistoryLost
    run = claim(thread, kind="send", base=row.checkpoint_id, said=said_anew(text), key=key)
    if run:
        start = close_calls(engine, run, by=by) or row
        heads.move(thread_id, start, why="send", head_version=head_version, by=by, run=run)
        name(thread, text)
    return run


def _unanswered(thread: Thread, row: IndexedCheckpoint) -> str | None:
    """What was said at this checkpoint and has no reply there."""
    waiting = waiting_in(row)
    is_unanswered = row.next and row.next != [index.START] and row.message and row.message.kind == "human"
    return waiting.text if waiting else row.message.text if is_unanswered else None


async def fork(
    engine: Engine,
    thread_id: UUID,
    *,
    checkpoint_id: str,
    updates: Sequence[Update],
    head_version: int,
    beside: bool = False,
    key: str | None = None,
    by: Any = None,
) -> bool:
    """Change the state at any checkpoint: a branch of its own begins there, nothing runs yet, and HEAD moves to it.

    All `updates` make one checkpoint, under the one that is changed; with `beside`, under a copy that grows from the
    parent of that one, and that may be all there is. False, and nothing happens, where `key` was seen before. Raises
    `NoSuchCheckpoint`, `HistoryLost`, and `BadFork`, which says what is wrong field by field.
    """
    await recovery.recover(engine, thread_id)
    given = {"checkpoint_id": checkpoint_id, "updates": updates, "beside": beside}
    return await fork_at_once(engine, thread_id, **given, head_version=head_version, key=key, by=by)


@on_database
@transaction.atomic
def fork_at_once(
    engine: Engine,
    thread_id: UUID,
    *,
    checkpoint_id: str,
    updates: Sequence[Update],
    head_version: int,
    beside: bool = False,
    key: str | None = None,
    by: Any = None,
) -> bool:
    """`fork`, without what dead runs have left."""
    thread = heads.locked(thread_id)
    if assistants.get(thread.assistant).is_functional:
        raise NotForkable
    base = index.checkpoint_of(thread_id, checkpoint_id)
    # What waits in a checkpoint waits in its copy too.
    waiting = waiting_in(base) if beside else None
    said = Content(id=waiting.message_id, kind="human", text=waiting.text) if waiting else None
    run = claim(thread, kind="fork", base=base.checkpoint_id, said=said, key=key)
    if run is None:
        return False
    *_copy, row = [
        index.record(thread_id, each, run_id=run.pk) for each in forks.write(engine, run, updates, beside=beside)
    ]
    leases.end(run, status=Run.Status.DONE, tip=row.checkpoint_id)
    heads.move(thread_id, row, why="fork", head_version=head_version, by=by, run=run)
    return True
