"""The model that plays its part in a scenario: an honest chat model that speaks, waits and fails as it is told to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.runnables.config import ensure_config
from pydantic import PrivateAttr

from branching import history, llm
from branching.demo_model import FAILURES
from branching.engine import Engine
from branching.exceptions import OutOfScript
from branching.llm import Models
from branching.local_model import LocalModel, pieces
from branching.models import Thread
from branching.scenarios import plays
from branching.scenarios.form import Reply, Script, ToolCall

LABEL = "Scenario"
"""What the page calls it."""

LOOK = 0.02
"""Seconds between two looks whether a reply that is held may go on."""


async def models_of(engine: Engine, thread: Thread) -> Models | None:
    """The models that answer in this thread, where it plays a scenario: they follow the script. Else None.

    Raises `OutOfScript` where it does, and this server plays none: no other model is to answer in its place.
    """
    play = await plays.of(thread.pk)
    if play is None:
        return None
    if not engine.plays:
        raise OutOfScript
    return models_for(plays.scenario_of(play).script, thread.pk)


def models_for(script: Script, thread_id: UUID) -> Models:
    """What the assistant is built with. Where the script is empty, the rules and the demo model that need no key."""
    if not script.replies:
        return llm.open_models(chat_model="", base_url="", token_delay=script.pace)
    model = ScriptedModel(token_delay=script.pace).following(script.replies, thread_id)
    return Models(chat=model, label=LABEL, token_delay=script.pace, is_scripted=True)


class ScriptedModel(LocalModel):
    """Gives the replies of a script, and writes down what it was asked."""

    model: str = "scripted"
    _replies: tuple[Reply, ...] = PrivateAttr(default=())
    _thread_id: UUID | None = PrivateAttr(default=None)

    def following(self, replies: Sequence[Reply], thread_id: UUID) -> ScriptedModel:
        """Itself, with what it is to say in this thread."""
        self._replies, self._thread_id = tuple(replies), thread_id
        return self

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> ScriptedModel:
        """Itself: which tools it calls stands in the script."""
        return self

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str | AIMessageChunk]:
        """The next reply of the script."""
        said = next((message.text for message in reversed(messages) if message.type == "human"), "")
        asked = [message.text for message in messages if message.type != "system"]
        call, reply = await plays.ask(self._thread_id, self._replies, said, asked)
        await asyncio.sleep(reply.delay)
        tokens = pieces(reply.whole)
        for at, token in enumerate(tokens):
            await self._pass(reply, at, call)
            await asyncio.sleep(self.token_delay)
            yield token
        for at in range(len(tokens), max(reply.hold_at_token or 0, reply.fail_at_token or 0, len(tokens)) + 1):
            await self._pass(reply, at, call)
        for place, each in enumerate(reply.calls):
            yield _chunk(place, f"call_{call}_{place}", each)

    async def _pass(self, reply: Reply, token: int, call: int) -> None:
        """Go on to this token, unless the script says otherwise. A long text is no reason to keep others waiting."""
        if reply.hold_at_token == token:
            await plays.hold(self._thread_id, _run())
            while not await plays.is_released(self._thread_id, call):  # noqa: ASYNC110 - another process may say so
                await asyncio.sleep(LOOK)
        if reply.fail_at_token == token:
            error, words, _after = FAILURES["" if reply.error == "model" else reply.error]
            raise error(words)


def _run() -> UUID | None:
    run = ensure_config().get("metadata", {}).get(history.RUN)
    return UUID(run) if run else None


def _chunk(place: int, call_id: str, call: ToolCall) -> AIMessageChunk:
    written = json.dumps(dict(call.arguments), ensure_ascii=False)
    named = {"index": place, "type": "tool_call_chunk", "id": call_id, "name": call.name, "args": written}
    return AIMessageChunk("", tool_call_chunks=[named])
