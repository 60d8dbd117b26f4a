"""What a person can ask of a thread that ends in a checkpoint: send, replay, edit, fork, resume, answer, ...

Each claims the thread before LangGraph is touched: one transaction checks the idempotency key and the page's
`head_version`, and makes the Run row, of which a thread has at most one that is active. `runs.py` then executes it.
An edit and a fork run no node of the graph: they are done here, in the same transaction.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import transaction

from branching import actions, assistants, forks, heads, index, leases, recovery, runs
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import (
    AnswerFirst,
    HeadMoved,
    HistoryLost,
    NoStart,
    NoSuchMessage,
    NoSuchQuestion,
    NotEditable,
    NotForkable,
    NothingNext,
    NothingToRun,
    NotReplayable,
)
from branching.forks import Update
from branching.limits import TITLE_MAX
from branching.models import IndexedCheckpoint, Message, Run, Thread
from branching.standing import Standing, at_head
from branching.types import Content
from branching.words import checked


async def begin(
    engine: Engine, command: Callable[..., Awaitable[Run | None]], thread_id: UUID, **arguments: Any
) -> Run | None:
    """The run that `command` (any but edit) leads to, yet to be executed.

    What a dead run has left on the thread is taken in first, so that this one goes on from there.
    """
    await recovery.recover(engine, thread_id)
    if command in (send, replay_from):
        arguments["engine"] = engine
    return await command(thread_id, **arguments)


@on_database
@transaction.atomic
def send(
    thread_id: UUID,
    *,
    text: str,
    head_version: int,
    key: str | None = None,
    by: Any = None,
    engine: Engine | None = None,
) -> Run | None:
    """A run, yet to be executed, that says `text` at HEAD; None where `key` was seen before.

    Saying again what stands there unanswered is a resume, so that a failed message that is retyped does not double.
    Tool calls that are open at HEAD get a result first, and questions that wait there are declined: for that it takes
    the `engine`, without which it raises `AnswerFirst`. Raises `EmptyMessage`, `MessageTooLong`, `BadText`.
    """
    text = checked(text)
    thread = heads.locked(thread_id)
    if _standing(thread).unanswered == text:
        return _resume(thread, head_version=head_version, key=key, by=by)
    run = _claim(thread, kind="send", base=thread.head, said=said_anew(text), key=key)
    if run:
        if closed := _close(engine, run, by=by):
            heads.move(thread_id, closed, why="send", head_version=head_version, by=by, run=run)
        else:
            heads.claim(thread_id, head_version=head_version)
            heads.log(thread_id, origin=thread.head, target=thread.head, why="send", by=by, run=run)
        _name(thread, text)
    return run


def _close(engine: Engine | None, run: Run, *, by: Any) -> IndexedCheckpoint | None:
    """The checkpoint from which `run` now sets out: each tool call that was open at its base has a result there; None
    where no call was open."""
    is_first = run.base is None and assistants.get(run.thread.assistant).is_functional
    if not is_first and not index.has_open_calls(run.thread_id, run.base):
        return None
    if engine is None:
        raise AnswerFirst
    # An edit of the first message needs something to set out from as well.
    closed = runs.write_beginning(engine, run) if is_first else runs.write_results(engine, run)
    if closed is None:
        return None
    actions.decline(run.thread_id, run.base, by=by)
    row = index.record(run.thread_id, closed, run_id=run.pk)
    run.base = row.checkpoint_id
    run.save(update_fields=["base"])
    return row


@on_database
@transaction.atomic
def replay(
    thread_id: UUID,
    *,
    message: int,
    head_version: int,
    whole: bool = True,
    key: str | None = None,
    by: Any = None,
) -> Run | None:
    """A run, yet to be executed, that answers the turn of this reply anew; HEAD already waits at its base.

    Not `whole`: only from the step on that brought this message. What was asked before that step is asked again.
    None where `key` was seen before. Raises `NoSuchMessage`, `NotReplayable`, `NoStart`.
    """
    thread = heads.locked(thread_id)
    reply = _message(thread, message)
    first = _first_reply(reply)
    base = index.base_of(first if whole else reply)
    waits = base is not None and base.next == [index.START]  # the message, in the input of this checkpoint
    if base is None or (whole and base.message_id != first.parent_id and not waits):
        raise NoStart
    if not base.next:
        raise NotReplayable
    run = _claim(thread, kind="replay", base=base.checkpoint_id, key=key)
    if run:
        heads.move(thread_id, base, why="replay", head_version=head_version, by=by, run=run)
    return run


@on_database
@transaction.atomic
def replay_from(
    thread_id: UUID, *, checkpoint_id: str, head_version: int, engine: Engine, key: str | None = None, by: Any = None
) -> Run | None:
    """A run, yet to be executed, that goes on from any checkpoint once more; HEAD already waits there.

    What was asked there is asked again. None where `key` was seen before. Raises `NoSuchCheckpoint`, `NothingNext`,
    `HistoryLost`.
    """
    thread = heads.locked(thread_id)
    row = index.checkpoint_of(thread_id, checkpoint_id)
    # From the original, since LangGraph goes on from its newest copy in place; unless that was pruned.
    origin = thread.checkpoints.filter(checkpoint_id=row.origin_id).first() or row
    if not origin.next:
        raise NothingNext
    if not engine.saver.has(thread_id, origin.checkpoint_id):
        raise HistoryLost
    run = _claim(thread, kind="replay", base=origin.checkpoint_id, key=key)
    if run:
        heads.move(thread_id, origin, why="replay", head_version=head_version, by=by, run=run)
    return run


@on_database
@transaction.atomic
def resume(thread_id: UUID, *, head_version: int, key: str | None = None, by: Any = None) -> Run | None:
    """A run, yet to be executed, that goes on from HEAD: the reply to an edit, or another try after a failure.

    None where `key` was seen before. Raises `NothingToRun` where HEAD has its reply.
    """
    return _resume(heads.locked(thread_id), head_version=head_version, key=key, by=by)


@on_database
@transaction.atomic
def answer(
    thread_id: UUID,
    *,
    checkpoint_id: str,
    answers: Mapping[str, Any],
    head_version: int,
    key: str | None = None,
    by: Any = None,
) -> Run | None:
    """A run, yet to be executed, that goes on with these answers from the checkpoint that asked, which HEAD is at.

    `answers` names some or all of the questions that wait there; of each, `{"type": "approve"}`, `{"type": "reject",
    "reason": ...}` or `{"type": "edit", "arguments": {...}}` with what its payload says is `editable`. The questions
    left go on waiting. None where `key` was seen before. Raises `NoSuchQuestion`, `AlreadyAnswered`, `BadAnswer`, and
    `HeadMoved` where HEAD is elsewhere.
    """
    thread = heads.locked(thread_id)
    if _is_seen(thread, key):
        return None
    actions.answer(thread_id, checkpoint_id, answers, by=by)
    if thread.head != checkpoint_id:
        raise HeadMoved
    run = _claim(thread, kind="answer", base=checkpoint_id, key=key)
    if run:
        heads.claim(thread_id, head_version=head_version)
        if actions.asked_at(thread_id, checkpoint_id).filter(answer__isnull=True).exists():
            heads.extend(thread_id, run, by=by)
        else:
            heads.log(thread_id, origin=checkpoint_id, target=checkpoint_id, why="answer", by=by, run=run)
    return run


@on_database
@transaction.atomic
def decide_again(
    thread_id: UUID, *, checkpoint_id: str, head_version: int, key: str | None = None, by: Any = None
) -> Run | None:
    """A run, yet to be executed, that asks anew what was asked at this checkpoint: a branch with questions of its own.

    What was answered, and what came of it, stays as it is. None where `key` was seen before. Raises `NoSuchQuestion`,
    and `AnswerFirst` where the question still waits.
    """
    return _decide_again(heads.locked(thread_id), checkpoint_id, head_version=head_version, key=key, by=by)


def _decide_again(thread: Thread, checkpoint_id: str, *, head_version: int, key: str | None, by: Any) -> Run | None:
    asked = actions.asked_at(thread.pk, checkpoint_id)
    if not asked.exists():
        raise NoSuchQuestion
    # From the original, since LangGraph goes on from its newest copy in place, and with the old answers.
    base = index.checkpoint_of(thread.pk, index.checkpoint_of(thread.pk, checkpoint_id).origin_id)
    run = _claim(thread, kind="replay", base=base.checkpoint_id, key=key)
    if run:
        if asked.filter(answer__isnull=True).exists():
            raise AnswerFirst
        heads.move(thread.pk, base, why="replay", head_version=head_version, by=by, run=run)
    return run


def _resume(thread: Thread, *, head_version: int, key: str | None, by: Any) -> Run | None:
    standing = _standing(thread)
    if standing.was_asked and not standing.answer_is_due:
        return _decide_again(thread, thread.head, head_version=head_version, key=key, by=by)
    said, last = standing.pending, standing.last
    # The message is in no checkpoint, not even as an input that waits there: it has to be said again.
    is_unsaid = said and last and last.tip is None
    run = _claim(
        thread,
        # What was answered is not asked again: the steps go on with the same answers, and find what they have done.
        kind="send" if is_unsaid else "answer" if standing.answer_is_due else "resume",
        base=thread.head,
        said=Content(id=said.message_id, kind="human", text=said.text) if said else None,
        key=key,
    )
    if run:
        if not standing.is_open:
            raise NothingToRun
        heads.claim(thread.pk, head_version=head_version)
        heads.extend(thread.pk, run, by=by)
    return run


async def edit(
    engine: Engine,
    thread_id: UUID,
    *,
    message: int,
    text: str,
    head_version: int,
    key: str | None = None,
    by: Any = None,
) -> bool:
    """Say it differently: `text` becomes a sibling of the message, unanswered, and HEAD moves there.

    The old version and all that follows it stay. False, and nothing happens, where the text is the same or `key` was
    seen before. Raises `NoSuchMessage`, `NotEditable`, `NoStart`, `HistoryLost`, and what `send` raises for a text.
    """
    said = said_anew(checked(text))
    await recovery.recover(engine, thread_id)
    return await edit_at_once(engine, thread_id, message=message, said=said, head_version=head_version, key=key, by=by)


@on_database
@transaction.atomic
def edit_at_once(
    engine: Engine,
    thread_id: UUID,
    *,
    message: int,
    said: Content,
    head_version: int,
    key: str | None = None,
    by: Any = None,
) -> bool:
    """`edit`, without what dead runs have left. All of it in one transaction, the checkpoint too: an edit is there
    whole, or not at all."""
    thread = heads.locked(thread_id)
    edited = _message(thread, message)
    base = index.base_of(edited)
    if edited.kind != "human":
        raise NotEditable
    if base is None or base.message_id != edited.parent_id:
        raise NoStart
    if edited.text == said.text:
        return False
    is_whole = assistants.get(thread.assistant).is_functional
    if is_whole:  # no checkpoint can hold what it has not answered: the run that answers it says it
        base = index.checkpoint_of(thread_id, base.parent_id)
    run = _claim(thread, kind="edit", base=base.checkpoint_id, said=said, key=key)
    if run is None:
        return False
    row = base if is_whole else index.record(thread_id, runs.write_edit(engine, run, said), run_id=run.pk)
    leases.end(run, status=Run.Status.DONE, tip=None if is_whole else row.checkpoint_id)
    heads.move(thread_id, row, why="edit", head_version=head_version, by=by, run=run)
    return True


async def fork(
    engine: Engine,
    thread_id: UUID,
    *,
    checkpoint_id: str,
    updates: Sequence[Update],
    head_version: int,
    key: str | None = None,
    by: Any = None,
) -> bool:
    """Change the state at any checkpoint: a branch of its own begins there, nothing runs yet, and HEAD moves to it.

    All `updates` make one checkpoint. False, and nothing happens, where `key` was seen before. Raises
    `NoSuchCheckpoint`, `HistoryLost`, and `BadFork`, which says what is wrong field by field.
    """
    await recovery.recover(engine, thread_id)
    given = {"checkpoint_id": checkpoint_id, "updates": updates, "head_version": head_version, "key": key, "by": by}
    return await fork_at_once(engine, thread_id, **given)


@on_database
@transaction.atomic
def fork_at_once(
    engine: Engine,
    thread_id: UUID,
    *,
    checkpoint_id: str,
    updates: Sequence[Update],
    head_version: int,
    key: str | None = None,
    by: Any = None,
) -> bool:
    """`fork`, without what dead runs have left."""
    thread = heads.locked(thread_id)
    if assistants.get(thread.assistant).is_functional:
        raise NotForkable
    base = index.checkpoint_of(thread_id, checkpoint_id)
    run = _claim(thread, kind="fork", base=base.checkpoint_id, key=key)
    if run is None:
        return False
    row = index.record(thread_id, forks.write(engine, run, updates), run_id=run.pk)
    leases.end(run, status=Run.Status.DONE, tip=row.checkpoint_id)
    heads.move(thread_id, row, why="fork", head_version=head_version, by=by, run=run)
    return True


def _claim(thread: Thread, *, kind: str, base: str | None, key: str | None, said: Content | None = None) -> Run | None:
    """The thread's active run, made now; None where `key` was seen before. Raises `RunInProgress`."""
    if _is_seen(thread, key):
        return None
    leases.refuse_while_running(thread)
    carried = {"id": said.id, "text": said.text} if said else None
    return thread.runs.create(kind=kind, base=base, input=carried, key=key, lease_until=leases.from_now())


def _is_seen(thread: Thread, key: str | None) -> bool:
    return bool(key) and thread.runs.filter(key=key).exists()


def _standing(thread: Thread) -> Standing:
    """How the thread stands. Raises `HeadMoved` where HEAD leads nowhere, which opening the thread puts right."""
    standing = at_head(thread)
    if standing.is_lost:
        raise HeadMoved
    return standing


def said_anew(text: str) -> Content:
    """A human message with an id of its own: one id with two texts would confuse every look-up by id."""
    return Content(id=str(uuid.uuid4()), kind="human", text=text)


def _message(thread: Thread, pk: int) -> Message:
    message = thread.messages.filter(pk=pk).first()
    if message is None:
        raise NoSuchMessage
    return message


def _first_reply(message: Message) -> Message:
    """The reply with which this one's turn begins."""
    if message.kind == "human":
        raise NotReplayable
    while message.parent and message.parent.kind != "human":
        message = message.parent
    return message


def _name(thread: Thread, text: str) -> None:
    if not thread.title:
        Thread.objects.filter(pk=thread.pk).update(title=text.split("\n")[0][:TITLE_MAX].strip())
