"""What the random stories are made of: where, which one, how a run will go, and how much of it is heard at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st


@dataclass(frozen=True)
class Plan:
    """How a run of the Chat assistant will go: so many words, then it is done, fails or hangs."""

    words: int
    end: str


TRACKS = st.integers(0, 2)
PICKS = st.integers(0, 99)
# How many events are taken at once; None for all.
TAKES = st.sampled_from([None, None, None, 0, 1, 2, 3, 4, 5])
PLANS = st.builds(Plan, st.integers(1, 4), st.sampled_from(["done", "done", "done", "fail", "hang"]))


class NotHere(Exception):
    """There is nothing on this thread to which this could happen."""


def picked(choice: list[Any], pick: int) -> Any:
    if not choice:
        raise NotHere
    return choice[pick % len(choice)]
