"""What the tool calls of a transcript came to: each result beside its call, and beside what was asked before it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from branching import actions, index
from branching.models import Action, IndexedCheckpoint, Message
from branching.types import Asked, ToolStep


def of(rows: Sequence[Message]) -> dict[int, ToolStep]:
    """The step of each tool message among these, which follow each other, by its pk."""
    ended = [row for row in rows if row.kind == "tool"]
    if not ended:
        return {}
    callers = _callers(rows)
    asked = _asked(ended, _ends_of_steps(rows))
    return {row.pk: _ended(row, callers.get(_call_id(row)), asked.get(row.pk)) for row in ended}


def due(last: Message | None, questions: Sequence[Asked]) -> tuple[ToolStep, ...]:
    """The calls at the end of a transcript that have no result yet, and the questions that belong to no call."""
    calls = index.open_calls(last)
    known, called = {each.call_id: each for each in questions}, {call["id"] for call in calls}
    others = (each for each in questions if each.call_id not in called)
    return (
        *(ToolStep(call["name"], call["args"], asked=known.get(call["id"])) for call in calls),
        *(ToolStep(str(each.payload.get("action", "")), {}, asked=each) for each in others),
    )


def _callers(rows: Sequence[Message]) -> dict[str, tuple[Message, Mapping[str, Any]]]:
    """The calls that the rows make, and the one before them, by their ids."""
    above = rows[0]
    while above.kind == "tool" and above.parent:
        above = above.parent
    return {call["id"]: (row, call) for row in (above, *rows) for call in row.data.get("tool_calls", ())}


def _call_id(row: Message) -> str:
    return row.data.get("tool_call_id", "")


def _ends_of_steps(rows: Sequence[Message]) -> dict[int, set[int]]:
    """For each tool message those that may be the last that came with it: that one has the checkpoint of them all."""
    ends: dict[int, set[int]] = {}
    for row, after in zip(reversed(rows), [None, *reversed(rows)], strict=False):
        if row.kind == "tool":
            ends[row.pk] = (
                ends[after.pk] if after and after.kind == "tool" else {row.pk} | (set() if after else _on(row))
            )
    return ends


def _on(row: Message) -> set[int]:
    """The tool messages that follow this one directly, on any branch: a stretch may end among those of a step."""
    found, level = set(), {row.pk}
    while level := set(Message.objects.filter(parent__in=level, kind="tool").values_list("pk", flat=True)):
        found |= level
    return found


def _asked(ended: Sequence[Message], ends: Mapping[int, set[int]]) -> dict[int, Asked]:
    """What was asked before each of these results, on its own branch."""
    thread, calls = ended[0].thread_id, {_call_id(row) for row in ended}
    questions = list(Action.objects.filter(thread=thread, call_id__in=calls, payload__isnull=False))
    if not questions:
        return {}
    came = IndexedCheckpoint.objects.filter(thread=thread, parent_id__in={row.checkpoint_id for row in questions})
    led_to = defaultdict(set)
    for parent, message in came.values_list("parent_id", "message_id"):
        led_to[message].add(parent)
    found = {(row.checkpoint_id, row.call_id): actions.asked(row) for row in questions}
    keys = ((row.pk, (parent, _call_id(row))) for row in ended for end in ends[row.pk] for parent in led_to[end])
    return {pk: found[key] for pk, key in keys if key in found}


def _ended(row: Message, caller: tuple[Message, Mapping[str, Any]] | None, asked: Asked | None) -> ToolStep:
    called, call = caller or (None, {})
    took = (row.created_at - called.created_at).total_seconds() if called and not asked else None
    return ToolStep(
        name=call.get("name") or row.data.get("name", ""),
        arguments=call.get("args", {}),
        result=row.text,
        failed=row.data.get("status") == "error",
        seconds=took,
        asked=asked,
    )
