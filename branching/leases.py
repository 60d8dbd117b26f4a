"""Who is alive: a run holds a lease that its process renews, and one whose lease has run out is lost."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from branching import heads
from branching.database import on_database
from branching.exceptions import RunInProgress
from branching.limits import LEASE
from branching.models import Run, Thread


def from_now() -> datetime:
    """Until when a lease taken or renewed now holds."""
    return timezone.now() + LEASE


@on_database
def renew(run_ids: Iterable[UUID]) -> None:
    """Say that these runs are alive."""
    Run.objects.filter(pk__in=list(run_ids), status__in=Run.ACTIVE).update(lease_until=from_now())


def bury(thread_id: UUID) -> None:
    """Mark the thread's run as lost if its process has died, so that another can start. `recovery` does the rest."""
    dead = Run.objects.filter(thread_id=thread_id, status__in=Run.ACTIVE, lease_until__lt=timezone.now())
    if dead.update(status=Run.Status.LOST):
        Thread.objects.filter(pk=thread_id).update(revision=F("revision") + 1)


def refuse_while_running(thread: Thread) -> None:
    """Raises `RunInProgress` while a run is under way on the thread, whose row is held; a dead one is buried."""
    bury(thread.pk)
    if thread.runs.filter(status__in=Run.ACTIVE).exists():
        raise RunInProgress


@on_database
def is_active(thread_id: UUID) -> bool:
    """Whether a run is under way on the thread."""
    return Run.objects.filter(thread_id=thread_id, status__in=Run.ACTIVE, lease_until__gte=timezone.now()).exists()


@on_database
def bury_all() -> int:
    """Mark all active runs as lost, for a process that knows itself to be the only one. How many that were."""
    threads = Run.objects.filter(status__in=Run.ACTIVE).values_list("thread", flat=True)
    Run.objects.filter(status__in=Run.ACTIVE).update(lease_until=timezone.now() - LEASE)
    for thread_id in (dead := list(threads)):
        bury(thread_id)
    return len(dead)


@transaction.atomic
def end(run: Run, *, status: str, is_settled: bool = True, **fields: Any) -> None:
    """Write down how `run` ended, and that the thread looks different now.

    A run that is not settled may have saved checkpoints that the index does not know; it has no `ended_at`, by which
    `recovery` finds it.
    """
    ended = timezone.now() if is_settled else None
    was_there = Run.objects.filter(pk=run.pk).update(status=status, ended_at=ended, **fields)
    Thread.objects.filter(pk=run.thread_id).update(revision=F("revision") + 1)
    if was_there and is_settled:  # not deleted with its thread meanwhile, and all that it has saved is known
        heads.fall_back(run)


@on_database
@transaction.atomic
def lose(run: Run) -> None:
    """Give the thread free where `run` was cut short, so that nobody knows what it has saved; not if it has ended."""
    if Run.objects.filter(pk=run.pk, status__in=Run.ACTIVE).exists():
        end(run, status=Run.Status.LOST, is_settled=False)
