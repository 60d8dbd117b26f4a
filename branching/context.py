"""What of a conversation a model is given: as much of its end as it can take."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, trim_messages

from branching.types import NOTHING_CHOSEN, Choices

ROOM = 0.75
"""How much of what a model can read is given to it: the rest is for its reply, and for counting that is not exact."""

DEFAULT = 24_000
"""Tokens for a model that does not say how much it can read."""

PER_MESSAGE = 4
"""Tokens that a message costs beside its text, or thereabouts."""


@dataclass(frozen=True)
class Reading:
    """What a model reads of a conversation."""

    messages: list[BaseMessage]
    left_out: int
    """How many messages, from the first on, it does not read."""
    choices: Choices = NOTHING_CHOSEN
    told: SystemMessage | None = None
    """What it is told first, where that is anything."""

    @property
    def sent(self) -> list[BaseMessage]:
        """All that it is sent."""
        return [*([self.told] if self.told else []), *self.messages]

    def mark(self, reply: AIMessage) -> AIMessage:
        """The reply with a note in its metadata, for the person, of what it was written without and with: `left_out`,
        and `settings`, where something was chosen."""
        found = {"left_out": self.left_out, "settings": self.choices.noted}
        noted = {name: value for name, value in found.items() if value}
        return reply.model_copy(update={"response_metadata": reply.response_metadata | noted})


def reading(
    messages: Sequence[BaseMessage],
    *,
    tokens: int,
    choices: Choices = NOTHING_CHOSEN,
    told: SystemMessage | None = None,
) -> Reading:
    """The last messages that fit into so many tokens, from a human message on, below the instructions that were chosen,
    or else what the model is `told`, which is not counted.

    The last human message and what follows it are always among them: where even they are too long, the model is to
    say so itself.
    """
    if choices.instructions:
        told = SystemMessage(choices.instructions)
        tokens = max(tokens - _tokens_of(told), 0)
    fit = partial(trim_messages, token_counter=_tokens, strategy="last", start_on="human")
    kept = fit(list(messages), max_tokens=tokens) or _last_turn(messages)
    return Reading(kept, len(messages) - len(kept), choices, told)


def _last_turn(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    starts = [at for at, message in enumerate(messages) if message.type == "human"]
    return list(messages[starts[-1] if starts else 0 :])


def _tokens(messages: Sequence[BaseMessage]) -> int:
    return sum(map(_tokens_of, messages))


def _tokens_of(message: BaseMessage) -> int:
    """About how many tokens the message takes: an ideograph is one, and of other characters four are."""
    said = message.text + (json.dumps(calls) if (calls := getattr(message, "tool_calls", None)) else "")
    plain = len(said.encode("ascii", "ignore"))
    return PER_MESSAGE + plain // 4 + len(said) - plain
