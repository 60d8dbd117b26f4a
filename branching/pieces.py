"""Who holds which piece: walks the store of a thread once, however many checkpoints share what they hold.

A holder is a bit: of a branch, or of "what stays". Each node of a list's tree is read once, with the holders of all
lists that it belongs to, so that the work grows with what is stored and not with what each checkpoint would be whole.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import ormsgpack
from django.db.models.functions import Length

from branching.encoding import LARGE_VALUE, MESSAGE, MESSAGES, NAME, Fetch, Name, Shape, leaves_of, split, unpack
from branching.models import StoredThread
from branching.store import PARAMETERS, delete_all_but, parts, reader

Holders = int
"""A set of holders, a bit for each."""

AT_ONCE = 2000
"""Rows that are read together."""


class Marks:
    """The pieces that are needed, each with its holders."""

    def __init__(self) -> None:
        self._levels: dict[int, dict[Name, Holders]] = defaultdict(dict)
        self._same: dict[Holders, Holders] = {}

    def add(self, shapes: Iterable[Shape], holders: Holders) -> None:
        """What these values refer to is held by these too."""
        for shape in shapes:
            for leaf in leaves_of(shape):
                if leaf[0] == MESSAGES:
                    self._mark(leaf[1], split(leaf[2]), holders)
                elif leaf[0] in (MESSAGE, LARGE_VALUE):
                    self._mark(0, [leaf[-1]], holders)

    def all(self, fetch: Fetch) -> dict[Name, Holders]:
        """Every piece that is needed, those below what was added too."""
        for level in range(max(self._levels, default=0), 0, -1):
            nodes = self._levels[level]
            for some in parts(list(nodes), PARAMETERS):
                for name, node in fetch(set(some)).items():
                    self._mark(level - 1, split(bytes(node)), nodes[name])
        for level in range(1, max(self._levels, default=0) + 1):
            for name, holders in self._levels[level].items():
                self._mark(0, [name], holders)
        return self._levels[0]

    def _mark(self, level: int, names: Iterable[Name], holders: Holders) -> None:
        marks = self._levels[level]
        for name in names:
            both = marks.get(name, 0) | holders
            # One object for each set: with many branches they are long numbers.
            marks[name] = self._same.setdefault(both, both)


def weights(thread: StoredThread, held_by: Callable[[str], Holders]) -> Counter[Holders]:
    """The bytes in the store by who holds them; 0 stands for pieces that nobody needs.

    `held_by` tells it of a checkpoint of the graph itself. What a subgraph saved belongs to the checkpoint at which it
    ran, and what a task wrote to the checkpoint after which it did.
    """
    found: Counter[Holders] = Counter()
    marks = Marks()
    holders: dict[tuple[str, str], Holders] = {}
    for ns, checkpoint_id, body in checkpoints(thread):
        holders[ns, checkpoint_id] = held = held_by(outer(ns, checkpoint_id, body))
        found[held] += len(body)
        marks.add(values_in(body), held)
    for ns, checkpoint_id, body in _writes(thread):
        held = holders.get((ns, checkpoint_id), 0)
        found[held] += len(body)
        marks.add(written_in(body), held)
    names = marks.all(reader(thread.pk))
    sizes = thread.pieces.annotate(size=Length("data")).values_list("name", "size")
    for name, size in sizes.iterator(chunk_size=AT_ONCE):
        found[names.get(bytes(name), 0)] += NAME + size
    return found


def sweep(thread: StoredThread) -> None:
    """Delete the pieces that nothing refers to any more. The thread is held."""
    marks = Marks()
    for *_, body in checkpoints(thread):
        marks.add(values_in(body), 1)
    for *_, body in _writes(thread):
        marks.add(written_in(body), 1)
    delete_all_but(thread, set(marks.all(reader(thread.pk))))


def checkpoints(thread: StoredThread) -> Iterator[tuple[str, str, bytes]]:
    """Namespace, id and body of each of the thread's checkpoints."""
    return thread.checkpoints.values_list("ns", "checkpoint_id", "body").iterator(chunk_size=AT_ONCE)


def _writes(thread: StoredThread) -> Iterator[tuple[str, str, bytes]]:
    return thread.writes.values_list("ns", "checkpoint_id", "body").iterator(chunk_size=AT_ONCE)


def outer(ns: str, checkpoint_id: str, body: bytes) -> str:
    """The checkpoint of the graph itself at which this one was made: itself, where it is no subgraph's."""
    if not ns:
        return checkpoint_id
    _, _, (_, metadata) = unpack(body)
    parents = ormsgpack.unpackb(bytes(metadata), ext_hook=_nothing).get("parents") or {}
    return parents.get("", "")


def values_in(body: bytes) -> list[Shape]:
    """The shapes of a checkpoint's values."""
    return [shape for _, shape in unpack(body)[1].values()]


def written_in(body: bytes) -> list[Shape]:
    """The shapes of what a task wrote."""
    return [shape for *_, shape in unpack(body)]


def _nothing(*_: Any) -> None:
    return None
