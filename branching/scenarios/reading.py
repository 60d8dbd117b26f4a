"""Reads scenarios from TOML, strictly: a key that nobody knows is refused, with the place where it stands.

What it says of a file is in English, as the keys are: it is for whoever writes one.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from branching import assistants
from branching.assistants.concierge import clock
from branching.exceptions import BadScenario
from branching.limits import MESSAGE_MAX
from branching.scenarios.form import ACTIONS, ALWAYS, ERRORS, Expect, Reply, Scenario, Script, Step, ToolCall

SIZE_MAX = 200_000
"""Characters of a file."""

STEPS_MAX, REPLIES_MAX, WORDS_MAX = 300, 600, 1_000_000

HEADER = re.compile(r"^\s*\[\[\s*(step|model\s*\.\s*reply)\s*\]\]")

TODAY = re.compile(r"\{today(?:\+([0-9]{1,4}))?\}")
REPLY_TEXT = re.compile(r"\{reply ([0-9]{1,4})\}")
"""Stands, in what is expected, for all that this reply of the script says."""

RUN_STATES = ("idle", "running", "waiting", "failed")
STATES = ("done", "streaming", "stopped", "failed", "waiting")
OPEN = ("", "streaming", "failed", "stopped", "lost", "missing", "waiting", "answered")

Check = Callable[[Any], Any]


class _Wrong(ValueError):
    """A value that is not what it should be; the text says what it should be."""


@dataclass(frozen=True)
class _Place:
    """Where in a file something stands, for the person who has to mend it."""

    name: str
    what: str = ""

    def complain(self, text: str) -> BadScenario:
        return BadScenario(f"{self.name}: {f'{self.what}: ' if self.what else ''}{text}")


def read(source: str, name: str = "scenario.toml") -> Scenario:
    """The scenario. Raises `BadScenario`, which names the file, the step with its line, and what is wrong."""
    place = _Place(name)
    if len(source) > SIZE_MAX:
        raise place.complain(f"The file is longer than {SIZE_MAX} characters.")
    try:
        given = tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise place.complain(f"This is no TOML: {error}") from None
    lines, given = _lines(source), _with_dates(given)
    top = _fields(given, TOP, place, needed={"title"})
    model = _fields(top.pop("model", {}), MODEL, _Place(name, "[model]"))
    replies = _each(model.pop("reply", []), "reply", lines["reply"], name, REPLIES_MAX, _reply)
    steps = _each(top.pop("step", []), "step", lines["step"], name, STEPS_MAX, _step)
    if not steps:
        raise place.complain("There is no [[step]] in it.")
    steps = tuple(replace(step, expect=_with_replies(step.expect, replies)) for step in steps)
    return Scenario(**top, script=Script(replies, **model), steps=steps)


def _with_dates(given: Any) -> Any:
    """The same with `{today+3}` said as a date: a tool that books wants one that has not passed."""
    if isinstance(given, dict):
        return {key: _with_dates(value) for key, value in given.items()}
    if isinstance(given, list):
        return [_with_dates(each) for each in given]
    if isinstance(given, str):
        return TODAY.sub(lambda found: (clock.today() + timedelta(days=int(found[1] or 0))).isoformat(), given)
    return given


def _with_replies(expect: Expect, replies: Sequence[Reply]) -> Expect:
    def said(text: str) -> str:
        number = int(found[1]) if (found := REPLY_TEXT.fullmatch(text)) else 0
        return replies[number - 1].whole if 0 < number <= len(replies) else text

    lists = {name: tuple(map(said, texts)) for name in ("shown", "asked") if (texts := getattr(expect, name))}
    return replace(expect, **lists)


def _lines(source: str) -> dict[str, list[int]]:
    """The lines on which steps and replies begin. TOML's own reader does not tell."""
    found: dict[str, list[int]] = {"step": [], "reply": []}
    for number, line in enumerate(source.splitlines(), 1):
        if header := HEADER.match(line):
            found["step" if header[1] == "step" else "reply"].append(number)
    return found


def _each(
    given: Any, kind: str, lines: Sequence[int], name: str, most: int, make: Callable[[Any, _Place], Any]
) -> tuple[Any, ...]:
    if not isinstance(given, list) or len(given) > most:
        raise _Place(name, kind).complain(f"Write them as [[{kind}]], at most {most} of them.")
    # Where a text holds something that looks like a header, no line is better than a wrong one.
    known = lines if len(lines) == len(given) else [0] * len(given)
    places = (_Place(name, f"{kind} {at}" + (f" (line {line})" if line else "")) for at, line in enumerate(known, 1))
    return tuple(make(each, place) for each, place in zip(given, places, strict=True))


def _reply(given: Any, place: _Place) -> Reply:
    found = _fields(given, REPLY, place)
    calls = found.pop("call", [])
    reply = Reply(**found, calls=tuple(ToolCall(**_fields(call, CALL, place, needed={"name"})) for call in calls))
    if len(reply.text) * reply.repeat > WORDS_MAX:
        raise place.complain(f"It says more than {WORDS_MAX} characters.")
    return reply


def _step(given: Any, place: _Place) -> Step:
    found = _fields(given, STEP, place, needed={"do"})
    needed, allowed = ACTIONS[found["do"]]
    if missing := sorted(needed - set(found)):
        raise place.complain(f"{found['do']} needs {', '.join(missing)}.")
    if surplus := sorted(set(found) - needed - allowed - ALWAYS):
        raise place.complain(f"{found['do']} takes no {', '.join(surplus)}.")
    expect = Expect(**_fields(found.pop("expect", {}), EXPECT, _Place(place.name, f"{place.what}, expect")))
    return Step(**found, expect=expect)


def _fields(given: Any, known: Mapping[str, Check], place: _Place, needed: set[str] = frozenset()) -> dict[str, Any]:
    """The values of a table, each as its check leaves it."""
    if not isinstance(given, dict):
        raise place.complain("This has to be a table.")
    for key in given:
        if key not in known:
            raise place.complain(f"There is no key {key!r} here. Known are {', '.join(sorted(known))}.")
    if missing := sorted(needed - set(given)):
        raise place.complain(f"{', '.join(missing)} is missing.")
    return {key: _checked(key, value, known[key], place) for key, value in given.items()}


def _checked(key: str, value: Any, check: Check, place: _Place) -> Any:
    try:
        return check(value)
    except _Wrong as wrong:
        raise place.complain(f"{key} has to be {wrong}.") from None


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > MESSAGE_MAX or "\0" in value:
        raise _Wrong(f"a text of at most {MESSAGE_MAX} characters")
    return value


def _title(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > 200 or "\n" in value:
        raise _Wrong("a line of at most 200 characters")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("true or false")
    return value


def _number(least: int, most: int) -> Check:
    def check(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            raise _Wrong(f"a whole number from {least} to {most}")
        return value

    return check


def _message(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value == 0 or abs(value) > 100_000:
        raise _Wrong("the number of a message: 1 is the first, -1 the last")
    return value


def _seconds(most: float) -> Check:
    def check(value: Any) -> float:
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= most:
            raise _Wrong(f"a number of seconds from 0 to {most:g}")
        return float(value)

    return check


def _one_of(*choices: str) -> Check:
    def check(value: Any) -> str:
        if value not in choices:
            raise _Wrong(f"one of {', '.join(choice or 'an empty text' for choice in choices)}")
        return value

    return check


def _list_of(check: Check) -> Check:
    def checks(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _Wrong("a list")
        return tuple(check(each) for each in value)

    return checks


def _versions(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"([1-9][0-9]*/[1-9][0-9]*)?", value):
        raise _Wrong('a list of texts like "2/3", empty where a message has one version')
    return value


def _changes(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str | int) for each in value.values()):
        raise _Wrong("a table of the arguments that are changed")
    return {name: str(each) for name, each in value.items()}


def _arguments(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise _Wrong("a table")
    return value


def _as_it_is(value: Any) -> Any:
    return value


TOP: dict[str, Check] = {
    "title": _title,
    "sentence": _text,
    "assistant": _one_of(*assistants.ASSISTANTS),
    "cases": _list_of(_number(1, 999)),
    "only": _one_of("browser", "server"),
    "model": _as_it_is,
    "step": _as_it_is,
}
MODEL: dict[str, Check] = {"pace": _seconds(1), "reply": _as_it_is}
REPLY: dict[str, Check] = {
    "text": _text,
    "to": _text,
    "times": _number(0, 1_000),
    "repeat": _number(1, 100_000),
    "delay": _seconds(10),
    "hold_at_token": _number(0, 1_000_000),
    "fail_at_token": _number(0, 1_000_000),
    "error": _one_of(*ERRORS),
    "call": _list_of(_as_it_is),
}
CALL: dict[str, Check] = {"name": _text, "arguments": _arguments}
STEP: dict[str, Check] = {
    "do": _one_of(*ACTIONS),
    "text": _text,
    "message": _message,
    "times": _number(1, 100),
    "checkpoint": _number(1, 1_000_000),
    "question": _number(1, 100),
    "reason": _text,
    "changes": _changes,
    "every": _flag,
    "double": _flag,
    "answer": _flag,
    "wait": _flag,
    "tab": _number(1, 4),
    "note": _text,
    "expect": _as_it_is,
}
EXPECT: dict[str, Check] = {
    "shown": _list_of(_text),
    "versions": _list_of(_versions),
    "states": _list_of(_one_of(*STATES)),
    "open": _one_of(*OPEN),
    "run_state": _one_of(*RUN_STATES),
    "checkpoints": _number(0, 1_000_000),
    "added": _number(0, 1_000_000),
    "head": _one_of("moved", "stays"),
    "notice": _text,
    "calls": _number(0, 1_000_000),
    "asked": _list_of(_text),
    "bookings": _number(0, 1_000),
    "within": _seconds(60),
    "present": _list_of(_text),
    "absent": _list_of(_text),
}
