"""The index of a thread in memory, as far as it takes to say what nothing leads to.

What a button leads to is what `index.py` says. Two kinds of checkpoints can be done without where something stands in
for them: LangGraph's fork copies, for which their origin does, and the input with which a message came, for which the
finished checkpoint before it does; an edit from there says the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile
from typing import NamedTuple
from uuid import UUID

from branching.index import START
from branching.models import IndexedCheckpoint, Message


class Row(NamedTuple):
    """A checkpoint as the index knows it."""

    pk: int
    id: str
    parent: str | None
    origin: str
    source: str
    next: list[str]
    message: int | None


@dataclass(frozen=True)
class Outline:
    """A thread's checkpoints and the tree of its messages, both in the order in which they came."""

    rows: dict[str, Row]
    messages: dict[int, int | None]
    """The parent of each."""
    children: dict[str | None, list[Row]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, thread_id: UUID) -> Outline:
        """The thread's, as it is now."""
        columns = ("pk", "checkpoint_id", "parent_id", "origin_id", "source", "next", "message_id")
        found = IndexedCheckpoint.objects.filter(thread=thread_id).order_by("id").values_list(*columns)
        messages = Message.objects.filter(thread=thread_id).order_by("id").values_list("pk", "parent_id")
        outline = cls({row[1]: Row(*row) for row in found.iterator()}, dict(messages.iterator()))
        for row in outline.rows.values():
            outline.children[row.parent].append(row)
        return outline

    @cached_property
    def after(self) -> dict[int | None, list[int]]:
        """For each message its next versions, and for None the first ones."""
        found: dict[int | None, list[int]] = defaultdict(list)
        for message, parent in self.messages.items():
            found[parent].append(message)
        return found

    def path(self, message: int | None) -> Iterator[int]:
        """The messages from this one up to the first."""
        while message is not None:
            yield message
            message = self.messages[message]

    def below(self, message: int) -> list[int]:
        """The message with all that follows it, parents first."""
        found = [message]
        for each in found:
            found += self.after.get(each, [])
        return found

    # What leads where

    def tips(self) -> dict[int | None, Row]:
        """Where a switch to each message lands: see `index.tip_of`."""
        return {row.message: row for row in self.rows.values() if not self._is_passed(row)}

    def bases(self) -> Iterator[Row]:
        """From where each message is edited or replayed: see `index.base_of`."""
        introduced: dict[int | None, Row] = {}
        for row in self.rows.values():
            introduced.setdefault(row.message, row)
        # Every other message came together with one of these.
        for row in introduced.values():
            if parent := self.rows.get(row.parent):
                yield parent
                yield from self._starts(parent, row.message)

    def _starts(self, parent: Row, message: int | None) -> Iterator[Row]:
        """Where a fork has changed messages in their places: what ends just before each of them, above `parent`."""
        if message is None or parent.message in (None, message, self.messages[message]):
            return
        before = set(self.path(parent.message))
        changed = list(takewhile(lambda each: each not in before, self.path(message)))
        if not changed or self.messages[changed[-1]] == parent.message:
            return
        above = {}
        while row := self.rows.get(parent.parent):
            above.setdefault(row.message, row)
            parent = row
        yield from (above[start] for each in changed if (start := self.messages[each]) in above)

    def needed(self, places: Iterable[str | None]) -> set[str]:
        """The checkpoints that a button leads to, or one of these places."""
        found = {place for place in places if place in self.rows}
        found |= {row.id for row in self.tips().values()}
        found |= {self.stand_in(row.id) for row in self.bases()}
        # The first one, to which Undo leads and from which a first message is edited; and what something waits at.
        found |= {row.id for row in self.rows.values() if row.parent not in self.rows}
        found |= {row.id for row in self.rows.values() if row.next and not self.children.get(row.id)}
        return found | {each for place in found for each in self._copied(place)}

    def _copied(self, checkpoint_id: str) -> Iterator[str]:
        """What a fork copy is a copy of, up to the original. All of it, since it is told by what is right above it."""
        row: Row | None = self.rows[checkpoint_id]
        while row and row.origin != row.id and row.parent in self.rows:
            row = self.rows[row.parent]
            yield row.id

    def stand_in(self, checkpoint_id: str) -> str:
        """The checkpoint from which everything goes on just as from this one; maybe itself."""
        row = self.rows[checkpoint_id]
        if row.origin != row.id and row.origin in self.rows:
            return self.stand_in(row.origin)
        parent = self.rows.get(row.parent)
        # Before a parent that was not finished, what it had left to do would be done too; but what only waits there to
        # be taken in would not be taken along.
        is_like = parent and parent.message == row.message and parent.next in ([], [START])
        if is_like and self._is_passed(row) and row.id not in self._answered_at_once:
            return self.stand_in(parent.id)
        return row.id

    @cached_property
    def _answered_at_once(self) -> set[str]:
        """What led to several messages in one step. Of whole turns the reply is regenerated from the input too."""
        pairs = [(row, self.rows[row.parent]) for row in self.rows.values() if row.parent in self.rows]
        new = [(row, parent) for row, parent in pairs if row.message not in (None, parent.message)]
        return {parent.origin for row, parent in new if self.messages[row.message] != parent.message}

    def with_what_led_there(self, messages: set[int], head: str | None) -> set[str]:
        """The checkpoints that hold one of these messages, and those that led to no other."""
        gone = {row.id for row in self.rows.values() if row.message in messages}
        waiting = [self.rows[each].parent for each in gone]
        while waiting:
            row = self.rows.get(waiting.pop())
            led_nowhere_else = row and all(child.id in gone for child in self.children[row.id])
            if led_nowhere_else and row.id not in gone and row.id != head and self.is_threshold(row):
                gone.add(row.id)
                waiting.append(row.parent)
        return gone

    def survivor(self, checkpoint_id: str | None, gone: set[str]) -> str | None:
        """The checkpoint itself or the nearest one above it that is not gone."""
        while checkpoint_id in gone:
            checkpoint_id = self.rows[checkpoint_id].parent
        return checkpoint_id

    def is_threshold(self, row: Row) -> bool:
        """Whether it is there for what grew from it alone: a fork copy, or the input with which a message came."""
        return row.origin != row.id or (row.next == [START] and row.parent in self.rows)

    def _is_passed(self, row: Row) -> bool:
        return row.next == [START] and bool(self.children.get(row.id))
