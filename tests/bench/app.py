"""The app with a model that keeps a pace and says when each word was due; beside it a bare consumer that says the same.

What is asked is "400 at 20": so many words, so many a second. "20000 in 20" is Markdown of so many characters in so
many seconds.
"""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any

from chatapp.asgi import application as app  # isort: skip - it loads the settings

from channels.generic.websocket import AsyncWebsocketConsumer
from langchain_core.messages import BaseMessage

from branching.llm import Models
from branching.local_model import LocalModel, pieces
from chatapp import engine
from tests.texts import sections

DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
PER_PARAGRAPH = 60
MOST_PER_SECOND = 50
END = "END"


def stamp(moment: float) -> str:
    """The moment in milliseconds, as a word in capital letters."""
    number, letters = int(moment * 1000) % 36**6, ""
    while number:
        number, digit = divmod(number, 36)
        letters = DIGITS[digit] + letters
    return letters


async def said(asked: str) -> AsyncIterator[str]:
    """The words of a reply, each when it is due. A late one does not delay the next: providers don't wait for us."""
    words, seconds = _planned(asked)
    start = time.time()
    for number, word in enumerate(words):
        due = start + number * seconds
        await asyncio.sleep(max(0, due - time.time()))
        yield word or stamp(due) + ("\n\n" if number % PER_PARAGRAPH == PER_PARAGRAPH - 1 else " ")


def _planned(asked: str) -> tuple[list[str], float]:
    """The words, empty where a stamp belongs, and the seconds between two."""
    first, how, second = re.fullmatch(r"(\d+) (at|in) (\d+)", asked).groups()
    if how == "at":
        return [""] * int(first), 1 / int(second)
    words = list(_joined(pieces(sections(int(first))), int(second) * MOST_PER_SECOND))
    return words, int(second) / len(words)


def _joined(words: list[str], count: int) -> Iterator[str]:
    """The words in about `count` parts: a loop can't keep any pace."""
    size = -(-len(words) // count)
    return ("".join(words[start : start + size]) for start in range(0, len(words), size))


class Timed(LocalModel):
    model: str = "timed"

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        async for word in said(messages[-1].text):
            yield word


class Bare(AsyncWebsocketConsumer):
    """The least that Channels can do: a group, and every word passed on as it comes."""

    async def connect(self) -> None:
        self.group = f"bare.{uuid.uuid4().hex}"
        await self.accept()
        await self.channel_layer.group_add(self.group, self.channel_name)

    async def receive(self, text_data: str) -> None:
        self.saying = asyncio.create_task(self._say(text_data))

    async def disconnect(self, code: int) -> None:
        await self.channel_layer.group_discard(self.group, self.channel_name)

    async def _say(self, asked: str) -> None:
        async for word in said(asked):
            await self._pass_on(word)
        await self._pass_on(END)

    async def _pass_on(self, word: str) -> None:
        await self.channel_layer.group_send(self.group, {"type": "word", "word": word})

    async def word(self, event: dict[str, Any]) -> None:
        await self.send(text_data=event["word"])


bare = Bare.as_asgi()
engine.llm.open_models = lambda **_: Models(chat=Timed(), label="timed")


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The app, and the bare consumer under an address of its own."""
    is_bare = scope["type"] == "websocket" and scope["path"] == "/ws/bare/"
    await (bare if is_bare else app)(scope, receive, send)
