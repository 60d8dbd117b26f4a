"""Several versions of one reply at once: as many replays from the same checkpoint, which run beside each other.

The first is a replay like any other, and HEAD goes with it; the others leave HEAD alone, and become versions beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from branching import assistants, commands, leases, recovery, window
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import BadRequest, NoSuchRun, OneAtATime
from branching.models import IndexedCheckpoint, Run, Thread
from branching.types import Version

AT_MOST = 4


@dataclass(frozen=True)
class Attempt:
    """One of several replies."""

    run: Run
    version: Version | None
    """What it has come to, where it has come to a version."""

    @property
    def is_active(self) -> bool:
        """Whether it is still being written."""
        return self.run.status in Run.ACTIVE and not self.run.is_lost


async def begin(engine: Engine, thread_id: UUID, **arguments: Any) -> Sequence[Run]:
    """The runs that `replay` leads to, yet to be executed; what a dead run has left is taken in first."""
    await recovery.recover(engine, thread_id)
    return await replay(thread_id, **arguments)


@on_database
@transaction.atomic
def replay(
    thread_id: UUID, *, message: int, count: int, head_version: int, key: str | None = None, by: Any = None
) -> Sequence[Run]:
    """So many runs, yet to be executed, each of which answers the turn of this reply anew.

    Nothing where `key` was seen before. Raises what `commands.replay` does, and `OneAtATime` where the assistant acts.
    """
    if not 2 <= count <= AT_MOST:
        raise BadRequest
    thread = Thread.objects.get(pk=thread_id)
    if assistants.get(thread.assistant).acts:
        raise OneAtATime
    first = commands.replay.func(thread_id, message=message, head_version=head_version, key=key, by=by)
    if first is None:
        return ()
    same = {"kind": first.kind, "base": first.base, "beside": first}
    return first, *(first.thread.runs.create(**same, lease_until=leases.from_now()) for _ in range(count - 1))


@on_database
def attempts(thread_id: UUID, first: UUID) -> list[Attempt]:
    """The runs that were begun together with this one, itself in front. Raises `NoSuchRun` where there are none."""
    runs = Run.objects.filter(Q(pk=first) | Q(beside=first), thread_id=thread_id).order_by("created_at")
    found = sorted(runs, key=lambda run: run.pk != first)
    if len(found) < 2:
        raise NoSuchRun
    return [Attempt(run, _version(run)) for run in found]


def _version(run: Run) -> Version | None:
    """The last message that it has brought."""
    if run.status in Run.ACTIVE:
        return None
    rows = IndexedCheckpoint.objects.filter(run=run, source__in=("loop", "update"), message__isnull=False)
    row = rows.order_by("-pk").first()
    return window.only.func(run.thread_id, row.message_id) if row else None
