"""How a thread stands at HEAD: answered, waiting for a reply, or with a message that no checkpoint holds yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, Subquery

from branching import actions, index
from branching.models import HeadMove, IndexedCheckpoint, Run, Thread
from branching.types import Asked, Pending

# How runs end that have not done what they set out to do.
CUT_SHORT = (Run.Status.FAILED, Run.Status.LOST, Run.Status.STOPPED)


@dataclass(frozen=True)
class Standing:
    """What is known at HEAD, from a few reads of the index."""

    head: IndexedCheckpoint | None
    last: Run | None
    """The newest run that led to HEAD or set out from it, and has not gone on from there."""
    pending: Pending | None
    """What that run was given to say, as long as no checkpoint holds it."""

    is_lost: bool
    """Whether HEAD leads nowhere: to no checkpoint of this thread, or to none at all though there are some."""
    questions: tuple[Asked, ...] = ()
    """What was asked at HEAD, answered or not."""

    @property
    def was_asked(self) -> bool:
        """Whether HEAD carries a question, answered or not."""
        return bool(self.questions)

    @property
    def is_waiting(self) -> bool:
        """Whether a question at HEAD has no answer."""
        return any(each.state == "waiting" for each in self.questions)

    @property
    def answer_is_due(self) -> bool:
        """Whether what was answered here has not come about: the run that was to see to it failed or died."""
        return self.last is not None and self.last.kind == "answer" and self.last.status in CUT_SHORT

    @property
    def is_open(self) -> bool:
        """Whether the graph has something left to do here."""
        return self.pending is not None or bool(self.head and self.head.message_id and _is_under_way(self.head))

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
    is_lost = head is None and (thread.head is not None or thread.checkpoints.exists())
    asked = actions.asked_at(thread.pk, thread.head) if head and _is_under_way(head) else ()
    return Standing(head, last, _pending(last, head), is_lost, tuple(map(actions.asked, asked)))


def _last_run(thread: Thread) -> Run | None:
    # What was undone is not what one sees here, even where HEAD can go no further back than this.
    undone = HeadMove.objects.filter(run=OuterRef("pk"), undone=True)
    runs = thread.runs.filter(~Exists(undone)).order_by("-created_at")
    # Those that were begun beside another leave HEAD to that one.
    based = Q(pk=Subquery(runs.filter(base=thread.head, beside=None).values("pk")[:1]))
    ended = Q(pk=Subquery(runs.filter(tip=thread.head).values("pk")[:1])) if thread.head else Q()
    run = Run.objects.filter(based | ended).order_by("-created_at").first()
    return run if run and (run.tip or run.base) == thread.head else None


def _pending(last: Run | None, head: IndexedCheckpoint | None) -> Pending | None:
    """What was said, until the first step has put it among the messages."""
    if last and last.tip is None and last.input:
        return _said(last.input)
    if last is None or head is None or head.next != [index.START]:
        return None
    if last.input and last.kind != "edit":
        return _said(last.input)
    # Where such a checkpoint is replayed, what waits in it is what its first run was given.
    return waiting_in(head)


def waiting_in(row: IndexedCheckpoint) -> Pending | None:
    """The message that waits in this checkpoint for the first step to take it in."""
    if row.next != [index.START]:
        return None
    first = Run.objects.filter(thread=row.thread_id, checkpoints__checkpoint_id=row.origin_id).first()
    return _said(first.input) if first and first.input else None


def _said(given: dict[str, Any]) -> Pending:
    return Pending(message_id=given["id"], text=given["text"])


def _is_under_way(head: IndexedCheckpoint) -> bool:
    """Whether a step comes next that is not merely taking in what was said."""
    return head.next not in ([], [index.START])
