"""Several versions of one reply at once: as many replays from the same checkpoint, which run beside each other.

The first is a replay like any other, and HEAD goes with it; the others leave HEAD alone, and become versions beside it.
Where the first comes to nothing, HEAD goes to another once all have ended: see `heads.fall_back`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from branching import assistants, commands, heads, index, leases, recovery, window
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import BadRequest, NoSuchRun, NothingToRun, OneAtATime
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

    @property
    def is_resumable(self) -> bool:
        """Whether it was cut short, so that one can go on from where it was."""
        is_cut_short = self.run.is_lost or self.run.status in (Run.Status.FAILED, Run.Status.STOPPED)
        return is_cut_short and self.version is None and self.run.tip is not None


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
@transaction.atomic
def go_on(thread_id: UUID, *, run: UUID, head_version: int, key: str | None = None, by: Any = None) -> Run | None:
    """A run, yet to be executed, that goes on where this one was cut short; HEAD goes there.

    None where `key` was seen before. Raises `NoSuchRun`, `RunInProgress` while others are being written, and
    `NothingToRun` where nothing is left of it, or it has its reply.
    """
    thread = heads.locked(thread_id)
    found = thread.runs.filter(pk=run).first()
    if found is None:
        raise NoSuchRun
    if key and thread.runs.filter(key=key).exists():
        return None
    leases.refuse_while_running(thread)
    if not Attempt(found, _version(found)).is_resumable:
        raise NothingToRun
    if thread.head != found.tip:
        row = index.checkpoint_of(thread_id, found.tip)
        heads.move(thread_id, row, why="switch", head_version=head_version, by=by)
        head_version += 1
    return commands.resume.func(thread_id, head_version=head_version, key=key, by=by)


@on_database
def attempts(thread_id: UUID, first: UUID) -> list[Attempt]:
    """The runs that were begun together with this one, itself in front. Raises `NoSuchRun` where there are none."""
    runs = Run.objects.filter(Q(pk=first) | Q(beside=first), thread_id=thread_id).order_by("created_at")
    found = sorted(runs, key=lambda run: run.pk != first)
    if len(found) < 2:
        raise NoSuchRun
    return [Attempt(run, _version(run)) for run in found]


def _version(run: Run) -> Version | None:
    """The last message that it has brought, or that came where it was gone on with."""
    if run.status in Run.ACTIVE:
        return None
    # What waits in a base to be said is brought by the run too, but is no reply.
    rows = IndexedCheckpoint.objects.filter(run=run, source__in=("loop", "update"), message__isnull=False)
    row = rows.exclude(message__kind="human").order_by("-pk").first()
    if row:
        return window.only.func(run.thread_id, row.message_id)
    later = Run.objects.filter(thread=run.thread_id, base=run.tip, kind="resume") if run.tip else Run.objects.none()
    # A run sets out from what is older than it, so this comes to an end.
    newest = later.filter(created_at__gt=run.created_at).order_by("-created_at").first()
    return _version(newest) if newest else None
