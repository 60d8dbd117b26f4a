"""Threads as a person has them: a list of one's own, to make, rename and delete."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Exists, F, OuterRef

from branching import actions, assistants
from branching.database import on_database
from branching.exceptions import EmptyTitle, InstructionsTooLong, UnknownModel
from branching.limits import INSTRUCTIONS_MAX
from branching.llm import Models
from branching.models import Thread
from branching.types import NOTHING_CHOSEN, Choices
from branching.words import refuse_unstorable

NEWEST = 200
"""How many threads a list has at most. Older ones are found by searching."""

TITLE_MAX = Thread._meta.get_field("title").max_length


@on_database
def create(owner: Any, *, assistant: str) -> Thread:
    """A new, empty thread. Raises `UnknownAssistant`."""
    return Thread.objects.create(owner=owner, assistant=assistants.get(assistant).name)


@on_database
def of(owner: Any, *, archived: bool = False, limit: int = NEWEST) -> list[Thread]:
    """The owner's threads, pinned ones first, then the one last written to. `is_waiting` tells whether a question
    waits in one of its versions. Archived ones are left out, or with `archived` the only ones."""
    asked = actions.open_questions().filter(thread=OuterRef("pk"))
    rows = Thread.objects.filter(owner=owner, is_archived=archived).annotate(is_waiting=Exists(asked))
    return list(rows.order_by("-is_pinned", "-updated_at")[:limit])


@on_database
def find(thread_id: UUID, *, owner: Any) -> Thread | None:
    """The thread if it is there and the owner's; None for one that is missing and for someone else's alike."""
    return Thread.objects.filter(pk=thread_id, owner=owner).first()


@on_database
def numbers(thread_id: UUID) -> tuple[int | None, int | None]:
    """The thread's `revision` and `head_version`; None twice for one that is missing."""
    found = Thread.objects.filter(pk=thread_id).values_list("revision", "head_version").first()
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


def choices(thread: Thread) -> Choices:
    """What was chosen for it; nothing where its assistant takes no choices."""
    return (
        Choices(thread.model, thread.instructions) if assistants.get(thread.assistant).takes_choices else NOTHING_CHOSEN
    )


@on_database
def choose(thread_id: UUID, models: Models, *, model: str, instructions: str) -> None:
    """Let this model answer from now on, told this beforehand. What was said stays as it is.

    Raises `UnknownModel`, `InstructionsTooLong`, `BadText`.
    """
    instructions = instructions.replace("\r\n", "\n").strip()
    if model not in models.names:
        raise UnknownModel
    if len(instructions) > INSTRUCTIONS_MAX:
        raise InstructionsTooLong
    refuse_unstorable(instructions)
    Thread.objects.filter(pk=thread_id).update(model=model, instructions=instructions, revision=F("revision") + 1)


@on_database
def keep(thread_id: UUID, *, pinned: bool | None = None, archived: bool | None = None) -> None:
    """Pin the thread or let go of it; put it away or bring it back. What is put away is not pinned any more."""
    fields = {name: value for name, value in (("is_pinned", pinned), ("is_archived", archived)) if value is not None}
    if archived:
        fields["is_pinned"] = False
    Thread.objects.filter(pk=thread_id).update(**fields)


@on_database
def delete(thread_id: UUID) -> None:
    """Remove the thread with all that belongs to it, its checkpoints too, at once."""
    Thread.objects.filter(pk=thread_id).delete()
