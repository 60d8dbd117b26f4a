"""A cache bounded by what its entries weigh."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Recent(Generic[K, V]):
    """The entries used last, up to a total weight. Safe to share between threads."""

    def __init__(self, limit: int, weigh: Callable[[V], int]) -> None:
        self._limit, self._weigh, self._weight = limit, weigh, 0
        self._entries: OrderedDict[K, V] = OrderedDict()
        self._lock = threading.Lock()

    def get_many(self, keys: Iterable[K]) -> dict[K, V]:
        """The entries that are there, which makes them the last ones used."""
        with self._lock:
            found = {key: self._entries[key] for key in keys if key in self._entries}
            for key in found:
                self._entries.move_to_end(key)
        return found

    def put_many(self, entries: Mapping[K, V]) -> None:
        """Add entries. One that is there stays: what a name stands for does not change."""
        with self._lock:
            for key, entry in entries.items():
                if key not in self._entries:
                    self._entries[key] = entry
                    self._weight += self._weigh(entry)
            while self._weight > self._limit and len(self._entries) > 1:
                _, dropped = self._entries.popitem(last=False)
                self._weight -= self._weigh(dropped)
