"""Tells whether what a step expects does hold, and says of each thing what was expected and what was found.

It is the same for a page in a browser and for what the server would show: both come here as `Seen`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from branching.scenarios.form import Expect
from branching.scenarios.plays import Facts

IN_A_BROWSER = ("present", "absent")
"""What only a page can tell."""

ANYTHING, REST = "*", "…"
"""In a list of texts: whatever it says; and at the end of a text: whatever comes then."""

SETTLED = ("done", "stopped")


@dataclass(frozen=True)
class Row:
    """One message on screen."""

    id: str
    text: str
    state: str
    versions: str = ""


@dataclass(frozen=True)
class Seen:
    """What there is to see after a step."""

    rows: tuple[Row, ...]
    open: str
    run_state: str
    notice: str
    facts: Facts
    problems: tuple[str, ...] = ()
    """What must never be: an error of a script on the page, for one."""
    matches: Mapping[str, int] = field(default_factory=dict)
    """How many elements of the page each CSS selector of the step finds."""


@dataclass(frozen=True)
class Verdict:
    """One thing that was looked at."""

    what: str
    expected: str
    got: str
    holds: bool


@dataclass(frozen=True)
class Outcome:
    """What came of a step."""

    at: int
    """Its place in the scenario, from 0."""
    seconds: float
    verdicts: tuple[Verdict, ...] = ()
    stuck: str = ""
    """Why it could not be done at all."""
    shown: tuple[str, ...] = ()
    """What was on screen then."""

    @property
    def holds(self) -> bool:
        return not self.stuck and all(verdict.holds for verdict in self.verdicts)

    @property
    def failed(self) -> list[Verdict]:
        """What did not hold."""
        return [verdict for verdict in self.verdicts if not verdict.holds]

    def as_json(self) -> dict[str, Any]:
        """To be kept."""
        return asdict(self)

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Outcome:
        """What was kept."""
        verdicts = tuple(Verdict(**each) for each in kept["verdicts"])
        return cls(**{**kept, "verdicts": verdicts, "shown": tuple(kept["shown"])})


def judge(
    expect: Expect, before: Facts, seen: Seen, *, seconds: float, known: Mapping[str, str], in_browser: bool
) -> tuple[Verdict, ...]:
    """A verdict for each thing that is expected, and for what must hold after every step.

    `known` are the texts of finished messages by their ids, as far as they were seen before this step.
    """
    facts, rows = seen.facts, seen.rows
    found: dict[str, Callable[[], Any]] = {
        "shown": lambda: [row.text for row in rows],
        "versions": lambda: [row.versions for row in rows],
        "states": lambda: [row.state for row in rows],
        "open": lambda: seen.open,
        "run_state": lambda: seen.run_state,
        "checkpoints": lambda: facts.checkpoints,
        "added": lambda: facts.checkpoints - before.checkpoints,
        "head": lambda: "stays" if facts.head == before.head else "moved",
        "notice": lambda: seen.notice,
        "calls": lambda: facts.calls,
        "asked": lambda: list(facts.asked),
        "bookings": lambda: facts.bookings,
        "within": lambda: round(seconds, 2),
        "present": lambda: [each for each in expect.present or () if seen.matches.get(each)],
        "absent": lambda: [each for each in expect.absent or () if not seen.matches.get(each)],
    }
    said = {"notice": "", **expect.said()}
    left_out = () if in_browser else IN_A_BROWSER
    verdicts = [_verdict(what, said[what], found[what]()) for what in said if what not in left_out]
    return (*verdicts, *_always(seen, known))


def _verdict(what: str, expected: Any, got: Any) -> Verdict:
    wanted = list(expected) if isinstance(expected, tuple) else expected
    return Verdict(what, _said(wanted), _said(got), HOLDS.get(what, _same)(wanted, got))


def _said(value: Any) -> str:
    return "\n".join(each or "–" for each in value or [""]) if isinstance(value, list) else str(value) or "–"


def _same(expected: Any, got: Any) -> bool:
    return expected == got


def _texts(expected: Sequence[str], got: Sequence[str]) -> bool:
    return len(expected) == len(got) and all(map(_text, expected, got))


def _text(expected: str, got: str) -> bool:
    if expected.endswith(REST):
        return got.startswith(expected.removesuffix(REST))
    return expected in (ANYTHING, got)


def _part(expected: str, got: str) -> bool:
    return expected in got if expected else not got


HOLDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "shown": _texts,
    "asked": _texts,
    "notice": _part,
    "within": lambda most, took: took <= most,
}


def _always(seen: Seen, known: Mapping[str, str]) -> Iterator[Verdict]:
    """What needs no saying: one id never stands for two texts, and the page has no trouble of its own."""
    for row in seen.rows:
        if row.state in SETTLED and known.get(row.id, row.text) != row.text:
            yield Verdict("one id, one text", known[row.id], row.text, False)
    for problem in seen.problems:
        yield Verdict("no error on the page", "", problem, False)


def remember(known: dict[str, str], seen: Seen) -> None:
    """Take the finished messages of the screen to those that are known."""
    known.update({row.id: row.text for row in seen.rows if row.state in SETTLED})
