"""Forks with a changed state: new values for fields of a state at any checkpoint, written as one of the nodes.

They are written under the checkpoint, or under a copy that is put beside it first (`writing.copy`).

What a person asks for is checked field by field before LangGraph sees it, and what comes of it before it stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, get_type_hints
from uuid import uuid4

from django.db import DatabaseError, transaction
from django.utils.translation import gettext as _
from langgraph.channels import BinaryOperatorAggregate
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot, StateUpdate
from pydantic import PydanticSchemaGenerationError, TypeAdapter, ValidationError

from branching import assistants, drafts, history, index, writing
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import BadFork, HistoryLost
from branching.models import Run, Thread
from branching.types import Checkpoint, Content

MESSAGES = "messages"

RUNTIME = {
    *("next", "tasks", "config", "metadata", "parent_config", "created_at", "interrupts", "values", "step", "source"),
    *("id", "ts", "v", "run", "thread_id", "checkpoint_id", "checkpoint_ns", "parent_id", "channel_values"),
    *("channel_versions", "versions_seen", "pending_writes", "pending_sends", "configurable", "as_node", "task_id"),
}
"""What belongs to a checkpoint, and is no part of the state."""


@dataclass(frozen=True)
class Field:
    """A field of a graph's state, which a fork may change."""

    name: str
    kind: str
    """Its type, in words."""
    is_merged: bool
    """Whether a new value is put together with what is there, by the field's reducer; otherwise it takes its place."""


@dataclass(frozen=True)
class Update:
    """New values for fields of a state, as if this node had written them."""

    node: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """What a fork that is written as this node would lead to."""

    node: str
    """Several, where there are several updates."""
    next: tuple[str, ...]
    problems: Mapping[str, str] = field(default_factory=dict)
    """Why it is refused, by the fields' names; `as_node` for what concerns the node."""

    @property
    def is_dead_end(self) -> bool:
        """Whether nothing would run after it."""
        return not self.next and not self.problems


def fields(graph: CompiledStateGraph) -> tuple[Field, ...]:
    """The fields of the graph's state, in the order in which it declares them."""
    return tuple(
        Field(name, _named(kind), isinstance(graph.channels[name], BinaryOperatorAggregate))
        for name, kind in _types(graph).items()
    )


def nodes(graph: CompiledStateGraph) -> tuple[str, ...]:
    """The nodes that an update can be written as. `__start__` is the beginning: what follows it runs next."""
    return tuple(graph.nodes)


@on_database
def outlook(
    engine: Engine, thread: Thread, checkpoint_id: str, updates: Sequence[Update], *, beside: bool = False
) -> Choice:
    """What a fork with these updates would lead to. It is made, looked at and taken back: nothing is stored.

    Raises `NoSuchCheckpoint`, `HistoryLost`.
    """
    return _outlook(engine, thread, checkpoint_id, updates, beside=beside)


@on_database
def choices(
    engine: Engine, thread: Thread, checkpoint_id: str, values: Mapping[str, Any] | None = None
) -> tuple[Choice, ...]:
    """For each node what a fork that writes these values as it would lead to. Raises what `outlook` does."""
    graph = engine.graph(thread.assistant)
    return tuple(_outlook(engine, thread, checkpoint_id, [Update(node, values or {})]) for node in nodes(graph))


def _outlook(
    engine: Engine, thread: Thread, checkpoint_id: str, updates: Sequence[Update], *, beside: bool = False
) -> Choice:
    index.checkpoint_of(thread.pk, checkpoint_id)
    names = " + ".join(update.node for update in updates)
    try:
        with transaction.atomic():
            *_copy, found = _write(engine, thread, checkpoint_id, updates, beside=beside)
            transaction.set_rollback(True)
    except BadFork as error:
        return Choice(names, (), error.problems)
    return Choice(names, found.next)


def write(engine: Engine, run: Run, updates: Sequence[Update], *, beside: bool = False) -> list[Checkpoint]:
    """The update checkpoint under the base of `run`; with `beside`, a copy beside the base, and the update under that.

    A copy may do without updates. Raises `BadFork`, `HistoryLost`. Inside a transaction.
    """
    return _write(engine, run.thread, run.base, updates, beside=beside, **{history.RUN: str(run.pk)})


def _write(
    engine: Engine, thread: Thread, checkpoint_id: str, updates: Sequence[Update], *, beside: bool, **metadata: Any
) -> list[Checkpoint]:
    # LangGraph would make an orphan of an update to a checkpoint that it does not have.
    if not engine.saver.has(thread.pk, checkpoint_id):
        raise HistoryLost
    graph, written = engine.graph(thread.assistant), []
    here = history.config_for(thread.pk, checkpoint_id, **metadata)
    given = _checked(graph, graph.get_state(here), updates, may_be_none=beside)
    with _refused_by_the_graph():
        if beside:
            written.append(history.of(graph.get_state(writing.copy(graph, here))))
            here = history.config_for(thread.pk, written[0].id, **metadata)
        if given:
            written.append(history.of(graph.get_state(writing.write(graph, here, given))))
    _refuse_what_no_model_takes(thread.assistant, written[-1])
    return written


def _checked(
    graph: CompiledStateGraph, base: StateSnapshot, updates: Sequence[Update], *, may_be_none: bool
) -> list[StateUpdate]:
    """The updates as LangGraph takes them. Raises `BadFork` with all that is wrong with them."""
    types, messages, problems = _types(graph), history.of(base).messages, {}
    given = []
    for update in updates:
        if update.node not in graph.nodes:
            problems["as_node"] = _("This assistant has no node “%(node)s”.") % {"node": update.node}
        values = {}
        for name, value in update.values.items():
            values[name], problem = _field(types, name, value, messages)
            if problem:
                problems[name] = problem
        # Under an id of its own: else it would count as the result of a step that is due at the base, on that branch.
        given.append(StateUpdate(values, update.node, str(uuid4())))
    if not updates and not may_be_none:
        problems["as_node"] = _("Say as which node to write.")
    if problems:
        raise BadFork(problems)
    return given


def _field(types: Mapping[str, Any], name: str, value: Any, messages: Sequence[Content]) -> tuple[Any, str]:
    """The value for a field of the state, and what is wrong with it."""
    if name in RUNTIME or name.startswith(("__", "branch:", "join:")):
        return None, _("This follows from how the graph has run; only fields of its state can be changed.")
    if name not in types:
        return None, _("The state of this assistant has no such field. It has: %(fields)s.") % {
            "fields": ", ".join(types)
        }
    if problem := drafts.unstorable(value):
        return None, problem
    if name == MESSAGES:
        return drafts.messages(value, {message.id for message in messages})
    try:
        return TypeAdapter(types[name]).validate_python(value, strict=True), ""
    except ValidationError as error:
        first = error.errors()[0]
        place = "".join(f"[{part}]" for part in first["loc"] if isinstance(part, int))
        return None, _("This is no %(kind)s: %(reason)s.") % {
            "kind": _named(types[name]),
            "reason": f"{place} {first['msg']}".strip(),
        }
    except PydanticSchemaGenerationError:
        return value, ""


def _types(graph: CompiledStateGraph) -> dict[str, Any]:
    builder = getattr(graph, "builder", None)
    schema = getattr(builder, "state_schema", None)
    hints = get_type_hints(schema) if schema else {}
    return {name: kind for name, kind in hints.items() if name in graph.channels}


def _named(kind: Any) -> str:
    """A type as a person reads it."""
    if kind is Any:
        return "any"
    text = kind.__name__ if isinstance(kind, type) and not hasattr(kind, "__args__") else str(kind)
    return MESSAGES if "Message" in text else text.replace("typing.", "")


@contextmanager
def _refused_by_the_graph() -> Iterator[None]:
    """What the graph's reducers and edges make of values that look right: whatever they raise is a refusal."""
    try:
        yield
    except DatabaseError:
        raise
    except Exception as error:
        reason = {"reason": str(error).split("\n")[0][:200] or type(error).__name__}
        raise BadFork({"as_node": _("The graph refuses this: %(reason)s") % reason}) from error


def _refuse_what_no_model_takes(assistant: str, found: Checkpoint) -> None:
    """A tool call must be followed by its results, or by the steps that are to bring them. Raises `BadFork`."""
    due: list[str] = []
    seen: set[str] = set()
    for message in found.messages:
        if message.kind == "tool":
            call = message.data.get("tool_call_id")
            if call not in due:
                raise BadFork(
                    {MESSAGES: _("A tool result would answer a call that is not there (%(call)s).") % {"call": call}}
                )
            due.remove(call)
            continue
        if due:
            raise _open(due)
        due = [call["id"] for call in message.data.get("tool_calls", ())]
        if len(set(due)) < len(due) or seen & set(due):
            raise BadFork({MESSAGES: _("Two tool calls would have the same id.")})
        seen |= set(due)
    talkers = {*assistants.get(assistant).reply_nodes, index.START}
    if due and (not found.next or talkers & set(found.next)):
        raise _open(due)


def _open(calls: Iterable[str]) -> BadFork:
    reason = _(
        "The tool call %(call)s would have no result, which model providers refuse. Give it one, or take it out."
    )
    return BadFork({MESSAGES: reason % {"call": ", ".join(calls)}})
