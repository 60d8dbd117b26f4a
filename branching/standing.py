"""How a thread stands at HEAD: answered, waiting for a reply, or with a message that no checkpoint holds yet."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from branching.models import IndexedCheckpoint, Run, Thread
from branching.types import Pending


@dataclass(frozen=True)
class Standing:
    """What is known at HEAD, from three reads of the index."""

    head: IndexedCheckpoint | None
    last: Run | None
    """The newest run that led to HEAD or set out from it, and has not gone on from there."""
    pending: Pending | None
    """What that run was given to say, as long as no checkpoint holds it."""

    @property
    def is_open(self) -> bool:
        """Whether the graph has something left to do here."""
        return self.pending is not None or bool(self.head and self.head.next and self.head.message_id)

    @property
    def unanswered(self) -> str | None:
        """The text of the human message at the end that has no reply."""
        if self.pending:
            return self.pending.text
        message = self.head.message if self.is_open and self.head else None
        return message.text if message and message.kind == "human" else None


def at_head(thread: Thread) -> Standing:
    """How `thread` stands at the HEAD that this row carries."""
    rows = IndexedCheckpoint.objects.filter(thread=thread, checkpoint_id=thread.head)
    head = rows.select_related("message").first()
    last = _last_run(thread)
    return Standing(head, last, _pending(last, head))


def _last_run(thread: Thread) -> Run | None:
    here = Q(tip=thread.head) | Q(base=thread.head) if thread.head else Q(base=None)
    run = thread.runs.filter(here).order_by("-created_at").first()
    return run if run and (run.tip or run.base) == thread.head else None


def _pending(last: Run | None, head: IndexedCheckpoint | None) -> Pending | None:
    if last is None or not last.input or last.status == Run.Status.DONE:
        return None
    landed = head and head.message and head.message.message_id == last.input["id"]
    return None if landed else Pending(message_id=last.input["id"], text=last.input["text"])
