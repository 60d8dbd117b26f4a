"""Two versions of a message beside each other, with what tells their texts apart."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal
from uuid import UUID

from branching import window
from branching.database import on_database
from branching.exceptions import NoSuchMessage
from branching.models import Message
from branching.types import Version

IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
WORD = re.compile(rf"(?:[{IDEOGRAPHS}]|[^\W{IDEOGRAPHS}]+|[^\w\s])\s*|\s+")
"""A word, a sign, or a character of a script that is written without blanks; with the blanks after it."""

WORDS_MAX, LINES_MAX = 3_000, 10_000
"""So many words, and so many lines, of each text are told apart: more would take seconds."""

Part = tuple[str, bool]
"""A piece of a text, and whether the other has it not."""

Level = Literal["words", "lines", "nothing"]


@dataclass(frozen=True)
class Comparison:
    """Two versions of one message."""

    old: Version
    new: Version
    old_parts: tuple[Part, ...]
    new_parts: tuple[Part, ...]
    level: Level
    """How fine the difference is: long texts are compared by lines, very long ones not at all."""
    siblings: tuple[int, ...]
    """The pks of all versions of the message, in their order."""


@on_database
def compare(thread_id: UUID, message: int, other: int | None = None) -> Comparison:
    """This version beside another, or beside the one before it, or else after it; the older one first.

    Raises `NoSuchMessage` where there is no other, or where it is a version of something else.
    """
    row = Message.objects.filter(thread_id=thread_id, pk=message, deletion=None).first()
    if row is None:
        raise NoSuchMessage
    beside = Message.objects.filter(thread_id=thread_id, parent=row.parent_id, deletion=None).order_by("pk")
    siblings = tuple(beside.values_list("pk", flat=True))
    if other is None:
        at = siblings.index(message)
        other = next(iter((*siblings[max(at - 1, 0) : at], *siblings[at + 1 : at + 2])), None)
    if other not in siblings or other == message:
        raise NoSuchMessage
    old, new = (window.only.func(thread_id, pk) for pk in sorted((message, other)))
    return Comparison(old, new, *apart(old.text, new.text), siblings)


def apart(old: str, new: str) -> tuple[tuple[Part, ...], tuple[Part, ...], Level]:
    """The pieces of both texts, and how fine they were compared. Together the pieces of each are that text."""
    words = WORD.findall(old), WORD.findall(new)
    if max(map(len, words)) <= WORDS_MAX:
        return *_parts(*words), "words"
    lines = old.splitlines(keepends=True), new.splitlines(keepends=True)
    if max(map(len, lines)) <= LINES_MAX:
        return *_parts(*lines), "lines"
    return ((old, False),), ((new, False),), "nothing"


def _parts(old: Sequence[str], new: Sequence[str]) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    olds: list[Part] = []
    news: list[Part] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        olds.append(("".join(old[start:end]), tag != "equal"))
        news.append(("".join(new[new_start:new_end]), tag != "equal"))
    return tuple(part for part in olds if part[0]), tuple(part for part in news if part[0])
