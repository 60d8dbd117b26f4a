"""What must be true when all is over, read from the databases themselves, once the server has stopped."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from branching.demo_model import reply_to
from tests.chaos.ledger import Ledger

ATTEMPTS = 40
"""More versions of one reply than there will be."""


@dataclass(frozen=True)
class Row:
    """One version of a message."""

    pk: int
    thread: str
    parent: int | None
    kind: str
    text: str
    is_stopped: bool


class Books:
    """The app's database, for reading."""

    def __init__(self, folder: Path) -> None:
        self._connection = sqlite3.connect(f"file:{folder / 'app.sqlite3'}?mode=ro", uri=True)
        self.messages = {row.pk: row for row in self._messages()}

    def _messages(self) -> Iterator[Row]:
        found = self.select("SELECT id, thread_id, parent_id, kind, text, data FROM branching_message")
        for pk, thread, parent, kind, text, data in found:
            yield Row(pk, thread, parent, kind, text, bool(json.loads(data).get("stopped")))

    def select(self, query: str) -> list[tuple]:
        return self._connection.execute(query).fetchall()

    def path(self, row: Row) -> list[Row]:
        """The messages from the first to this one."""
        up = [row]
        while up[-1].parent:
            up.append(self.messages[up[-1].parent])
        return up[::-1]


def judge(folder: Path, ledger: Ledger) -> list[str]:
    """All that is wrong."""
    books = Books(folder)
    return [*_lost_or_doubled(books, ledger), *_wrong_replies(books), *_still_running(books), *_repeated_steps(books)]


def _lost_or_doubled(books: Books, ledger: Ledger) -> Iterator[str]:
    found = Counter((row.thread, row.text) for row in books.messages.values() if row.kind == "human")
    for said in ledger.said:
        times = found[said.thread.split("/")[2].replace("-", ""), said.text]
        allowed = {"acknowledged": (1,), "refused": (0,), "unknown": (0, 1)}[said.answer]
        if times not in allowed:
            yield f"{said.thread}: {said.text!r} was {said.answer} and is there {times} times"


def _wrong_replies(books: Books) -> Iterator[str]:
    assistants = dict(books.select("SELECT id, assistant FROM branching_thread"))
    for row in books.messages.values():
        if row.kind != "ai":
            continue
        asked = books.path(row)[:-1]
        right = [f"回复：{asked[-1].text}"] if assistants[row.thread] == "echo" else _demo_replies(asked)
        if not (any(text.startswith(row.text) for text in right) if row.is_stopped else row.text in right):
            yield f"{row.thread}: the reply to {asked[-1].text!r} is {row.text[:200]!r}"


def _demo_replies(asked: Sequence[Row]) -> list[str]:
    kinds: dict[str, type[BaseMessage]] = {"human": HumanMessage, "ai": AIMessage}
    messages = [kinds[row.kind](row.text) for row in asked]
    return [reply_to(messages, attempt=attempt) for attempt in range(ATTEMPTS)]


def _still_running(books: Books) -> Iterator[str]:
    for thread, status in books.select("SELECT thread_id, status FROM branching_run WHERE ended_at IS NULL"):
        yield f"{thread}: a run is {status} and has not ended"


def _repeated_steps(books: Books) -> Iterator[str]:
    """Echo's first step, where it was taken twice on the way to one reply. Copies of checkpoints are no steps."""
    query = "SELECT thread_id, checkpoint_id, parent_id, message_id, source, next FROM branching_indexedcheckpoint"
    rows = {
        (thread, own): (parent, message, source, next)
        for thread, own, parent, message, source, next in books.select(query)
    }
    taken = defaultdict(list)
    for (thread, own), (parent, message, source, next) in rows.items():
        if source == "loop" and json.loads(next) == ["reply"]:
            taken[thread, message].append((own, parent))
    for (thread, message), steps in taken.items():
        for own, parent in steps:
            above = _above(rows, thread, parent)
            if any(other in above for other, _ in steps):
                yield f"{thread}: a finished step was taken again for message {message} at {own}"


def _above(rows: dict, thread: str, parent: str | None) -> set[str]:
    found = set()
    while parent:
        found.add(parent)
        parent = rows[thread, parent][0]
    return found
