"""The demo model: scripted, for trying the app without a key, and for tests that need a model without surprises.

What it says follows from the conversation and from the `attempt` in the run's metadata alone. A last message that
is one of the commands below (`/help` lists them) makes it slow, long-winded or faulty on purpose.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from itertools import cycle, islice

from langchain_core.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langchain_core.messages import BaseMessage
from langchain_core.runnables.config import ensure_config
from pydantic import PrivateAttr

from branching.demo_texts import CHINESE, ENGLISH, Phrases
from branching.local_model import LocalModel, pieces

COMMAND = re.compile(r"/(help|fail|long|slow)\b\s*(.*)", re.DOTALL)
CHINESE_TEXT = re.compile(r"[\u4e00-\u9fff]")
MOST_WORDS = 20_000

# What /fail raises, and after how many pieces: the errors of LangChain's providers, with the words they use.
FAILURES = {
    "": (ModelAPIError("The server had an error while processing your request."), 5),
    "auth": (ModelAuthenticationError("Incorrect API key provided."), 0),
    "rate": (ModelRateLimitError("Rate limit reached for requests."), 0),
    "network": (ModelConnectionError("Connection error."), 5),
    "timeout": (ModelTimeoutError("Request timed out."), 5),
}


class DemoModel(LocalModel):
    """Answers in the language of the question, with another wording at each attempt."""

    model: str = "demo"
    pause: float = 3.0
    """Seconds that `/slow` waits before its first token."""
    _failed: Counter[str] = PrivateAttr(default_factory=Counter)

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        """The scripted reply to the last message."""
        command = COMMAND.fullmatch(messages[-1].text.strip()) if messages else None
        name, argument = command.groups() if command else ("", "")
        if name == "slow":
            await asyncio.sleep(self.pause)
        if name == "fail" and self._fails(messages[-1], argument):
            async for piece in self._fail(argument):
                yield piece
        async for piece in self.paced(_text(name, argument, messages)):
            yield piece

    def _fails(self, message: BaseMessage, argument: str) -> bool:
        """Whether this try fails: always, or with a number the first so many tries to answer this message."""
        if not argument.isdecimal():
            return True
        key = message.id or message.text
        self._failed[key] += 1
        return self._failed[key] <= int(argument)

    async def _fail(self, argument: str) -> AsyncIterator[str]:
        error, after = FAILURES.get(argument, FAILURES[""])
        for piece in pieces(ENGLISH.failing)[:after]:
            await asyncio.sleep(self.token_delay)
            yield piece
        raise type(error)(*error.args)


def _text(command: str, argument: str, messages: list[BaseMessage]) -> str:
    phrases = _language(messages[-1].text if messages else "")
    attempt = _attempt()
    match command:
        case "help":
            return _worded(phrases, messages, attempt, phrases.help)
        case "long":
            return _long(phrases, messages, attempt, argument)
        case _:
            return _answer(phrases, messages, attempt)


def _attempt() -> int:
    """How many versions of this reply exist, as the run's metadata says; the node's config is at hand here."""
    attempt = ensure_config().get("metadata", {}).get("attempt", 0)
    return attempt if isinstance(attempt, int) else 0


def _language(text: str) -> Phrases:
    return CHINESE if CHINESE_TEXT.search(text) else ENGLISH


def _seed(messages: list[BaseMessage]) -> int:
    """A number that is the same for the same conversation, in any process."""
    text = "\0".join(f"{message.type}:{message.text}" for message in messages)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4], "big")


def _quote(text: str, longest: int = 80) -> str:
    """The text on one line, without what would be Markdown of its own."""
    line = re.sub(r"([\\`*_\[\]<>|#~])", r"\\\1", " ".join(text.split())[:longest])
    return line + ("…" if len(" ".join(text.split())) > longest else "")


def _answer(phrases: Phrases, messages: list[BaseMessage], attempt: int) -> str:
    bodies = phrases.topics[_topic(phrases, messages[-1].text if messages else "")]
    return _worded(phrases, messages, attempt, bodies[(_seed(messages) + attempt) % len(bodies)])


def _topic(phrases: Phrases, text: str) -> str:
    words = text.lower()
    found = (topic for topic, pattern in phrases.keywords.items() if re.search(pattern, words))
    return next(found, "explanation")


def _worded(phrases: Phrases, messages: list[BaseMessage], attempt: int, body: str) -> str:
    """The body between an opening and a closing. Their numbers share no divisor, so that the pairs repeat late."""
    asked = [message.text for message in messages if message.type == "human"] or [""]
    turn = _seed(messages) + attempt
    parts = [phrases.openings[turn % len(phrases.openings)].replace("{question}", _quote(asked[-1]))]
    if len(asked) > 1:
        parts.append(phrases.earlier.replace("{number}", str(len(asked))).replace("{question}", _quote(asked[-2])))
    parts += [body, phrases.closings[turn % len(phrases.closings)]]
    return "\n\n".join(part.strip() for part in parts)


def _long(phrases: Phrases, messages: list[BaseMessage], attempt: int, argument: str) -> str:
    wanted = min(int(argument), MOST_WORDS) if argument.isdecimal() else 600
    sections = "\n\n".join(islice(_sections(phrases, _seed(messages) + attempt), 1 + wanted // 40))
    words = re.findall(r"\S+\s*", sections)
    return "".join(words[:wanted]).strip()


def _sections(phrases: Phrases, start: int) -> Iterator[str]:
    """Numbered sections without end."""
    turned = phrases.paragraphs[start % len(phrases.paragraphs) :] + phrases.paragraphs
    for number, paragraph in enumerate(cycle(turned), 1):
        yield f"## {number}\n\n{paragraph}"
