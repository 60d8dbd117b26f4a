"""What assistants do to the world and what they ask before: kept in rows, outside every checkpoint.

Each row is one step of a graph on one branch (`models.Action`). A question belongs to the checkpoint that carries it,
and so does its answer. What a step does, it does through `carry_out`, which lets it act once, and only where a person
has said yes on its own branch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils import timezone

from branching import heads
from branching.database import on_database
from branching.exceptions import AlreadyAnswered, BadAnswer, NoSuchQuestion, NotApproved
from branching.limits import MESSAGE_MAX
from branching.models import Action, IndexedCheckpoint, Run
from branching.types import ActionState, Asked, Question

APPROVALS = ("approve", "edit")

DECLINED = "Declined: the person said something else instead of answering."
"""What the model is told of a question that a new message has closed."""


@dataclass(frozen=True)
class Step:
    """Where a step of a graph stands: what LangGraph tells the node that runs it."""

    thread_id: UUID
    checkpoint_id: str
    task_id: str
    node: str
    run_id: UUID | None


@on_database
@transaction.atomic
def enter(step: Step, *, name: str, call_id: str, arguments: Mapping[str, Any]) -> Action:
    """The row of this step, which now runs once more. Raises `NoSuchThread`."""
    heads.locked(step.thread_id)
    row, _made = Action.objects.get_or_create(
        thread_id=step.thread_id,
        checkpoint_id=step.checkpoint_id,
        task_id=step.task_id,
        defaults={"node": step.node, "name": name, "call_id": call_id, "arguments": dict(arguments)},
    )
    Action.objects.filter(pk=row.pk).update(times=F("times") + 1, run=step.run_id)
    return row


@on_database
@transaction.atomic
def carry_out(action: Action, act: Callable[[Action], str]) -> str:
    """What `act`, which changes the database, says of it. Raises `NotApproved` where no person has said yes here.

    A step that runs again after a crash, or at another try, gets what was said the first time, and nothing is done.
    """
    row = Action.objects.select_for_update().get(pk=action.pk)
    if not is_approved(row):
        raise NotApproved
    if not row.result:
        row.result = act(row)
        row.save(update_fields=["result"])
    return row.result


def is_approved(action: Action) -> bool:
    """Whether a person has said yes to it, as it was or with changes."""
    return (action.answer or {}).get("type") in APPROVALS


def is_done(action: Action) -> bool:
    """Whether the step has done what a person let it do, when it ran before."""
    return bool(action.result) and is_approved(action)


@on_database
def note(action: Action, result: str) -> None:
    """Write down what the tool has said of it."""
    Action.objects.filter(pk=action.pk).update(result=result)


def ask(run: Run, checkpoint_id: str, questions: Iterable[Question]) -> None:
    """Write down what waits for an answer at this checkpoint. Inside a transaction."""
    for question in questions:
        asked = {
            "node": question.node,
            "interrupt_id": question.interrupt_id,
            "payload": _plain(question.payload),
            # A step may ask more than once, one question after the other.
            "answer": None,
        }
        Action.objects.update_or_create(
            thread_id=run.thread_id,
            checkpoint_id=checkpoint_id,
            task_id=question.task_id,
            defaults=asked,
            create_defaults={**asked, "run": run},
        )


def _plain(payload: Any) -> dict[str, Any]:
    """The payload as JSON; one that is no object becomes the `value` of one."""
    plain = json.loads(json.dumps(payload, default=str))
    return plain if isinstance(plain, dict) else {"value": plain}


def asked_at(thread_id: UUID, checkpoint_id: str | None) -> QuerySet[Action]:
    """The questions of this checkpoint, answered or not, in the order of their steps."""
    return Action.objects.filter(thread_id=thread_id, checkpoint_id=checkpoint_id, payload__isnull=False).order_by("id")


def open_questions() -> QuerySet[Action]:
    """All questions that wait for an answer, where the checkpoint that asked is still there, and no deleted one's."""
    known = IndexedCheckpoint.objects.filter(thread=OuterRef("thread"), checkpoint_id=OuterRef("checkpoint_id"))
    known = known.filter(message__deletion=None)
    return Action.objects.filter(Exists(known), payload__isnull=False, answer__isnull=True)


def asked(row: Action) -> Asked:
    """The question of a row that has one."""
    answer = row.answer or {}
    return Asked(
        interrupt_id=row.interrupt_id,
        checkpoint_id=row.checkpoint_id,
        call_id=row.call_id,
        payload=row.payload,
        state=state_of(row),
        reason=answer.get("reason", ""),
        edits=answer.get("arguments", {}),
    )


def state_of(row: Action) -> ActionState:
    """How far it has come with what a step wants to do."""
    if row.answer is None:
        return "waiting" if row.payload is not None else "unasked"
    if row.answer.get("unanswered"):
        return "declined"
    if not is_approved(row):
        return "rejected"
    return "done" if row.result else "approved"


@on_database
def answers_at(thread_id: UUID, checkpoint_id: str | None) -> dict[str, Any]:
    """The answers that were given at this checkpoint, by the ids of their questions: what its steps go on with."""
    rows = asked_at(thread_id, checkpoint_id)
    return {row.interrupt_id: row.answer for row in rows if row.answer and not row.answer.get("unanswered")}


def answer(thread_id: UUID, checkpoint_id: str, answers: Mapping[str, Any], *, by: Any) -> None:
    """Write down the answers to these questions of this checkpoint, all or none. Inside a transaction.

    Raises `NoSuchQuestion`, `AlreadyAnswered`, `BadAnswer`.
    """
    rows = {row.interrupt_id: row for row in asked_at(thread_id, checkpoint_id).select_for_update()}
    if not answers or not answers.keys() <= rows.keys():
        raise NoSuchQuestion
    if any(rows[name].answer is not None for name in answers):
        raise AlreadyAnswered
    for name, given in answers.items():
        _write(rows[name], _cleaned(given, rows[name].payload), by=by)


def decline(thread_id: UUID, checkpoint_id: str, *, by: Any) -> None:
    """Answer what waits at this checkpoint with a no, since the person has said something else."""
    for row in asked_at(thread_id, checkpoint_id).filter(answer__isnull=True):
        _write(row, {"type": "reject", "reason": "", "unanswered": True}, by=by)


def _write(row: Action, given: dict[str, Any], *, by: Any) -> None:
    row.answer, row.answered_by, row.answered_at = given, by, timezone.now()
    row.save(update_fields=["answer", "answered_by", "answered_at"])


def _cleaned(given: Any, payload: Mapping[str, Any]) -> dict[str, Any]:
    """The answer as the step will get it. Raises `BadAnswer`."""
    kind = given.get("type") if isinstance(given, Mapping) else None
    if kind == "approve":
        return {"type": "approve"}
    if kind == "reject":
        return {"type": "reject", "reason": _text(given.get("reason") or "").strip()}
    if kind == "edit":
        return {"type": "edit", "arguments": _arguments(given.get("arguments"), payload.get("editable") or ())}
    raise BadAnswer


def _arguments(given: Any, editable: Sequence[str]) -> dict[str, Any]:
    if not isinstance(given, Mapping) or not given or not set(given) <= set(editable):
        raise BadAnswer
    return {name: value if isinstance(value, int | float) else _text(value) for name, value in given.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MESSAGE_MAX:
        raise BadAnswer
    # As for messages: no database takes NUL, and a lone surrogate has no UTF-8.
    return value.replace("\0", "").encode("utf-8", "ignore").decode()


def outcomes(thread_id: UUID, checkpoint_id: str) -> dict[str, str]:
    """What is known of the tool calls that were under way here, by their ids: their result, or that they were
    declined."""
    rows = Action.objects.filter(thread_id=thread_id, checkpoint_id=checkpoint_id).exclude(call_id="")
    known = {row.call_id: row.result or (DECLINED if _was_left(row) else "") for row in rows}
    return {call: text for call, text in known.items() if text}


def _was_left(row: Action) -> bool:
    return row.payload is not None and (row.answer is None or bool(row.answer.get("unanswered")))
