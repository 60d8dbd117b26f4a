"""Results for tool calls that have none: a provider refuses a conversation that leaves one open."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.types import StateSnapshot, StateUpdate

from branching import history

STOPPED = "Stopped before its result was known."
"""What the model is told of a tool that was running when the person pressed Stop."""

UNKNOWN = "Interrupted before its result was known."
"""What it is told of one that an error or a crash has cut off."""


def closing(snapshot: StateSnapshot, known: Mapping[str, str], otherwise: str) -> list[StateUpdate]:
    """What takes the place of the steps that are due at this checkpoint, so that no tool call stays open.

    Steps that have ended keep what they said. Each other call gets what is `known` of it by its id, or `otherwise`.
    Empty where no call is open.
    """
    if not history.open_calls(history.of(snapshot).messages):
        return []
    ended = [StateUpdate(_once(task.result), as_node=task.name) for task in snapshot.tasks if task.result]
    said = {getattr(message, "tool_call_id", None) for update in ended for message in _messages(update.values)}
    left = [call for call in history.open_calls(history.of(snapshot).messages) if call not in said]
    due = next((task.name for task in snapshot.tasks if not task.result), None)
    if not left or due is None:
        return ended
    results = [_result(call, known.get(call, otherwise)) for call in left]
    return [*ended, StateUpdate({"messages": results}, as_node=due)]


def _once(result: dict[str, Any]) -> dict[str, Any]:
    """What a step wrote. LangGraph keeps all of it where a step ran twice and did not write the same."""
    folded = {channel: value for channel, value in result.items() if isinstance(value, dict) and "$writes" in value}
    return result | {channel: value["$writes"][0] for channel, value in folded.items()}


def _messages(values: Any) -> list[Any]:
    found = values.get("messages", []) if isinstance(values, dict) else []
    return found if isinstance(found, list) else [found]


def _result(call: str, text: str) -> ToolMessage:
    return ToolMessage(text, id=str(uuid.uuid4()), tool_call_id=call, status="error")
