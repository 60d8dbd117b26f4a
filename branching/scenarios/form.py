"""What a scenario consists of. Plain frozen dataclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

LAST = -1
"""The message at the end; messages are counted from 1, and from the end with a minus."""

ASSISTANT_OF_MOST = "chat"

ERRORS = ("model", "auth", "rate", "network", "timeout")
"""How a provider can fail."""


@dataclass(frozen=True)
class ToolCall:
    """A tool that the scripted model calls."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """One answer of the scripted model. A token is what `local_model.pieces` cuts the text into."""

    text: str = ""
    to: str | None = None
    """Only as an answer to these words; without it, to whatever comes next."""
    times: int = 1
    """How often it is given; 0 means always."""
    repeat: int = 1
    """How often the text is said in the one answer."""
    delay: float = 0.0
    """Seconds before the first token."""
    hold_at_token: int | None = None
    """It waits there, until the step `release`, or until it is stopped."""
    fail_at_token: int | None = None
    """The provider fails there."""
    error: str = "model"
    """How it fails: one of `ERRORS`."""
    calls: tuple[ToolCall, ...] = ()

    @property
    def whole(self) -> str:
        """All that it says."""
        return self.text * self.repeat


@dataclass(frozen=True)
class Script:
    """What the model says in a scenario."""

    replies: tuple[Reply, ...] = ()
    pace: float = 0.0
    """Seconds between two tokens."""


@dataclass(frozen=True)
class Expect:
    """What must hold after a step. What is None is not looked at."""

    shown: tuple[str, ...] | None = None
    """The texts of the messages on screen, from the first to the last."""
    versions: tuple[str, ...] | None = None
    """Beside each of them "2/3", or nothing where it has one version."""
    states: tuple[str, ...] | None = None
    """Of each of them: done, streaming, stopped, failed or waiting."""
    open: str | None = None
    """What stands in the place of a reply that is not there; empty: nothing."""
    run_state: str | None = None
    checkpoints: int | None = None
    """How many there are in the thread."""
    added: int | None = None
    """How many of them this step has added."""
    head: str | None = None
    """moved or stays."""
    notice: str | None = None
    """What the page says of the command, or a part of it; empty: nothing."""
    calls: int | None = None
    """How often the model has been asked."""
    asked: tuple[str, ...] | None = None
    """The texts that it was given last, without what the assistant tells it."""
    bookings: int | None = None
    """How many stand."""
    within: float | None = None
    """Seconds that the step takes at most."""
    present: tuple[str, ...] | None = None
    """What is on the page, as CSS selectors. In a browser alone."""
    absent: tuple[str, ...] | None = None
    """What is not. In a browser alone."""

    def said(self) -> dict[str, Any]:
        """What is looked at, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Step:
    """One thing that a person does."""

    do: str
    text: str = ""
    message: int = LAST
    times: int = 1
    checkpoint: int = 0
    """The checkpoints of a thread are counted from 1, the oldest."""
    question: int = 1
    reason: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)
    every: bool = False
    """Of answers: to all questions at once."""
    double: bool = False
    """Pressed twice."""
    answer: bool = True
    """Of an edit: whether its second half comes, the request for a reply."""
    wait: bool = True
    """Whether the step is over only once nothing runs, or the reply is held."""
    tab: int = 1
    note: str = ""
    expect: Expect = field(default_factory=Expect)

    def told(self) -> dict[str, Any]:
        """With what it is done, beside `do`: the fields that are not as they are as a rule."""
        plain = {each.name: each.default for each in fields(self) if each.default is not MISSING}
        own = {name: value for name, value in vars(self).items() if value != plain.get(name, {})}
        return {name: value for name, value in own.items() if name not in ("do", "note", "expect")}


@dataclass(frozen=True)
class Scenario:
    """A whole one."""

    title: str
    sentence: str = ""
    assistant: str = ASSISTANT_OF_MOST
    cases: tuple[int, ...] = ()
    """The numbers of the field log that it restates."""
    only: str = ""
    """`browser` or `server`: where it can be played; empty: in both."""
    script: Script = field(default_factory=Script)
    steps: tuple[Step, ...] = ()


MESSAGE = {"message"}
ACTIONS: dict[str, tuple[set[str], set[str]]] = {
    "send": ({"text"}, {"double", "checkpoint"}),
    "edit": ({"text"}, {"message", "answer"}),
    "regenerate": (set(), {"message", "double"}),
    "again": (set(), MESSAGE),
    "previous": (set(), {"message", "times"}),
    "next": (set(), {"message", "times"}),
    "show": ({"checkpoint"}, set()),
    "replay": ({"checkpoint"}, set()),
    "undo": (set(), {"times"}),
    "retry": (set(), {"double"}),
    "stop": (set(), set()),
    "approve": (set(), {"question", "changes", "every"}),
    "reject": (set(), {"question", "reason", "every"}),
    "decide-again": (set(), MESSAGE),
    "release": (set(), set()),
    "interrupt": (set(), set()),
    "wait": (set(), set()),
    "reload": (set(), set()),
    "deafen": (set(), set()),
    "hear": (set(), set()),
}
"""What one can do: the fields that each needs, and those that it may have besides."""

ALWAYS = {"do", "tab", "wait", "note", "expect"}
"""Fields that every step may have."""
