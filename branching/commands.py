"""What a person can ask of a thread that ends in a checkpoint: send, replay, edit, resume, answer, ...

Each claims the thread before LangGraph is touched (`claims.py`); `runs.py` then executes the run. An edit runs no node
of the graph: it is done here, in the same transaction. What one does by hand at any checkpoint is in `travel.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from uuid import UUID

from django.db import transaction

from branching import actions, assistants, heads, index, leases, recovery, runs, travel
from branching.claims import claim, is_seen
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import (
    AnswerFirst,
    HeadMoved,
    NoStart,
    NoSuchMessage,
    NoSuchQuestion,
    NotEditable,
    NothingToRun,
    NotReplayable,
)
from branching.models import Message, Run, Thread
from branching.saying import close_calls, name, said_anew
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
    if command in (send, travel.replay_from, travel.send_from):
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
    run = claim(thread, kind="send", base=thread.head, said=said_anew(text), key=key)
    if run:
        if closed := close_calls(engine, run, by=by):
            heads.move(thread_id, closed, why="send", head_version=head_version, by=by, run=run)
        else:
            heads.claim(thread_id, head_version=head_version)
            heads.log(thread_id, origin=thread.head, target=thread.head, why="send", by=by, run=run)
        name(thread, text)
    return run


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
    run = claim(thread, kind="replay", base=base.checkpoint_id, key=key)
    if run:
        heads.move(thread_id, base, why="replay", head_version=head_version, by=by, run=run)
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
    if is_seen(thread, key):
        return None
    actions.answer(thread_id, checkpoint_id, answers, by=by)
    if thread.head != checkpoint_id:
        raise HeadMoved
    run = claim(thread, kind="answer", base=checkpoint_id, key=key)
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
    run = claim(thread, kind="replay", base=base.checkpoint_id, key=key)
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
    run = claim(
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
    run = claim(thread, kind="edit", base=base.checkpoint_id, said=said, key=key)
    if run is None:
        return False
    row = base if is_whole else index.record(thread_id, runs.write_edit(engine, run, said), run_id=run.pk)
    leases.end(run, status=Run.Status.DONE, tip=None if is_whole else row.checkpoint_id)
    heads.move(thread_id, row, why="edit", head_version=head_version, by=by, run=run)
    return True


def _standing(thread: Thread) -> Standing:
    """How the thread stands. Raises `HeadMoved` where HEAD leads nowhere, which opening the thread puts right."""
    standing = at_head(thread)
    if standing.is_lost:
        raise HeadMoved
    return standing


def _message(thread: Thread, pk: int) -> Message:
    message = thread.messages.filter(pk=pk, deletion=None).first()
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
