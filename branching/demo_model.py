"""The demo model: scripted, for trying the app without a key, and for tests that want no surprises.

What it says follows from the conversation and from the `attempt` in the run's metadata alone. A last message that is
one of its commands (`/help` lists them) makes it long-winded, slow or faulty on purpose.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator
from itertools import count, cycle

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
from branching.local_model import IDEOGRAPH, LocalModel, pieces

COMMAND = re.compile(r"\s*/(help|fail|long|slow)\b\s*(.*?)\s*", re.DOTALL)
MARKDOWN = re.compile(r"([\\`*_\[\]<>|#~!&])")
LIGHT_WORDS = re.compile(
    r"about|another|best|could|days|does|explain|from|give|have|into|like|list|make|more|please|show|some|table|"
    r"tell|than|that|their|them|then|there|these|they|this|want|what|when|where|which|will|with|would|write|your"
)
MOST_WORDS = 20_000

# What /fail raises and after how many pieces: the classes and the words of LangChain's own providers.
FAILURES: dict[str, tuple[type[Exception], str, int]] = {
    "": (ModelAPIError, "The server had an error while processing your request.", 6),
    "auth": (ModelAuthenticationError, "Incorrect API key provided.", 0),
    "rate": (ModelRateLimitError, "Rate limit reached for requests.", 0),
    "network": (ModelConnectionError, "Connection error.", 6),
    "timeout": (ModelTimeoutError, "Request timed out.", 6),
}


class DemoModel(LocalModel):
    """Answers in the language of the question, with another wording at each attempt."""

    model: str = "demo"
    pause: float = 3.0
    """Seconds that `/slow` waits before its first token."""
    _tries: Counter[str] = PrivateAttr(default_factory=Counter)

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        """The scripted reply to the last message."""
        command, argument = _command(_asked(messages)[-1])
        text = reply_to(messages, attempt=_attempt())
        if command == "slow":
            await asyncio.sleep(self.pause)
        if command == "fail" and self._fails_now(messages[-1], argument):
            async for piece in self._failing(text, argument):
                yield piece
        async for piece in self.paced(text):
            yield piece

    def _fails_now(self, message: BaseMessage, argument: str) -> bool:
        """Whether this try fails. With a number only the first so many tries to answer this very message do."""
        key = message.id or message.text
        self._tries[key] += 1
        return self._tries[key] <= _number(argument, default=sys.maxsize)

    async def _failing(self, text: str, argument: str) -> AsyncIterator[str]:
        error, words, after = FAILURES.get(argument, FAILURES[""])
        async for piece in self.paced("".join(pieces(text)[:after])):
            yield piece
        raise error(words)


def _attempt() -> int:
    """How many versions of this reply there are, from the metadata of the run that is under way."""
    attempt = ensure_config().get("metadata", {}).get("attempt", 0)
    return attempt if isinstance(attempt, int) else 0


def _asked(messages: list[BaseMessage]) -> list[str]:
    return [message.text for message in messages if message.type == "human"] or [""]


def _number(text: str, *, default: int) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else default


def _command(text: str) -> tuple[str, str]:
    found = COMMAND.fullmatch(text)
    return (found[1], found[2]) if found else ("", "")


def reply_to(messages: list[BaseMessage], *, attempt: int) -> str:
    """An opening, what there is to say, and a closing. `Phrases` tells why they differ for so many attempts."""
    asked = _asked(messages)
    phrases, turn = _language(asked), _seed(messages) + attempt
    parts = [_nth(phrases.openings, turn), _body(phrases, asked[-1], turn), _nth(phrases.closings, turn)]
    parts = [_about(part, asked[-1]) for part in parts]
    if told := "".join(message.text for message in messages if message.type == "system"):
        parts.insert(1, _about(phrases.told, told))
    if len(asked) > 1:
        parts.insert(1, _about(phrases.earlier.replace("{number}", str(len(asked))), asked[-2]))
    return "\n\n".join(part.strip() for part in parts)


def _body(phrases: Phrases, text: str, turn: int) -> str:
    match _command(text):
        case "help", _:
            return phrases.help
        case "fail", _:
            return phrases.recovered
        case "long", argument:
            return _long(phrases, turn, words=min(_number(argument, default=600), MOST_WORDS))
        case _:
            return _nth(phrases.topics[_topic(phrases, text)], turn)


def _long(phrases: Phrases, turn: int, *, words: int) -> str:
    """Numbered sections, cut after so many words."""
    start = turn % len(phrases.paragraphs)
    paragraphs = cycle(phrases.paragraphs[start:] + phrases.paragraphs[:start])
    written: list[str] = []
    for section in count(1):
        if len(written) >= words:
            break
        written += pieces(f"## {section}\n\n{next(paragraphs)} {next(paragraphs)}\n\n")
    return "".join(written[:words])


def _language(asked: list[str]) -> Phrases:
    """That of the last message which is not a command."""
    text = next((text for text in reversed(asked) if not _command(text)[0]), "")
    return CHINESE if IDEOGRAPH.search(text) else ENGLISH


def _topic(phrases: Phrases, text: str) -> str:
    fitting = (topic for topic, pattern in phrases.keywords.items() if re.search(pattern, text.lower()))
    return next(fitting, "explanation")


def _seed(messages: list[BaseMessage]) -> int:
    """A number that is the same for the same conversation, in any process."""
    text = "\0".join(f"{message.type}:{message.text}" for message in messages)
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:4], "big")


def _nth(texts: tuple[str, ...], number: int) -> str:
    return texts[number % len(texts)]


def _about(text: str, question: str) -> str:
    return text.replace("{subject}", _quoted(_subject(question), 40)).replace("{question}", _quoted(question, 80))


def _subject(question: str) -> str:
    """The question's weightiest word: the last name in it, else the longest. In Chinese, how it begins."""
    if IDEOGRAPH.search(question):
        return re.split(r"[，。？！,?!]", question.strip())[0][:12]
    words = [word for word in re.findall(r"[^\W\d_]{4,}", question) if not LIGHT_WORDS.fullmatch(word.lower())]
    names = [word for word in words if word.istitle() and not question.lstrip().startswith(word)]
    return (names or sorted(words, key=len) or [question])[-1]


def _quoted(text: str, longest: int) -> str:
    """The text on one line, shortened, its Markdown made harmless."""
    line = " ".join(text.split())
    return MARKDOWN.sub(r"\\\1", line[:longest]) + ("…" if len(line) > longest else "")
