"""Reads LangGraph's checkpoints as our own values: a whole history, one event of a run, or just "is it there?"."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint
from langgraph.checkpoint.serde.types import ERROR
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateSnapshot

from . import contents
from .types import Checkpoint, Content, Kind, Question

if TYPE_CHECKING:
    from .saver import DjangoSaver

WHOLE_TURN, START = "whole_turn", "__start__"
"""The one node of an assistant in the functional API. It takes the message in as well as answering it: so a checkpoint
after which it comes is one whose message waits to be taken in, as one is after which a graph's `__start__` comes."""

RUN = "run"
"""The metadata under which each checkpoint names the run that saved it. LangGraph gives `run_id` another meaning."""


def config_for(thread_id: str | UUID, checkpoint_id: str | None, **metadata: Any) -> RunnableConfig:
    """The config that names one checkpoint of a thread; with None, the thread alone.

    The metadata is stored with what is saved under this config.
    """
    names = {"thread_id": str(thread_id), "checkpoint_ns": ""}
    if checkpoint_id is not None:
        names["checkpoint_id"] = checkpoint_id
    return {"configurable": names, "metadata": metadata} if metadata else {"configurable": names}


@dataclass(frozen=True)
class Stored:
    """A checkpoint as it lies in the store: what its channels hold."""

    id: str
    parent_id: str | None
    values: Mapping[str, Any]


def stored(saver: BaseCheckpointSaver, thread_id: str | UUID, *, before: str | None, limit: int) -> list[Stored]:
    """No more than so many checkpoints of the thread, the newest first; with `before`, older ones than that."""
    until = config_for(thread_id, before) if before else None
    return list(map(_stored, saver.list(config_for(thread_id, None), before=until, limit=limit)))


def stored_one(saver: BaseCheckpointSaver, thread_id: str | UUID, checkpoint_id: str) -> Stored | None:
    """This checkpoint of the thread; None where it has none such."""
    found = saver.get_tuple(config_for(thread_id, checkpoint_id))
    return _stored(found) if found else None


def _stored(saved: CheckpointTuple) -> Stored:
    parent = saved.parent_config["configurable"]["checkpoint_id"] if saved.parent_config else None
    return Stored(saved.checkpoint["id"], parent, saved.checkpoint["channel_values"])


def errors(saver: DjangoSaver, thread_id: str | UUID, checkpoint_ids: Collection[str]) -> dict[str, list[str]]:
    """With which errors steps ended after these checkpoints; of those after which one did. Reads no state."""
    found = saver.written(thread_id, checkpoint_ids, ERROR)
    return {name: list(map(str, values)) for name, values in found.items()}


def begin(saver: BaseCheckpointSaver, thread_id: str | UUID) -> RunnableConfig:
    """The config of a checkpoint with nothing in it, saved now, for a thread that has none."""
    named = config_for(thread_id, None)
    return saver.put(named, empty_checkpoint(), {"source": "input", "step": -1, "parents": {}}, {})


def values_of(graph: CompiledStateGraph, thread_id: str | UUID, checkpoint_id: str) -> Mapping[str, Any]:
    """The whole state at a checkpoint, as the graph's nodes see it."""
    return graph.get_state(config_for(thread_id, checkpoint_id)).values


async def read_all(graph: CompiledStateGraph, thread_id: str | UUID) -> list[Checkpoint]:
    """All checkpoints of the thread, newest first. Reads every state whole: for checks and repairs, not for pages."""
    # A history, unlike `get_state` of a thread, is pinned: `next` is what each checkpoint was saved with.
    return [of(snapshot) async for snapshot in graph.aget_state_history(config_for(thread_id, None))]


async def of_run(graph: CompiledStateGraph, thread_id: str | UUID, run_id: UUID) -> list[Checkpoint]:
    """The checkpoints that this run has saved, parents first."""
    found = graph.aget_state_history(config_for(thread_id, None), filter={RUN: str(run_id)})
    return sorted([of(snapshot) async for snapshot in found], key=lambda checkpoint: checkpoint.step)


async def read(graph: CompiledStateGraph, config: RunnableConfig) -> Checkpoint:
    """The checkpoint that `config` names; it must name one by id."""
    return of(await graph.aget_state(config))


def of(snapshot: StateSnapshot) -> Checkpoint:
    """The checkpoint that LangGraph has read."""
    return _checkpoint(
        config=snapshot.config,
        parent_config=snapshot.parent_config,
        metadata=snapshot.metadata or {},
        next=snapshot.next,
        values=snapshot.values,
        created_at=datetime.fromisoformat(snapshot.created_at) if snapshot.created_at else None,
        questions=_questions(snapshot),
    )


def _questions(snapshot: StateSnapshot) -> tuple[Question, ...]:
    """What waits for an answer. `snapshot.interrupts` lists what was answered too; only a step that has ended has a
    result."""
    waiting = [task for task in snapshot.tasks if task.interrupts and task.result is None]
    return tuple(Question(task.id, task.name, task.interrupts[-1].id, task.interrupts[-1].value) for task in waiting)


def from_event(data: Mapping[str, Any]) -> Checkpoint:
    """The checkpoint in the `data` of a "checkpoints" stream part. It may not be on disk yet; it has no time."""
    keys = ("config", "parent_config", "metadata", "next", "values")
    return _checkpoint(**{key: data[key] for key in keys}, created_at=None)


def open_calls(messages: Sequence[Content]) -> list[str]:
    """The ids of the tool calls that have no result yet."""
    answered = {message.data.get("tool_call_id") for message in messages}
    called = (call["id"] for message in messages for call in message.data.get("tool_calls", ()))
    return [each for each in called if each not in answered]


def content_of(message: BaseMessage) -> Content:
    """What makes this message this version of it. Raises `ValueError` for a message that is no one's turn to speak."""
    if not message.id:
        raise ValueError(f"A {message.type} message without an id can't be told from its other versions.")
    return Content(id=message.id, kind=_kind_of(message), text=str(message.text), data=_data_of(message))


def _kind_of(message: BaseMessage) -> Kind:
    # By class, since the `type` of a streamed chunk is the chunk's own.
    if isinstance(message, HumanMessage):
        return "human"
    if isinstance(message, AIMessage):
        return "ai"
    if isinstance(message, ToolMessage):
        return "tool"
    raise ValueError(f"A {message.type} message has no place in a transcript; give it to the model, not to the state.")


def _data_of(message: BaseMessage) -> dict[str, Any]:
    found = {
        "blocks": None if isinstance(message.content, str) else message.content,
        "name": message.name,
        "tool_calls": getattr(message, "tool_calls", None),
        "tool_call_id": getattr(message, "tool_call_id", None),
        "status": getattr(message, "status", None),
        "stopped": bool(message.additional_kwargs.get("stopped")),
        "model": message.response_metadata.get("model_name"),
        "left_out": message.response_metadata.get("left_out"),
        "settings": message.response_metadata.get("settings"),
        "reasoning": contents.reasoning_of(message),
        "parts": contents.parts_of(message),
        "usage": contents.usage_of(message),
    }
    return {key: value for key, value in found.items() if value}


def _checkpoint(
    *,
    config: RunnableConfig,
    parent_config: RunnableConfig | None,
    metadata: Mapping[str, Any],
    next: Iterable[str],
    values: Mapping[str, Any] | None,
    created_at: datetime | None,
    questions: tuple[Question, ...] = (),
) -> Checkpoint:
    return Checkpoint(
        id=_id_in(config),
        parent_id=_id_in(parent_config) if parent_config else None,
        source=metadata["source"],
        step=metadata["step"],
        next=tuple(START if name == WHOLE_TURN else name for name in next),
        messages=tuple(content_of(message) for message in (values or {}).get("messages", ())),
        created_at=created_at,
        questions=questions,
    )


def _id_in(config: RunnableConfig) -> str:
    return config["configurable"]["checkpoint_id"]
