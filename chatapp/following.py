"""How far a tab has come with a reply that is being written, and what it lacks of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from chatapp import stream
from chatapp.markdown import Growing
from chatapp.runner import Live

SMALL = 1_000
"""So many characters of a live reply are sent again, as they grow, whatever it has cost."""

SPARE, SHARE, RATE = 24_000, 1.1, 4_000
"""What more than that may cost: so many characters, so many for each of its own HTML, and so many for each second.

The last block is sent again and again while it grows. At the pace at which one reads that is nothing; but a flood of
text must not become a flood of repetitions."""


@dataclass
class Following:
    """One tab and one live reply."""

    live: Live
    reply: Growing
    size: int
    """How many characters of the reply the tab has."""
    settled: int
    """How many of its blocks the tab has for good."""
    spent: int
    """How many characters it was sent for them."""
    since: float = field(default_factory=time.monotonic)
    """When that began."""

    def frame(self) -> str:
        """The partial with what the tab lacks; empty where that is nothing, or can wait."""
        reply = self.reply
        # Another reply of the run has been announced, and the tab will hear of that presently.
        if reply is not self.live.reply or reply.size == self.size:
            return ""
        allowed = SPARE + SHARE * reply.weight + RATE * (time.monotonic() - self.since)
        if reply.open_size > SMALL and self.spent + reply.open_size > allowed:
            return ""
        frame = stream.live(self.live.run.pk, self.settled, reply.blocks()[self.settled :])
        self.size, self.settled, self.spent = reply.size, reply.growing, self.spent + len(frame)
        return frame
