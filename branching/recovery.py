"""Closes the books of runs that could not do it themselves, since their process died or the database failed them.

Such a run may have saved checkpoints that the index does not know: they are found by the run that they name.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from branching import heads, history, index, leases
from branching.database import on_database
from branching.engine import Engine
from branching.models import IndexedCheckpoint, Run
from branching.types import Checkpoint

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
    unsettled = await _unsettled(thread_id)
    for run in unsettled:
        await _settle(run, await history.of_run(engine.graph(run.thread.assistant), thread_id, run.pk))
    return bool(unsettled)


@on_database
def _unsettled_threads() -> list[UUID]:
    return list(_left_behind().values_list("thread", flat=True).distinct())


@on_database
@transaction.atomic
def _unsettled(thread_id: UUID) -> list[Run]:
    leases.bury(thread_id)
    return list(_left_behind().filter(thread=thread_id).select_related("thread").order_by("created_at"))


def _left_behind() -> QuerySet[Run]:
    return Run.objects.filter(ended_at=None, thread__deleting=False).exclude(status__in=Run.ACTIVE)


@on_database
@transaction.atomic
def _settle(run: Run, saved: Sequence[Checkpoint]) -> None:
    heads.locked(run.thread_id)
    run.refresh_from_db(fields=["status", "tip", "ended_at"])
    if run.ended_at:
        return  # another tab was faster
    known = IndexedCheckpoint.objects.filter(thread=run.thread_id, checkpoint_id__in=[each.id for each in saved])
    known_ids = set(known.values_list("checkpoint_id", flat=True))
    go_on = heads.follow if _takes_head(run) else heads.pass_by
    for checkpoint in saved:
        if checkpoint.id not in known_ids:
            row = index.record(run.thread_id, checkpoint, run_id=run.pk)
            go_on(run, row)
            run.tip = row.checkpoint_id
    is_done = bool(saved) and (run.kind == "edit" or not saved[-1].next)
    leases.end(run, status=Run.Status.DONE if is_done else run.status, tip=run.tip)


def _takes_head(run: Run) -> bool:
    """Whether HEAD goes along, as it would have gone with the run: not once another run has set out since."""
    return run.kind != "edit" and not Run.objects.filter(thread=run.thread_id, status__in=Run.ACTIVE).exists()
