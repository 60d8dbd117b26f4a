"""The chat models, opened by name. Nothing here reads settings: the values are passed in."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from django.utils import translation
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, InvalidToolCall, ToolCall, message_chunk_to_message

from branching import context
from branching.demo_model import DemoModel
from branching.exceptions import GarbledReply, ModelUnavailable
from branching.local_model import LocalModel

logger = logging.getLogger(__name__)

# Some providers' packages notice a missing key only when they are called; we say it when the app starts.
KEYS = {
    "anthropic": ("ANTHROPIC_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "google_genai": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "mistralai": ("MISTRAL_API_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "xai": ("XAI_API_KEY",),
}


DEMO = "demo"
"""The name of the model that needs no key."""

MALFORMED = "not_json"
"""The only argument of a call whose arguments could not be read: as they were written."""

TIMEOUT, RETRIES = 120.0, 2


@dataclass(frozen=True)
class Models:
    """What the assistants are built with."""

    chat: BaseChatModel
    """Always there. Where the configured model can't be used, it raises `ModelUnavailable` when it is called."""
    label: str
    """What the page calls it: its name as configured, or "Demo model"."""
    is_demo: bool = False
    problem: str = ""
    """What is missing and what to do about it; empty when all is well."""
    name: str = ""
    """Its name as configured."""
    token_delay: float = 0.0
    """Seconds between two tokens of the models that run in this process."""
    is_scripted: bool = False
    """Whether a scenario says what it answers: then every assistant obeys it."""
    context_tokens: int = context.DEFAULT
    """How many tokens of a conversation the chat model is given to read."""
    others: Mapping[str, Models] = field(default_factory=dict)
    """What else a person can choose for a thread, by name as configured."""

    @property
    def names(self) -> tuple[str, ...]:
        """What can be chosen: nothing, which means this one, or one of the others."""
        return ("", *self.others)

    def of(self, name: str) -> Models:
        """What was chosen by this name. Where it is offered no more, a model that says so when it is called.

        A script is not to be chosen away.
        """
        if not name or self.is_scripted:
            return self
        return self.others.get(name) or _gone(name)


def open_models(*, chat_model: str, others: Sequence[str] = (), **settings: Any) -> Models:
    """The models for these settings, `others` among them for people to choose: see `open_model` for the rest."""
    return replace(
        open_model(chat_model=chat_model, **settings),
        others={name: open_model(chat_model=name, **settings) for name in others},
    )


def open_model(
    *,
    chat_model: str,
    base_url: str,
    token_delay: float,
    context_tokens: int = 0,
    timeout: float = TIMEOUT,
    retries: int = RETRIES,
) -> Models:
    """The model for these settings. `chat_model` is written provider:model; empty or "demo", it is the demo model.

    Without `context_tokens` as many are read as the model is known to take. A provider may be silent for `timeout`
    seconds; a request that it does not begin to answer is repeated so many times, as the provider's package does it.
    Never raises: what is wrong stands in `problem`.
    """
    if chat_model in ("", DEMO):
        demo = DemoModel(token_delay=token_delay)
        size = context_tokens or context.DEFAULT
        return Models(demo, _("Demo model"), is_demo=True, name=DEMO, token_delay=token_delay, context_tokens=size)
    provider, _colon, name = chat_model.partition(":")
    provider = provider.replace("-", "_").lower()
    chat, error = _open(provider, name, base_url, timeout=timeout, retries=retries)
    if problem := _problem_of(error, provider, chat_model, base_url):
        with translation.override("en"):  # the log has one language, whoever asked first
            logger.warning("%s (%s)", problem, error or "no key")
        chat = UnavailableModel(model=chat_model, problem=problem)
    size = context_tokens or _context_of(chat)
    return Models(chat, chat_model, problem=problem, name=chat_model, token_delay=token_delay, context_tokens=size)


def _gone(name: str) -> Models:
    problem = format_lazy(_("The model {model} is not offered here any more. Choose another one."), model=name)
    return Models(UnavailableModel(model=name, problem=problem), name, problem=problem, name=name)


def _context_of(chat: BaseChatModel) -> int:
    known = (chat.profile or {}).get("max_input_tokens")
    return int(known * context.ROOM) if known else context.DEFAULT


async def reply(model: BaseChatModel, messages: Sequence[BaseMessage]) -> AIMessage:
    """The model's reply, streamed to whoever listens, under an id of our own.

    A provider may use one id twice, and one id must not become two versions. Because the id is new, LangGraph's
    "messages" stream brings the finished message once more, whole, after its chunks.
    """
    pieces = []
    try:
        async with aclosing(model.astream(list(messages))) as stream:
            async for piece in stream:
                pieces.append(piece)
                _heed_cancel()
    except json.JSONDecodeError as error:
        raise GarbledReply from error
    if not pieces:
        raise GarbledReply
    message = message_chunk_to_message(pieces[0] + pieces[1:] if pieces[1:] else pieces[0])
    calls = [*message.tool_calls, *map(_malformed, message.invalid_tool_calls)]
    changes = {"id": str(uuid4()), "content": storable(message.content), "tool_calls": calls, "invalid_tool_calls": []}
    return message.model_copy(update=changes)


def _malformed(call: InvalidToolCall) -> ToolCall:
    """A call whose arguments are no JSON, as one that its tool will refuse.

    It has been made, and without a result every provider would refuse the rest of the conversation.
    """
    name, written = call["name"] or "unknown", storable(call["args"] or "")
    return ToolCall(name=name, args={MALFORMED: written}, id=call["id"] or f"call_{uuid4().hex}", type="tool_call")


def _heed_cancel() -> None:
    """Raise a cancel that came to nothing: before Python 3.12 `asyncio.wait_for`, in which providers wait for the
    next piece, drops one that arrives together with the piece (https://github.com/python/cpython/issues/86296)."""
    task = asyncio.current_task()
    if task and task.cancelling():
        raise asyncio.CancelledError


class UnavailableModel(LocalModel):
    """Stands in for a model that can't be used, so that a run fails with the reason and the message stays."""

    problem: Any

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        raise ModelUnavailable(self.problem)
        yield


def _lacks_key(provider: str) -> bool:
    return provider in KEYS and not any(os.environ.get(variable) for variable in KEYS[provider])


def _is_local(provider: str, base_url: str) -> bool:
    """Whether it may be a server of one's own that speaks OpenAI's protocol: those want no key."""
    return provider == "openai" and bool(base_url)


def _open(
    provider: str, name: str, base_url: str, *, timeout: float, retries: int
) -> tuple[BaseChatModel | None, Exception | None]:
    options: dict[str, Any] = {"base_url": base_url} if base_url else {}
    if provider in KEYS:  # what runs on one's own machine takes its time, and knows no such options
        options |= _limits(provider, timeout, retries)
    if provider == "openai":
        options["stream_usage"] = True  # its package leaves it out where the address is another
    if _is_local(provider, base_url) and _lacks_key(provider):
        options["api_key"] = "none"  # the client insists on one
    try:
        if not name:
            raise ValueError("no model is named")
        chat = init_chat_model(name, model_provider=provider, **options)
    except Exception as error:
        return None, error
    if hasattr(chat, "stream_chunk_timeout"):  # the packages on OpenAI's client give up after 120 seconds otherwise
        chat.stream_chunk_timeout = timeout
    return chat, None


def _limits(provider: str, timeout: float, retries: int) -> dict[str, Any]:
    """The timeout and the retries as the provider's package counts them."""
    if provider == "openrouter":
        timeout = int(timeout * 1000)
    if provider == "google_genai":
        retries += 1  # the first request counts, and none would mean its own default
    return {"timeout": timeout, "max_retries": retries}


def _problem_of(error: Exception | None, provider: str, chat_model: str, base_url: str) -> str:
    if isinstance(error, ImportError):
        named = re.search(r"pip install ([\w-]+)", str(error))
        package = named[1] if named else f"langchain-{provider.replace('_', '-')}"
        sentence = _("The model {model} needs a package that is missing. Run `pip install {package}` and start again.")
        return format_lazy(sentence, model=chat_model, package=package)
    if _lacks_key(provider) and not _is_local(provider, base_url):
        sentence = _("The model {model} needs an API key. Set {variable} in the environment and start again.")
        return format_lazy(sentence, model=chat_model, variable=KEYS[provider][0])
    if error is None:
        return ""
    if type(error) is ValueError:
        sentence = _(
            "CHAT_MODEL is {model}, which names no known provider and model. Write provider:model, like openai:gpt-5."
        )
        return format_lazy(sentence, model=chat_model)
    sentence = _("The model {model} can't be opened ({error}). The server's log says more.")
    return format_lazy(sentence, model=chat_model, error=type(error).__name__)


def storable(content: Any) -> Any:
    """The content without what a database refuses: NUL, and halves of a character that a stream cut in two."""
    if isinstance(content, list):
        return [storable(block) for block in content]
    if isinstance(content, dict):
        return {key: storable(value) for key, value in content.items()}
    if not isinstance(content, str):
        return content
    return content.replace("\0", "").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
