"""Values that a person gives for a state by hand, as JSON: what can be stored at all, and messages in short form."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any
from uuid import uuid4

from django.utils.translation import gettext as _
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage

from branching.limits import MESSAGE_MAX

DEPTH_MAX = 30
"""How deep lists and objects may stand in each other."""

NUMBER_MAX = 2**63 - 1

KEYS = {
    "human": {"content"},
    "ai": {"content", "tool_calls"},
    "tool": {"content", "tool_call_id", "name", "status"},
    "remove": set(),
}
"""What a message of each type may say beside its type and id."""


class _Wrong(ValueError):
    """What is wrong, in words for a person."""


def unstorable(value: Any, depth: int = 0) -> str:
    """Why the value can't be stored; empty where it can."""
    if depth > DEPTH_MAX:
        return _("This is nested too deeply.")
    if isinstance(value, str):
        return _unstorable_text(value)
    if isinstance(value, float | int):
        return "" if abs(value) <= NUMBER_MAX else _("This number is too large.")
    parts = [*value.keys(), *value.values()] if isinstance(value, Mapping) else value
    return next(filter(None, (unstorable(part, depth + 1) for part in parts)), "") if parts is not None else ""


def _unstorable_text(text: str) -> str:
    if len(text) > MESSAGE_MAX:
        return _("This text is too long.")
    # As for messages: PostgreSQL refuses NUL, and a lone surrogate has no UTF-8.
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        return _("This text holds characters that can't be stored.")
    return ""


def messages(given: Any, known: Collection[str]) -> tuple[list[BaseMessage | RemoveMessage], str]:
    """The changes to a list of messages, whose ids are `known`, and what is wrong with them.

    Each is `{"type": "human" | "ai" | "tool", "content": ...}`, which is added under a new id, or with the `id` of one
    that is there takes its place; or `{"type": "remove", "id": ...}`.
    """
    if not isinstance(given, list):
        return [], _("Messages are a list: [{…}, {…}].")
    made = []
    for number, each in enumerate(given, 1):
        try:
            made.append(_message(each, known))
        except _Wrong as error:
            return [], _("Message %(number)s: %(problem)s") % {"number": number, "problem": error}
    return made, ""


def _message(given: Any, known: Collection[str]) -> BaseMessage | RemoveMessage:
    kind = given.get("type") if isinstance(given, Mapping) else None
    if kind not in KEYS:
        raise _Wrong(_("its type has to be human, ai, tool or remove."))
    if unknown := given.keys() - KEYS[kind] - {"type", "id"}:
        raise _Wrong(_("it can't have %(keys)s.") % {"keys": ", ".join(sorted(map(str, unknown)))})
    name = given.get("id")
    if name is None and kind == "remove":
        raise _Wrong(_("say by its id which one to remove."))
    # A new message gets an id of its own: one id with two texts would confuse every look-up by id.
    if name is not None and name not in known:
        raise _Wrong(_("there is none with the id %(id)s here. Leave the id out to add a new one.") % {"id": name})
    return MAKERS[kind](given, name if name is not None else str(uuid4()))


def _human(given: Mapping[str, Any], name: str) -> BaseMessage:
    return HumanMessage(_text(given, "content", needed=True), id=name)


def _ai(given: Mapping[str, Any], name: str) -> BaseMessage:
    calls = given.get("tool_calls") or []
    if not isinstance(calls, list) or not all(map(_is_call, calls)):
        raise _Wrong(_('tool calls are a list of {"name": "…", "args": {…}, "id": "…"}.'))
    calls = [{"name": call["name"], "args": dict(call["args"]), "id": call["id"]} for call in calls]
    return AIMessage(_text(given, "content", needed=not calls), id=name, tool_calls=calls)


def _is_call(call: Any) -> bool:
    is_whole = isinstance(call, Mapping) and call.keys() - {"type"} == {"name", "args", "id"}
    return is_whole and bool(call["name"] and call["id"]) and _fits(call, name=str, args=Mapping, id=str)


def _fits(given: Mapping[str, Any], **kinds: type) -> bool:
    return all(isinstance(given[name], kind) for name, kind in kinds.items())


def _tool(given: Mapping[str, Any], name: str) -> BaseMessage:
    status = given.get("status", "success")
    if status not in ("success", "error"):
        raise _Wrong(_("its status has to be success or error."))
    call = _text(given, "tool_call_id", needed=True)
    tool = _text(given, "name") or None
    return ToolMessage(_text(given, "content"), id=name, tool_call_id=call, name=tool, status=status)


def _text(given: Mapping[str, Any], key: str, *, needed: bool = False) -> str:
    text = given.get(key)
    if text is None and not needed:
        return ""
    if not isinstance(text, str) or (needed and not text.strip()):
        raise _Wrong(_("its %(key)s has to be a text.") % {"key": key})
    return text


def _removal(given: Mapping[str, Any], name: str) -> RemoveMessage:
    return RemoveMessage(id=name)


MAKERS: dict[str, Callable[[Mapping[str, Any], str], BaseMessage | RemoveMessage]] = {
    "human": _human,
    "ai": _ai,
    "tool": _tool,
    "remove": _removal,
}
