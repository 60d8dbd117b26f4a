"""A thread as a file that one takes along: its whole tree of messages, with what is shown. See docs/format.md.

A file says of each message after which other it came. What LangGraph stored beside the messages (the steps in between,
what an assistant remembers) is no part of it, nor is what was done to the world.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext

from branching import assistants
from branching.database import on_database
from branching.exceptions import BadFile, UnknownAssistant
from branching.limits import LABEL_MAX
from branching.models import IndexedCheckpoint, Message, Thread
from branching.types import Content

FORMAT, VERSION = "switchback", 1
KINDS = ("human", "ai", "tool")

MESSAGES_MAX, FILE_MESSAGES_MAX = 1_000, 5_000
"""How many messages a conversation, and a whole file, may bring: each becomes a checkpoint."""

TEXT_MAX = 1_000_000


@dataclass(frozen=True)
class CarriedMessage:
    """One version of a message in a file."""

    parent: int | None
    """The place of the message before it, among all of its thread, from 0; it comes earlier."""
    content: Content
    created_at: datetime | None = None
    end: int | None = None
    """The place of the message where one was when this version was left."""
    label: str = ""
    """What a person calls this version."""


@dataclass(frozen=True)
class Carried:
    """One thread in a file."""

    title: str
    assistant: str
    messages: Sequence[CarriedMessage] = field(default=())
    head: int | None = None
    """The place of the message that the shown version ends in."""


@on_database
def take(thread_id: UUID) -> Carried:
    """The thread as it can be taken along."""
    thread = Thread.objects.get(pk=thread_id)
    rows = list(thread.messages.filter(deletion=None).order_by("pk"))
    place = {row.pk: number for number, row in enumerate(rows)}
    end = IndexedCheckpoint.objects.filter(thread=thread, checkpoint_id=thread.head).first()
    return Carried(
        title=thread.title,
        assistant=thread.assistant,
        messages=[_carried(row, place) for row in rows],
        head=place.get(end.message_id) if end else None,
    )


def _carried(row: Message, place: Mapping[int, int]) -> CarriedMessage:
    content = Content(row.message_id, row.kind, row.text, row.data)
    return CarriedMessage(place.get(row.parent_id), content, row.created_at, place.get(row.end_id), row.label)


def write(threads: Sequence[Carried]) -> str:
    """The file. The same threads make the same file, to the byte."""
    listed = [_thread(thread) for thread in threads]
    return json.dumps({"format": FORMAT, "version": VERSION, "threads": listed}, ensure_ascii=False, indent=1) + "\n"


def _thread(thread: Carried) -> dict[str, Any]:
    messages = [_message(number, each) for number, each in enumerate(thread.messages)]
    return {"title": thread.title, "assistant": thread.assistant, "head": thread.head, "messages": messages}


def _message(number: int, carried: CarriedMessage) -> dict[str, Any]:
    content = carried.content
    written = {
        "n": number,
        "parent": carried.parent,
        "kind": content.kind,
        "id": content.id,
        "text": content.text,
        "created_at": carried.created_at.astimezone(UTC).isoformat() if carried.created_at else None,
        "end": carried.end,
        "label": carried.label,
        "data": dict(sorted(content.data.items())),
    }
    if not carried.label:
        del written["label"]
    return {key: value for key, value in written.items() if value not in (None, {}) or key == "parent"}


def read(text: str) -> list[Carried]:
    """The threads of a file of ours. Raises `BadFile`, which says what is wrong with it and where."""
    found = parsed(text)
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise BadFile(gettext("The file is no export of Switchback."))
    if found.get("version") != VERSION:
        raise BadFile(gettext("The file was written by a newer version of Switchback."))
    threads = [_read_thread(each) for each in _list(found.get("threads"))]
    return checked(threads)


def parsed(text: str) -> Any:
    """What the file holds, as JSON. Raises `BadFile`."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadFile(gettext("The file is no JSON, or it is broken.")) from None


def checked(threads: Sequence[Carried]) -> list[Carried]:
    """The threads, if there are any, and not too many messages. Raises `BadFile`."""
    if not threads:
        raise BadFile(gettext("There is no conversation in the file."))
    longest, sum_ = max(len(each.messages) for each in threads), sum(len(each.messages) for each in threads)
    if longest > MESSAGES_MAX:
        text = gettext("A conversation in the file has %(count)d messages. At most %(most)d can be taken in.")
        raise BadFile(text % {"count": longest, "most": MESSAGES_MAX})
    if sum_ > FILE_MESSAGES_MAX:
        text = gettext("The file has %(count)d messages. At most %(most)d can be taken in at once.")
        raise BadFile(text % {"count": sum_, "most": FILE_MESSAGES_MAX})
    return list(threads)


def _read_thread(given: Any) -> Carried:
    if not isinstance(given, dict):
        raise BadFile(gettext("A conversation in the file is not written as one."))
    rows = _list(given.get("messages"))
    if len(rows) > MESSAGES_MAX:
        return Carried("", "", [CarriedMessage(None, Content("", "human", ""))] * len(rows))  # `checked` tells
    return Carried(
        title=_text(given.get("title"))[:200],
        assistant=_assistant(given.get("assistant")),
        messages=[_read_message(number, row) for number, row in enumerate(rows)],
        head=_place(given.get("head"), len(rows), len(rows)),
    )


def _read_message(number: int, row: Any) -> CarriedMessage:
    if not isinstance(row, dict) or row.get("n") != number:
        raise BadFile(gettext("Message %(number)d is not where its number says.") % {"number": number})
    kind, data = row.get("kind"), row.get("data", {})
    if kind not in KINDS or not isinstance(data, dict):
        raise BadFile(gettext("Message %(number)d is of no kind that is known.") % {"number": number})
    parent = _place(row.get("parent"), number, number)
    content = Content(_id(row.get("id"), number), kind, _text(row.get("text")), data)
    end = _place(row.get("end"), 1 << 30, number)
    return CarriedMessage(parent, content, _time(row.get("created_at")), end, _text(row.get("label"))[:LABEL_MAX])


def _place(value: Any, below: int, number: int) -> int | None:
    """A message before `below`: so that none is its own ancestor."""
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < below:
        text = gettext("Message %(number)d comes after one that is not in the file, or that comes later.")
        raise BadFile(text % {"number": number})
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise BadFile(gettext("The file lacks its list of conversations or messages."))
    return value


def _text(value: Any) -> str:
    text = value if isinstance(value, str) else ""
    if len(text) > TEXT_MAX:
        raise BadFile(gettext("A message in the file is too long."))
    return text.replace("\0", "").encode("utf-8", "ignore").decode()


def _id(value: Any, number: int) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= 200:
        raise BadFile(gettext("Message %(number)d has no id.") % {"number": number})
    return _text(value)


def _assistant(value: Any) -> str:
    try:
        found = assistants.get(value if isinstance(value, str) else "")
        if found.is_functional:
            text = gettext("A conversation with %(name)s can't be taken in: only whole turns of it are kept.")
            raise BadFile(text % {"name": found.title})
        return found.name
    except UnknownAssistant:
        text = gettext("A conversation in the file is with an assistant that is not here: %(name)s.")
        raise BadFile(text % {"name": str(value)[:50]}) from None


def _time(value: Any) -> datetime | None:
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)
