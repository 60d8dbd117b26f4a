"""Finds the step where it went wrong, and the checkpoint before it: by node, by the text of an error, or by what the
state says from then on.

The last two read states, from the newest on, so many at a time, and say from where to look further.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from branching import history, index, inspection, listing
from branching.database import on_database
from branching.engine import Engine
from branching.history import Stored
from branching.listing import Sieve
from branching.types import ListedCheckpoint

AT_ONCE = 200
"""States that one search reads."""

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
    states = _states(engine, thread_id, before)
    told = ((state.id, error) for state in states for error in state.errors if text.casefold() in error.casefold())
    return Found(_hits(thread_id, [(name, error[:SHOWN], None) for name, error in told]), _rest(states))


@on_database
def by_state(engine: Engine, thread_id: UUID, condition: Condition, *, before: str | None = None) -> Found:
    """The steps from which on the state says this; before each of them it did not."""
    states = _states(engine, thread_id, before)
    verdicts: dict[str | None, bool] = {state.id: _holds(state, condition) for state in states}
    verdicts[None] = False
    found = []
    for state in filter(lambda each: verdicts[each.id], states):
        if state.parent_id not in verdicts:
            parent = history.stored_one(engine.saver, thread_id, state.parent_id)
            verdicts[state.parent_id] = parent is not None and _holds(parent, condition)
        if not verdicts[state.parent_id]:
            found.append((state.parent_id or state.id, _shown(state, condition), state.id))
    return Found(_hits(thread_id, found), _rest(states))


def _states(engine: Engine, thread_id: UUID, before: str | None) -> list[Stored]:
    if before is not None:
        index.checkpoint_of(thread_id, before)
    return history.stored(engine.saver, thread_id, before=before, limit=AT_ONCE)


def _rest(states: list[Stored]) -> str | None:
    return states[-1].id if len(states) == AT_ONCE else None


def _holds(state: Stored, condition: Condition) -> bool:
    return condition.field in state.values and condition.holds(inspection.plain(state.values[condition.field]))


def _shown(state: Stored, condition: Condition) -> str:
    value = inspection.plain(state.values[condition.field])
    value = value[-1] if condition.operator == "contains" and isinstance(value, list) and value else value
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
