"""Finds the step where it went wrong, and the checkpoint before it: by node, by the text of an error, or by what the
state says from then on.

They look from the newest on, at so many at a time, and say from where to look further. The last one reads states.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal
from uuid import UUID

from branching import history, index, inspection, listing
from branching.database import on_database
from branching.engine import Engine
from branching.history import Stored
from branching.listing import Sieve
from branching.models import IndexedCheckpoint
from branching.types import ListedCheckpoint

AT_ONCE = 200
"""States that one search reads."""

TOGETHER = 20
"""States that are read in one go."""

PATIENCE = 1.0
"""Seconds after which a search goes no further: a state of a long conversation takes long to read."""

ERRORS_AT_ONCE = 2_000
"""Checkpoints of which one search reads the errors, which are small and few."""

SHOWN = 200
"""Characters of an error or a value that a hit shows."""

Operator = Literal["is", "is-not", "contains", "greater", "less"]


@dataclass(frozen=True)
class Hit:
    """A step that was found."""

    row: ListedCheckpoint
    """The checkpoint before it: from there it can be run again, or changed."""
    detail: str = ""
    """The error, or the value of the field after the step."""
    after: str | None = None
    """The id of the checkpoint that the step has left, where the search was for what that says."""


@dataclass(frozen=True)
class Found:
    """What a search has found, the newest first."""

    hits: tuple[Hit, ...]
    more: str | None
    """The checkpoint from which to look further; None where all were looked at."""
    looked_at: int = 0
    """How many checkpoints were looked at, where each had to be."""


@dataclass(frozen=True)
class Condition:
    """What a field of the state is to say."""

    field: str
    operator: Operator
    value: Any

    def holds(self, value: Any) -> bool:
        """Whether it is so for this value, which is plain. Values of different kinds are neither more nor less."""
        match self.operator:
            case "is":
                return _same(value, self.value)
            case "is-not":
                return not _same(value, self.value)
            case "contains":
                return _contains(value, self.value)
            case "greater":
                return _comparable(value, self.value) and value > self.value
            case "less":
                return _comparable(value, self.value) and value < self.value


def value_of(text: str) -> Any:
    """What was typed as a value: JSON, or else a text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@on_database
def by_node(thread_id: UUID, node: str, *, before: str | None = None, limit: int) -> Found:
    """Where this node comes next. Raises `NoSuchCheckpoint`, as the others do where `before` names none."""
    rows = listing.checkpoints.func(thread_id, before=before, limit=limit + 1, sieve=Sieve(node=node))
    return Found(tuple(map(Hit, rows[:limit])), rows[limit - 1].id if len(rows) > limit else None)


@on_database
def by_error(engine: Engine, thread_id: UUID, text: str, *, before: str | None = None) -> Found:
    """Where a step failed with an error that says this."""
    rows = IndexedCheckpoint.objects.filter(thread_id=thread_id)
    if before is not None:
        rows = rows.filter(pk__lt=index.checkpoint_of(thread_id, before).pk)
    names = list(rows.order_by("-pk").values_list("checkpoint_id", flat=True)[: ERRORS_AT_ONCE + 1])
    more, names = len(names) > ERRORS_AT_ONCE, names[:ERRORS_AT_ONCE]
    told = history.errors(engine.saver, thread_id, names)
    pairs = ((name, error) for name in names for error in told.get(name, ()) if text.casefold() in error.casefold())
    hits = _hits(thread_id, [(name, error[:SHOWN], None) for name, error in pairs])
    return Found(hits, names[-1] if more else None, len(names))


@on_database
def by_state(engine: Engine, thread_id: UUID, condition: Condition, *, before: str | None = None) -> Found:
    """The steps from which on the state says this; before each of them it did not."""
    if before is not None:
        index.checkpoint_of(thread_id, before)
    verdicts: dict[str | None, bool] = {None: False}
    held, last, goes_on, until = [], before, True, monotonic() + PATIENCE
    while goes_on and len(verdicts) <= AT_ONCE and (len(verdicts) == 1 or monotonic() < until):
        limit = min(TOGETHER, AT_ONCE + 1 - len(verdicts))
        states = history.stored(engine.saver, thread_id, before=last, limit=limit)
        verdicts.update((state.id, _holds(state, condition)) for state in states)
        held += [(state.id, state.parent_id, _shown(state, condition)) for state in states if verdicts[state.id]]
        last, goes_on = states[-1].id if states else last, len(states) == limit
    looked_at = len(verdicts) - 1
    for parent_id in {parent_id for _, parent_id, _ in held} - verdicts.keys():
        parent = history.stored_one(engine.saver, thread_id, parent_id)
        verdicts[parent_id] = parent is not None and _holds(parent, condition)
    found = [(parent_id or name, shown, name) for name, parent_id, shown in held if not verdicts[parent_id]]
    return Found(_hits(thread_id, found), last if goes_on else None, looked_at)


def _holds(state: Stored, condition: Condition) -> bool:
    return condition.field in state.values and condition.holds(inspection.plain(state.values[condition.field]))


def _shown(state: Stored, condition: Condition) -> str:
    """The value, or of a list the last thing in it that holds what was looked for; of a message, what it says."""
    value = inspection.plain(state.values[condition.field])
    if condition.operator == "contains" and isinstance(value, list):
        value = next((each for each in reversed(value) if _contains([each], condition.value)), value)
        if isinstance(value, dict) and _says(value.get("content"), condition.value):
            value = value["content"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text[:SHOWN]


def _hits(thread_id: UUID, found: list[tuple[str, str, str | None]]) -> tuple[Hit, ...]:
    rows = {row.id: row for row in listing.some(thread_id, checkpoint_id__in=[name for name, _, _ in found])}
    return tuple(Hit(rows[name], detail, after) for name, detail, after in found if name in rows)


def _same(value: Any, other: Any) -> bool:
    return (type(value) is type(other) and value == other) or (_comparable(value, other) and value == other)


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(value, str):
        return isinstance(wanted, str) and wanted.casefold() in value.casefold()
    if isinstance(value, dict):
        return wanted in value if isinstance(wanted, str) else False
    return isinstance(value, list) and any(_same(each, wanted) or _says(each, wanted) for each in value)


def _says(value: Any, wanted: Any) -> bool:
    """Whether a text within the value says this: of a message, its content for one."""
    return isinstance(wanted, str) and any(wanted.casefold() in text.casefold() for text in _texts(value))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in ("id", "type"):
                yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)


def _comparable(value: Any, other: Any) -> bool:
    kinds: tuple[Callable[[Any], bool], ...] = (_is_number, lambda each: isinstance(each, str))
    return any(is_kind(value) and is_kind(other) for is_kind in kinds)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
