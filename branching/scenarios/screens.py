"""What was on screen at a time gone by: the transcripts of a thread with the counts that they had then."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from branching.models import Message, Thread
from branching.scenarios.form import Expect
from branching.scenarios.judging import ANYTHING, REST
from branching.window import CHUNK

WORDS = 80
"""Characters of a text that are enough to know it by."""


class Screens:
    """Of one thread. All of its messages are read once."""

    def __init__(self, thread: Thread) -> None:
        self.messages = {message.pk: message for message in thread.messages.order_by("pk")}
        self._beside: dict[int | None, list[Message]] = defaultdict(list)
        for message in self.messages.values():
            self._beside[message.parent_id].append(message)

    def path(self, last: int | None) -> list[Message]:
        """The messages from the first on to this one."""
        found = []
        while message := self.messages.get(last or 0):
            found.append(message)
            last = message.parent_id
        return found[::-1]

    def siblings(self, message: Message, until: datetime | None = None) -> list[Message]:
        """Its versions, oldest first; with `until` those that there were then."""
        return [each for each in self._beside[message.parent_id] if until is None or each.created_at < until]

    def expect(self, last: int, until: datetime | None, *, counts: bool = True) -> Expect:
        """That this was shown. A page shows the end of a long transcript only: of that nothing is said."""
        path = self.path(last)
        if len(path) > CHUNK:
            return Expect()
        shown = tuple(map(_known_by, path))
        return Expect(shown, tuple(self._place(message, until) for message in path) if counts else None)

    def _place(self, message: Message, until: datetime | None) -> str:
        siblings = self.siblings(message, until)
        return f"{siblings.index(message) + 1}/{len(siblings)}" if len(siblings) > 1 and message in siblings else ""


def _known_by(message: Message) -> str:
    if message.kind == "tool":
        return ANYTHING  # what a tool says may be another thing next time
    text = message.text
    return text if len(text) <= WORDS else text[:WORDS].rstrip() + REST
