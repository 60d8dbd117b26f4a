"""The values that pass between the parts: checkpoints, versions, turns, views and the events of a run.

Plain frozen dataclasses; nothing here knows Django or LangGraph.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Literal
from uuid import UUID

Kind = Literal["human", "ai", "tool"]
Source = Literal["input", "loop", "update", "fork"]
VersionState = Literal["done", "streaming", "stopped", "failed", "waiting"]
ActionState = Literal["unasked", "waiting", "declined", "rejected", "approved", "done"]
"""Declined by a message that was sent instead of an answer; approved, but its result is not known (yet)."""
RunState = Literal["idle", "running", "waiting", "failed"]
ReplyState = Literal["streaming", "failed", "stopped", "lost", "missing", "waiting", "answered"]


@dataclass(frozen=True)
class Content:
    """One message as the graph's state holds it."""

    id: str
    kind: Kind
    text: str
    data: Mapping[str, Any] = field(default_factory=dict)
    """What else belongs to its identity or its display: content blocks, name, tool calls, `stopped`, `model`;
    `left_out`, the number of messages that the model was not given to read; `settings`, what the `Choices` of then have
    noted; and what contents.py finds: `reasoning`, `parts`, `usage`."""


@dataclass(frozen=True)
class Question:
    """What a step of the graph asks before it goes on, as LangGraph keeps it."""

    task_id: str
    node: str
    interrupt_id: str
    payload: Any


@dataclass(frozen=True)
class Asked:
    """A question that an assistant has asked a person, and the answer where there is one."""

    interrupt_id: str
    """Answers name the question by it."""
    checkpoint_id: str
    """The checkpoint that asked, to which an answer is bound."""
    call_id: str
    """The tool call that it is about; empty where it is about none."""
    payload: Mapping[str, Any]
    state: ActionState = "waiting"
    reason: str = ""
    """What the person said to their no."""
    edits: Mapping[str, Any] = field(default_factory=dict)
    """What they changed with their yes."""


@dataclass(frozen=True)
class ToolStep:
    """A tool call of an assistant, and what has come of it."""

    name: str
    arguments: Mapping[str, Any]
    result: str = ""
    """What the tool has said; empty where it has not ended."""
    failed: bool = False
    """Whether that tells why it was not done."""
    seconds: float | None = None
    """How long it took, unless a person was asked meanwhile."""
    asked: Asked | None = None
    """The question that it asked first."""


@dataclass(frozen=True)
class Checkpoint:
    """One saved state of a thread: who it grew from, what runs next, and all messages in it."""

    id: str
    parent_id: str | None
    source: Source
    step: int
    next: tuple[str, ...]
    messages: tuple[Content, ...]
    created_at: datetime | None = None
    questions: tuple[Question, ...] = field(default=(), compare=False)
    """What waits for an answer here. It comes after the checkpoint, and is no part of what that is."""


@dataclass(frozen=True)
class ListedCheckpoint:
    """One line in the list of all checkpoints: what happened, not what the state was."""

    id: str
    parent_id: str | None
    origin_id: str
    """Itself, or for a fork copy the checkpoint that LangGraph copied."""
    source: Source
    step: int
    next: list[str]
    run_id: UUID | None
    run_kind: str | None
    message: int | None
    """The pk of the message it ends in; None where it holds none."""
    kind: Kind | None
    depth: int | None
    """How many messages it holds."""
    gist: str | None
    """How that message begins."""
    call: str | None
    """The tool that it calls first."""
    by: str | None
    """The name of the person whose command caused it."""
    is_head: bool
    on_path: bool
    """Whether HEAD grew from it, or is it: whether it belongs to what is shown."""
    is_tip: bool
    """Whether nothing has grown from it."""
    is_waiting: bool
    """Whether a question waits for an answer here."""
    has_failed: bool
    """Whether a run failed after it."""
    is_deleted: bool
    """Whether it belongs to a version that was deleted, and can be brought back."""
    size: int
    """The bytes of its own in the store, and of what tasks wrote after it: not of the messages, which it shares."""
    created_at: datetime
    folded: int = 0
    """How many checkpoints before it a list by turns has folded into it."""

    @property
    def short(self) -> str:
        """The end of its id, which tells it from others; they all begin alike."""
        return self.id[-8:]

    @property
    def short_parent(self) -> str:
        return (self.parent_id or "")[-8:]


@dataclass(frozen=True)
class Version:
    """One message on screen, as one of its siblings: "2 / 3" is `position` 2 of `total` 3."""

    pk: int
    """The Message row; URLs and the arrows name versions by it."""
    parent: int | None
    """The pk of the message before it."""
    depth: int
    """Its place in the transcript, from 1."""
    message_id: str
    kind: Kind
    text: str
    state: VersionState
    position: int
    total: int
    previous: int | None
    """The pk of the sibling on the left, if there is one."""
    next: int | None
    checkpoint_id: str
    """The checkpoint this version ends in: what a link to it points to. Empty where several messages came in one
    step: then only the last of them has one."""
    created_at: datetime
    data: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    """What a person calls it."""
    is_continued: bool = False
    """Whether it goes on with a turn that an earlier message has begun."""
    step: ToolStep | None = None
    """Of a tool's result: the call that it belongs to."""

    @property
    def has_siblings(self) -> bool:
        return self.total > 1


@dataclass(frozen=True)
class Pending:
    """A human message that a run has taken on but no checkpoint holds yet."""

    message_id: str
    text: str


@dataclass(frozen=True)
class OpenReply:
    """The place under the last message where a reply is being written, failed, or is still missing.

    It is no version. Where finished replies exist beside it, it stands after them in the count, so that the
    arrows lead back to them. It is `waiting` while a question here has no answer, and `answered` where one has come
    back to a question that was answered: what came of that is another version, and one can decide again.
    """

    state: ReplyState
    position: int
    total: int
    previous: int | None
    run_id: UUID | None = None
    text: str = ""
    """What was written before it failed; the live text of a running reply comes from the runner."""
    error: str = ""
    """A code of `failures.py`; empty unless `state` is failed."""
    steps: tuple[ToolStep, ...] = ()
    """The tool calls that have no result yet."""
    is_continued: bool = False
    """Whether it goes on with a turn that has begun."""

    @property
    def has_siblings(self) -> bool:
        return self.total > 1


@dataclass(frozen=True)
class Stretch:
    """Messages of a transcript that follow each other, and where it goes on."""

    versions: tuple[Version, ...]
    above: int | None
    """The pk of the message before them, if there is one."""
    below: int | None
    """The pk of the last of them, where something between them and what the page shows is missing."""


@dataclass(frozen=True)
class ActiveRun:
    """The run that is under way on a thread, whether or not the page shows its branch."""

    id: UUID
    kind: str
    on_branch: bool
    """True where HEAD follows it; otherwise its reply belongs to a version that is not shown."""
    tip: str | None
    """Its newest checkpoint, for "show it"."""
    company: UUID | None = None
    """Of several that were begun together the id of the first."""


@dataclass(frozen=True)
class Choices:
    """What a person has chosen for a thread, where its assistant takes choices."""

    model: str = ""
    """The name of a model as it is configured; empty, the first one."""
    instructions: str = ""
    """What the model is told before the conversation."""

    @property
    def noted(self) -> dict[str, str]:
        """What a reply notes of it."""
        found = {"model": self.model, "instructions": self.instructions}
        return {name: text for name, text in found.items() if text}


NOTHING_CHOSEN = Choices()


@dataclass(frozen=True)
class ThreadView:
    """All that a thread's page shows, read from the index alone."""

    id: UUID
    title: str
    assistant: str
    head: str | None
    head_version: int
    """Every command carries it back; a command drawn with an older one is refused."""
    revision: int
    """Grows with each visible change, so that a late fragment never replaces a newer one."""
    choices: Choices
    run_state: RunState
    versions: tuple[Version, ...]
    """The messages at the end of the transcript, top to bottom; see `above`."""
    length: int
    """How many messages the whole transcript has."""
    pending: Pending | None
    open_reply: OpenReply | None
    run: ActiveRun | None
    can_undo: bool
    later: int | None
    """The pk of a version that continues after HEAD (one came back here by Undo), else None."""
    ready: str | None
    """The checkpoint of a reply that was finished while another version was shown, until one has seen it."""
    notice: str = ""
    """A code for the page's notice, `head-repaired` for one; empty most of the time."""
    questions: tuple[Asked, ...] = ()
    """What was asked at HEAD, in the order of the steps."""
    asked_elsewhere: str | None = None
    """A checkpoint that is not HEAD and whose question waits for an answer."""
    left_standing: int = 0
    """How many bookings stand that were made on versions that are not shown."""

    @property
    def waiting(self) -> tuple[Asked, ...]:
        """The questions at HEAD that have no answer."""
        return tuple(each for each in self.questions if each.state == "waiting")

    @property
    def is_empty(self) -> bool:
        return not self.versions and self.pending is None

    @property
    def above(self) -> int | None:
        """The pk of the message above those that are shown, if there is one."""
        return self.versions[0].parent if self.versions else None

    @property
    def pending_slot(self) -> int:
        """The place of the pending message, counted as the depth of messages is."""
        return self.length + 1

    @property
    def open_slot(self) -> int:
        """The place of the open reply."""
        return self.length + (2 if self.pending else 1)

    @property
    def places(self) -> int:
        """How many places the whole transcript has, with those of what is pending or open."""
        return self.length + bool(self.pending) + bool(self.open_reply)


@dataclass(frozen=True)
class BookingLine:
    """A booking, as it stands now."""

    order: str
    hotel_id: str
    room: str
    check_in: date
    nights: int
    total: int
    currency: str
    is_cancelled: bool


@dataclass(frozen=True)
class LedgerLine:
    """One thing that an assistant did or wanted to do, on one branch."""

    id: int
    name: str
    """The tool."""
    arguments: Mapping[str, Any]
    payload: Mapping[str, Any] | None
    """The question; None where it came to none."""
    state: ActionState
    reason: str
    """What the person said to their no."""
    edits: Mapping[str, Any]
    """What they changed with their yes."""
    result: str
    """What the tool has said, as JSON; empty where that is not known."""
    node: str
    times: int
    """How often the node has run for it."""
    run_id: UUID | None
    checkpoint_id: str
    """The checkpoint that asked: it tells the branch, and one decides again there."""
    call_id: str
    interrupt_id: str
    on_branch: bool
    """Whether it belongs to the version that is shown."""
    message: int | None
    """The pk of the message that a switch leads to, to see it: its result, or the call that waits."""
    booking: BookingLine | None
    """The booking that it made or cancelled."""
    created_at: datetime
    answered_at: datetime | None


@dataclass(frozen=True)
class Token:
    """A piece of the reply that is being written."""

    text: str


@dataclass(frozen=True)
class CheckpointSaved:
    """A checkpoint of the run is on disk and in the index; `head_followed` tells whether HEAD is on it."""

    checkpoint: Checkpoint
    head_followed: bool


@dataclass(frozen=True)
class RunEnded:
    """The last event of every run."""

    status: Literal["done", "waiting", "stopped", "failed"]
    error: str = ""


RunEvent = Token | CheckpointSaved | RunEnded
