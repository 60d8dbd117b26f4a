"""Threads that play a scenario: the row that says so, written by the model as it is asked, read by whoever watches.

All of it is in the database, so that it outlives a restart and a runner in another process sees it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q

from branching import threads
from branching.database import on_database
from branching.exceptions import BadScenario, OutOfScript
from branching.models import Booking, Play, Run, Thread
from branching.scenarios import reading
from branching.scenarios.form import Reply, Scenario


@dataclass(frozen=True)
class Facts:
    """What the server knows of a thread, whatever a page shows."""

    head: str | None
    running: bool
    held: bool
    """Whether the reply that is being written waits for `release`."""
    checkpoints: int
    bookings: int
    """Those that stand."""
    calls: int = 0
    asked: tuple[str, ...] = ()

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing goes on by itself."""
        return self.held or not self.running


async def begin(owner: Any, source: str, name: str = "scenario.toml") -> Thread:
    """A new thread of the owner's that plays this scenario. Raises `BadScenario`."""
    scenario = reading.read(source, name)
    thread = await threads.create(owner, assistant=scenario.assistant)
    await threads.rename(thread.pk, title=scenario.title)
    await _write_down(thread, source)
    return thread


@on_database
def _write_down(thread: Thread, source: str) -> None:
    Play.objects.create(thread=thread, source=source)


@on_database
def of(thread_id: UUID) -> Play | None:
    """The thread's play; None where it plays none."""
    return Play.objects.filter(pk=thread_id).first()


def scenario_of(play: Play) -> Scenario:
    """What it plays. A row that was written by hand may hold something else: then `BadScenario`."""
    return reading.read(play.source)


@on_database
@transaction.atomic
def ask(thread_id: UUID, replies: Sequence[Reply], said: str, asked: list[str]) -> tuple[int, Reply]:
    """The number of this call of the model, from 1, and the reply that it is given. Raises `OutOfScript`."""
    play = Play.objects.select_for_update().get(pk=thread_id)
    used = [call["reply"] for call in play.calls]
    number = _next(replies, used, said)
    play.calls = [*play.calls, {"reply": number, "asked": asked}]
    play.save(update_fields=["calls"])
    if number is None:
        raise OutOfScript
    return len(play.calls), replies[number]


def _next(replies: Sequence[Reply], used: Sequence[int], said: str) -> int | None:
    """The first reply that is left for these words; else the first that is left for any."""
    left = [at for at, reply in enumerate(replies) if not reply.times or used.count(at) < reply.times]
    fitting = [at for at in left if replies[at].to == said] or [at for at in left if replies[at].to is None]
    return fitting[0] if fitting else None


@on_database
def hold(thread_id: UUID, run_id: UUID | None) -> None:
    """Say that the reply of this run is held."""
    Play.objects.filter(pk=thread_id).update(held_run=run_id)


@on_database
def is_released(thread_id: UUID, call: int) -> bool:
    """Whether a reply that is held may go on."""
    return Play.objects.filter(pk=thread_id, released__gte=call).exists()


@on_database
@transaction.atomic
def release(thread_id: UUID) -> None:
    """Let the reply that is held go on."""
    play = Play.objects.select_for_update().filter(pk=thread_id).first()
    if play is None:
        raise BadScenario("This conversation plays no scenario.")
    Play.objects.filter(pk=thread_id).update(released=len(play.calls), held_run=None)


@on_database
def facts(thread_id: UUID) -> Facts:
    """How things stand."""
    counted = Thread.objects.annotate(count=Count("checkpoints")).get(pk=thread_id)
    play = Play.objects.filter(pk=thread_id).first()
    active = [run for run in Run.objects.filter(thread_id=thread_id, status__in=Run.ACTIVE) if not run.is_lost]
    calls = play.calls if play else []
    return Facts(
        head=counted.head,
        running=bool(active),
        held=play is not None and play.held_run in [run.pk for run in active],
        checkpoints=counted.count,
        bookings=Booking.objects.filter(Q(cancelled_at=None), thread_id=thread_id).count(),
        calls=len(calls),
        asked=tuple(calls[-1]["asked"]) if calls else (),
    )


@on_database
@transaction.atomic
def note(thread_id: UUID, outcome: dict[str, Any]) -> None:
    """Write down what came of a step."""
    play = Play.objects.select_for_update().get(pk=thread_id)
    play.outcomes = [*play.outcomes, outcome]
    play.save(update_fields=["outcomes"])
