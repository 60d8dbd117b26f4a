"""Checkpoints as lanes, as `git log --graph` draws commits: what is shown in the first one, each other branch in one
of its own until it meets the checkpoint it grew from. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
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


def draw(checkpoints: Iterable[tuple[str, str | None, bool]]) -> dict[str, Place]:
    """The place of each checkpoint by its id. Given are id, parent, and whether it is on the visible path, of all
    checkpoints of a thread, children before parents."""
    rows = list(checkpoints)
    known = {name for name, _parent, _on_path in rows}
    wanted: dict[int, str] = {}
    places = {}
    for name, parent, on_path in rows:
        joining = tuple(sorted(lane for lane, want in wanted.items() if want == name))
        passing = tuple(sorted(lane for lane in wanted if lane not in joining))
        # What is shown grew from what is shown, so the first lane is free for it.
        lane = 0 if on_path else joining[0] if joining else next(each for each in count(1) if each not in wanted)
        for each in joining:
            del wanted[each]
        if parent in known:
            wanted[lane] = parent
        places[name] = Place(lane, passing, joining, parent in known)
    return places
