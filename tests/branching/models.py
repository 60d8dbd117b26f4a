"""Models for tests: they say what they are told to, and remember what they were asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.messages import BaseMessage
from pydantic import PrivateAttr

from branching.llm import Models
from branching.local_model import LocalModel


class Scripted(LocalModel):
    """Gives its replies in turn, the last one for ever.

    A reply is a text, an exception, or a tuple of both: what is written before it fails. `HANG` instead of the
    exception never ends, so that a run can be stopped in the middle.
    """

    model: str = "scripted"
    replies: tuple[Any, ...] = ("A reply.",)
    _calls: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def calls(self) -> list[list[BaseMessage]]:
        """The messages of each call, exactly as they came."""
        return self._calls

    @property
    def asked(self) -> list[list[str]]:
        """The texts of the messages of each call."""
        return [[message.text for message in messages] for messages in self._calls]

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        self._calls.append(list(messages))
        reply = self.replies[min(len(self._calls), len(self.replies)) - 1]
        for part in reply if isinstance(reply, tuple) else (reply,):
            if part is HANG:
                await asyncio.Event().wait()
            if isinstance(part, BaseException):
                raise part
            async for piece in self.paced(part):
                yield piece


HANG = object()


def models_with(chat: LocalModel, *, token_delay: float = 0.0) -> Models:
    """What the assistants are built with, this model among it."""
    return Models(chat=chat, label=chat.model, token_delay=token_delay)
