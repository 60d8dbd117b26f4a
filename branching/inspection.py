"""One checkpoint with all that LangGraph keeps of it, and what tells two apart. Reads only; nothing runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, is_dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, Literal

from branching import history, index, listing
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import HistoryLost
from branching.models import Thread
from branching.types import ListedCheckpoint

BYTES = 120
"""Characters that are shown of what is no text."""

Change = Literal["same", "gone", "new"]


@dataclass(frozen=True)
class Task:
    """A step that is due at a checkpoint, or was."""

    id: str
    node: str
    error: str
    questions: tuple[Any, ...]
    result: Any


@dataclass(frozen=True)
class Write:
    """What a step has written after a checkpoint, before the next one was made of it."""

    task: str
    channel: str
    value: Any


@dataclass(frozen=True)
class Inspection:
    """A checkpoint, and where it stands among the others. All values are such as JSON can say."""

    row: ListedCheckpoint
    parent: ListedCheckpoint | None
    children: tuple[ListedCheckpoint, ...]
    """In the order in which they grew."""
    values: Mapping[str, Any]
    next: tuple[str, ...]
    tasks: tuple[Task, ...]
    writes: tuple[Write, ...]
    metadata: Mapping[str, Any]
    versions: Mapping[str, Any]
    """Of each channel, how often it was written, as LangGraph counts."""

    @cached_property
    def raw(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {
            "checkpoint_id": self.row.id,
            "parent_id": self.row.parent_id,
            "children": [child.id for child in self.children],
            "step": self.row.step,
            "source": self.row.source,
            "created_at": self.row.created_at.isoformat(),
            "next": list(self.next),
            "values": self.values,
            "tasks": [asdict(task) for task in self.tasks],
            "pending_writes": [asdict(write) for write in self.writes],
            "metadata": self.metadata,
            "channel_versions": self.versions,
        }


@dataclass(frozen=True)
class Line:
    """A line of a difference."""

    change: Change
    text: str


@dataclass(frozen=True)
class Difference:
    """What tells one part of two checkpoints apart; `lines` without what is the same far from any change."""

    name: str
    is_same: bool
    lines: tuple[Line, ...]


@on_database
def read(engine: Engine, thread: Thread, checkpoint_id: str) -> Inspection:
    """All that is known of the checkpoint. Raises `NoSuchCheckpoint`, `HistoryLost`."""
    index.checkpoint_of(thread.pk, checkpoint_id)
    here = history.config_for(thread.pk, checkpoint_id)
    saved = engine.saver.get_tuple(here)
    # For one that it does not have, LangGraph would tell of an empty state.
    if saved is None:
        raise HistoryLost
    snapshot = engine.graph(thread.assistant).get_state(here)
    [row] = listing.some(thread.pk, checkpoint_id=checkpoint_id)
    return Inspection(
        row=row,
        parent=next(iter(listing.some(thread.pk, checkpoint_id=row.parent_id)), None),
        children=tuple(listing.some(thread.pk, parent_id=checkpoint_id)[::-1]),
        values=plain(snapshot.values or {}),  # before its first turn a functional graph has none
        next=snapshot.next,
        tasks=tuple(map(_task, snapshot.tasks)),
        writes=tuple(Write(task, channel, plain(value)) for task, channel, value in saved.pending_writes or ()),
        metadata=plain(saved.metadata),
        versions=plain(saved.checkpoint["channel_versions"]),
    )


def _task(task: Any) -> Task:
    questions = tuple({"id": each.id, "value": plain(each.value)} for each in task.interrupts)
    return Task(task.id, task.name, str(task.error or ""), questions, plain(task.result))


def differences(old: Inspection, new: Inspection) -> tuple[Difference, ...]:
    """What tells `new` from `old`: its messages, each other field of the state, and what comes next."""
    names = dict.fromkeys(("messages", *sorted({*old.values, *new.values})))
    pairs = {name: (old.values.get(name), new.values.get(name)) for name in names}
    pairs["next"] = list(old.next), list(new.next)
    return tuple(_difference(name, *pair) for name, pair in pairs.items())


def _difference(name: str, old: Any, new: Any) -> Difference:
    before, after = (pretty(value).splitlines() if value is not None else [] for value in (old, new))
    lines = tuple(_lines(before, after)) if old != new else ()
    return Difference(name, old == new, lines)


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(3):
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from (Line("same", text) for text in old[start:end])
            else:
                yield from (Line("gone", text) for text in old[start:end])
                yield from (Line("new", text) for text in new[new_start:new_end])


def pretty(value: Any) -> str:
    """A plain value as people read JSON."""
    return json.dumps(value, ensure_ascii=False, indent=2)


def plain(value: Any) -> Any:
    """The value as JSON can say it. Of a message, what is set."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence | Set) and not isinstance(value, bytes | bytearray):
        return [plain(each) for each in value]
    if callable(dump := getattr(value, "model_dump", None)):
        return _of_model(dump)
    return plain(asdict(value)) if is_dataclass(value) and not isinstance(value, type) else repr(value)[:BYTES]


def _of_model(dump: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
    found = {key: plain(each) for key, each in dump().items() if each not in (None, "", [], {}, False)}
    first = {key: found[key] for key in ("type", "id", "content") if key in found}
    return {**first, **found}
