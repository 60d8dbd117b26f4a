"""What people said and what they were told about it; in the end the database must bear it out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

Answer = Literal["unknown", "acknowledged", "refused"]


@dataclass
class Said:
    """A text that occurs nowhere else, the thread it was said in, and what became of the request."""

    thread: str
    text: str
    answer: Answer = "unknown"

    def answered(self, status: int) -> None:
        """Note the status. A request that was carried out stays so, whatever its repetition is told."""
        if status < 400:
            self.answer = "acknowledged"
        elif status < 500 and self.answer == "unknown":
            self.answer = "refused"

    def went_unanswered(self) -> None:
        """Note that a request got no answer: what its twin was refused, it may have done."""
        if self.answer == "refused":
            self.answer = "unknown"


@dataclass
class Ledger:
    """All that happened."""

    said: list[Said] = field(default_factory=list)
    commands: Counter[str] = field(default_factory=Counter)
    """What was pressed, by action."""
    answers: Counter[str] = field(default_factory=Counter)
    """What was answered, by status; "no answer" where the server went away."""
    sockets: Counter[str] = field(default_factory=Counter)
    server: Counter[str] = field(default_factory=Counter)
    findings: list[str] = field(default_factory=list)

    def say(self, thread: str, text: str) -> Said:
        """Note that this is going to be said."""
        self.said.append(Said(thread, text))
        return self.said[-1]
