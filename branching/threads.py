"""Threads as a person has them: a list of one's own, to make, rename and delete."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import F
from django.utils import timezone

from branching import assistants
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import EmptyTitle
from branching.models import Thread

TITLE_MAX = Thread._meta.get_field("title").max_length


@on_database
def create(owner: Any, *, assistant: str) -> Thread:
    """A new, empty thread. Raises `UnknownAssistant`."""
    return Thread.objects.create(owner=owner, assistant=assistants.get(assistant).name)


@on_database
def of(owner: Any) -> list[Thread]:
    """The owner's threads, the one last written to first."""
    return list(Thread.objects.filter(owner=owner, deleting=False).order_by("-updated_at"))


@on_database
def find(thread_id: UUID, *, owner: Any) -> Thread | None:
    """The thread if it is there and the owner's; None for one that is missing and for someone else's alike."""
    return Thread.objects.filter(pk=thread_id, owner=owner, deleting=False).first()


@on_database
def numbers(thread_id: UUID) -> tuple[int | None, int | None]:
    """The thread's `revision` and `head_version`; None twice for one that is missing."""
    found = Thread.objects.filter(pk=thread_id, deleting=False).values_list("revision", "head_version").first()
    return found or (None, None)


@on_database
def rename(thread_id: UUID, *, title: str) -> None:
    """Give the thread this title, cut to the length that fits. Raises `EmptyTitle`."""
    # NUL, and halves of characters, no database takes.
    title = title.replace("\0", "").encode(errors="ignore").decode()
    title = " ".join(title.split())[:TITLE_MAX]
    if not title:
        raise EmptyTitle
    Thread.objects.filter(pk=thread_id).update(title=title, revision=F("revision") + 1)


async def delete(engine: Engine, thread_id: UUID) -> None:
    """Remove the thread and all its checkpoints.

    The row is marked first and goes last: a crash in between leaves a mark by which `finish_deletions` finds it.
    """
    await _hide(thread_id)
    await engine.saver.adelete_thread(str(thread_id))
    await _drop(thread_id)


async def finish_deletions(engine: Engine) -> int:
    """Delete what an earlier deletion left half done. How many threads that were."""
    left = await _half_deleted()
    for thread_id in left:
        await delete(engine, thread_id)
    return len(left)


@on_database
def _hide(thread_id: UUID) -> None:
    Thread.objects.filter(pk=thread_id).update(deleting=True, updated_at=timezone.now())


@on_database
def _drop(thread_id: UUID) -> None:
    Thread.objects.filter(pk=thread_id).delete()


@on_database
def _half_deleted() -> list[UUID]:
    return list(Thread.objects.filter(deleting=True).values_list("pk", flat=True))
