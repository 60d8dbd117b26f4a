"""Closes the books of runs that could not do it themselves, since their process died or the database failed them.

Such a run may have saved checkpoints that the index does not know: they are found by the run that they name.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from langchain_core.messages import HumanMessage

from branching import actions, assistants, heads, history, index, leases
from branching.database import on_database
from branching.engine import Engine
from branching.models import IndexedCheckpoint, Message, Run
from branching.types import Checkpoint, Question

log = logging.getLogger(__name__)


async def recover_all(engine: Engine) -> None:
    """Recover every thread, for a process that has just started. One that can't be is left for the next try."""
    for thread_id in await _unsettled_threads():
        try:
            await recover(engine, thread_id)
        except Exception:
            log.exception("What a dead run has saved could not be taken in.", extra={"thread_id": thread_id})


async def recover(engine: Engine, thread_id: UUID) -> bool:
    """Take in what the thread's dead runs have saved, so that nothing of it is lost. Whether there was such a run."""
    async with engine.recovering:
        unsettled = await _unsettled(thread_id)
        for run in unsettled:
            await _settle(engine, run)
    return bool(unsettled)


async def say(engine: Engine, run: Run) -> bool:
    """Put the message that `run` was given into a checkpoint, unanswered, where none holds it yet.

    From then on it is a version like any other, whatever is said next. Whether that was needed and could be done.
    """
    if not run.input or await _is_said(run):
        return False
    here = run.tip or run.base
    if not await can_go_on(engine, run.thread_id, here):
        return False
    if run.tip and assistants.get(run.thread.assistant).is_functional:
        return False  # it waits in that checkpoint, and comes among the messages together with its reply
    is_new = run.kind == "send" and run.tip is None
    given = {"messages": [HumanMessage(run.input["text"], id=run.input["id"])]} if is_new else None
    config = history.config_for(run.thread_id, here, **{history.RUN: str(run.pk)})
    # To stop before any node is to do no more than to take in what was said.
    await engine.graph(run.thread.assistant).ainvoke(given, config, interrupt_before="*", durability="sync")
    return True


async def can_go_on(engine: Engine, thread_id: UUID, checkpoint_id: str | None) -> bool:
    """Whether a run may set out from that checkpoint; with None, as the first of the thread.

    LangGraph does not ask: an unknown id with input would start an empty conversation, and no id at all would go on
    from whatever is newest.
    """
    there = await engine.saver.ahas(thread_id, checkpoint_id)
    return not there if checkpoint_id is None else there


async def _settle(engine: Engine, run: Run) -> None:
    graph = engine.graph(run.thread.assistant)
    if not await _record(run, await history.of_run(graph, run.thread_id, run.pk)):
        return  # another process was faster
    try:
        if await say(engine, run):
            await _record(run, await history.of_run(graph, run.thread_id, run.pk))
    except Exception:
        log.exception("What was said could not be saved.", extra={"thread_id": run.thread_id, "run_id": run.pk})
    else:
        await _end(run, await _questions(engine, run))


async def _questions(engine: Engine, run: Run) -> tuple[Question, ...]:
    """What the graph asks where the run has got to."""
    here, graph = run.tip or run.base, engine.graph(run.thread.assistant)
    if here is None or not await can_go_on(engine, run.thread_id, here):
        return ()
    return (await history.read(graph, history.config_for(run.thread_id, here))).questions


@on_database
def _is_said(run: Run) -> bool:
    return Message.objects.filter(thread=run.thread_id, message_id=run.input["id"]).exists()


@on_database
def _unsettled_threads() -> list[UUID]:
    return list(_left_behind().values_list("thread", flat=True).distinct())


@on_database
@transaction.atomic
def _unsettled(thread_id: UUID) -> list[Run]:
    leases.bury(thread_id)
    return list(_left_behind().filter(thread=thread_id).select_related("thread").order_by("created_at"))


def _left_behind() -> QuerySet[Run]:
    return Run.objects.filter(ended_at=None).exclude(status__in=Run.ACTIVE)


@on_database
@transaction.atomic
def _record(run: Run, saved: Sequence[Checkpoint]) -> bool:
    """Index the checkpoints that are not yet, and move the run's tip along. Whether the run is still to be settled."""
    heads.locked(run.thread_id)
    run.refresh_from_db(fields=["status", "tip", "ended_at"])
    if run.ended_at:
        return False
    known = IndexedCheckpoint.objects.filter(thread=run.thread_id, checkpoint_id__in=[each.id for each in saved])
    known_ids = set(known.values_list("checkpoint_id", flat=True))
    go_on = heads.follow if _takes_head(run) else heads.pass_by
    for checkpoint in saved:
        if checkpoint.id not in known_ids:
            row = index.record(run.thread_id, checkpoint, run_id=run.pk)
            go_on(run, row)
            run.tip = row.checkpoint_id
    Run.objects.filter(pk=run.pk).update(tip=run.tip)
    return True


@on_database
@transaction.atomic
def _end(run: Run, questions: Sequence[Question]) -> None:
    newest = IndexedCheckpoint.objects.filter(run=run).order_by("-id").first()
    is_done = newest is not None and not newest.next
    if questions and not _has_answers(run, questions):
        actions.ask(run, run.tip or run.base, questions)
        leases.end(run, status=Run.Status.WAITING)
    else:
        leases.end(run, status=Run.Status.DONE if is_done else run.status)


def _has_answers(run: Run, questions: Sequence[Question]) -> bool:
    """Whether a person has answered one of them already, which the run was to go on with."""
    asked = actions.asked_at(run.thread_id, run.tip or run.base).filter(answer__isnull=False)
    return asked.filter(task_id__in=[question.task_id for question in questions]).exists()


def _takes_head(run: Run) -> bool:
    """Whether HEAD goes along, as it would have gone with the run: not where that was undone, and not once another
    run has set out since."""
    has_gone = run.moves.filter(undone=True) or Run.objects.filter(thread=run.thread_id, status__in=Run.ACTIVE)
    return not has_gone.exists()
