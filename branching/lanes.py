"""Checkpoints as lanes, as `git log --graph` draws commits: what is shown in the first one, each other branch in one
of its own until it meets the checkpoint it grew from. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count


@dataclass(frozen=True)
class Place:
    """Where a checkpoint stands, and which lanes there are beside it."""

    lane: int
    passing: tuple[int, ...]
    """Lanes that go past it."""
    joining: tuple[int, ...]
    """Lanes that come from above and end in it: one for each branch that grew from it."""
    goes_on: bool
    """Whether what it grew from follows below."""

    @property
    def width(self) -> int:
        """How many lanes it takes to draw it."""
        return max((self.lane, *self.passing, *self.joining)) + 1


def draw(checkpoints: Iterable[tuple[str, str | None, bool]], only: Container[str] | None = None) -> dict[str, Place]:
    """The place of each checkpoint by its id, or of those in `only`.

    Given are id, parent, and whether it is on the visible path, children before parents; no parent where it is gone.
    """
    wanted: dict[str, list[int]] = defaultdict(list)
    used: set[int] = set()
    free: list[int] = []
    fresh = count(1)
    places = {}
    for name, parent, on_path in checkpoints:
        joining = sorted(wanted.pop(name, ()))
        if on_path:
            lane = 0  # free for it, since what is shown grew from what is shown
        elif joining:
            lane = joining[0]
        else:
            lane = heappop(free) if free else next(fresh)
        used.difference_update(joining)
        if only is None or name in only:
            places[name] = Place(lane, tuple(sorted(used)), tuple(joining), parent is not None)
        if parent is not None:
            wanted[parent].append(lane)
            used.add(lane)
        for left in {lane, *joining} - used - {0}:
            heappush(free, left)
    return places
