"""Conversations as ChatGPT exports them: `conversations.json`, where each is a tree of nodes with a current one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext

from branching.carrying import MESSAGES_MAX, TEXT_MAX, Carried, CarriedMessage, checked, parsed
from branching.exceptions import BadFile
from branching.types import Content

KINDS = {"user": "human", "assistant": "ai"}
"""What is said by a person or a model. Instructions and what tools said in between are left out, and what came after
them comes after what was before them."""

NODES_MAX = 5 * MESSAGES_MAX


def looks_like(text: str) -> bool:
    """Whether this may be such a file."""
    return '"mapping"' in text[:200_000]


def read(text: str) -> list[Carried]:
    """The conversations of the file. Raises `BadFile`, which says what is wrong with it."""
    found = parsed(text)
    found = found if isinstance(found, list) else [found]
    return checked([_conversation(each) for each in found])


def _conversation(given: Any) -> Carried:
    nodes = given.get("mapping") if isinstance(given, dict) else None
    if not isinstance(nodes, dict) or not all(isinstance(node, dict) for node in nodes.values()):
        raise BadFile(gettext("A conversation in the file is not written as one."))
    if len(nodes) > NODES_MAX:
        text = gettext("A conversation in the file has %(count)d messages. At most %(most)d can be taken in.")
        raise BadFile(text % {"count": len(nodes), "most": MESSAGES_MAX})
    places: dict[str, int | None] = {}
    messages: list[CarriedMessage] = []
    for name in _in_order(nodes):
        parent = places.get(nodes[name].get("parent"))
        content = _content(nodes[name])
        if content is None:
            places[name] = parent
            continue
        places[name] = len(messages)
        messages.append(CarriedMessage(parent, content, _time(nodes[name])))
    title = given.get("title")
    return Carried(
        title=title[:200].replace("\0", "") if isinstance(title, str) else "",
        assistant="chat",
        messages=messages,
        head=places.get(given.get("current_node"), len(messages) - 1 if messages else None),
    )


def _in_order(nodes: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """The names of the nodes, parents first, children in the order of their parents. Raises `BadFile` for what is no
    tree."""
    roots = [name for name, node in nodes.items() if node.get("parent") is None]
    waiting, seen = list(reversed(roots)), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            raise BadFile(gettext("A message in the file comes after two others."))
        seen.add(name)
        yield name
        children = nodes[name].get("children")
        for child in reversed(children if isinstance(children, list) else []):
            if child not in nodes or nodes[child].get("parent") != name:
                raise BadFile(gettext("A message in the file comes after one that does not know of it."))
            waiting.append(child)
    if len(seen) != len(nodes):
        raise BadFile(gettext("Some messages in the file come after themselves, or after one that is not there."))


def _content(node: Mapping[str, Any]) -> Content | None:
    message = node.get("message")
    if not isinstance(message, dict):
        return None
    author, body = message.get("author"), message.get("content")
    kind = KINDS.get(author.get("role", "")) if isinstance(author, dict) else None
    text = _text(body) if isinstance(body, dict) else ""
    if kind is None or not text.strip():
        return None
    if len(text) > TEXT_MAX:
        raise BadFile(gettext("A message in the file is too long."))
    told = message.get("metadata")
    model = told.get("model_slug") if isinstance(told, dict) else None
    data = {"model": model[:100]} if kind == "ai" and isinstance(model, str) and model else {}
    return Content(str(uuid.uuid4()), kind, text, data)  # theirs may come twice


def _text(body: Mapping[str, Any]) -> str:
    parts = body.get("parts")
    said = [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else [body.get("text")]
    text = "\n\n".join(part for part in said if isinstance(part, str))
    return text.replace("\0", "").encode("utf-8", "ignore").decode()


def _time(node: Mapping[str, Any]) -> datetime | None:
    value = (node.get("message") or {}).get("create_time")
    try:
        return datetime.fromtimestamp(value, UTC) if isinstance(value, int | float) else None
    except (ValueError, OverflowError, OSError):
        return None
