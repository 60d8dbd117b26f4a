"""Guide: explains the words of this app, in LangGraph's functional API: one function, and two tasks in it.

LangGraph keeps of such a graph what a whole turn has led to, and nothing in between. So a turn is one step: it is
regenerated, edited and switched as a whole. See docs/assistants.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage, SystemMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.func import entrypoint, task
from langgraph.graph.message import add_messages
from langgraph.pregel import Pregel

from branching import context, llm
from branching.assistants.guide_texts import CHINESE, ENGLISH, Passage
from branching.local_model import IDEOGRAPH, LocalModel

WORD = re.compile(r"[a-z]+")
MOST = 3
"""Passages that an answer is written from."""

ROLE = (
    "You explain the words of Switchback, a chat whose conversations branch over LangGraph checkpoints. Answer from "
    "these passages alone, in the person's language, and name the title of each that you used in brackets. Where they "
    "do not answer it, say so.\n\nPassages:\n"
)
UNKNOWN = (
    "Ask me about a word of this app: " + ", ".join(passage.title for passage in ENGLISH) + ".",
    "可以问我这个应用里的词语：" + "、".join(passage.title for passage in CHINESE) + "。",
)


@dataclass(frozen=True)
class Functional:
    """What stands in the place of a graph that is yet to be compiled."""

    models: llm.Models

    def compile(self, *, checkpointer: BaseCheckpointSaver | None = None) -> Pregel:
        """The function as a graph over this saver."""
        return _entrypoint(self.models, checkpointer)


def build(models: llm.Models) -> Functional:
    """`retrieve -> write`, as one step."""
    return Functional(models)


def _entrypoint(models: llm.Models, saver: BaseCheckpointSaver | None) -> Pregel:
    model = GuideModel(token_delay=models.token_delay) if models.is_demo else models.chat

    @task
    async def retrieve(said: str) -> list[dict[str, str]]:
        return _found(said)

    @task
    async def write(messages: list[BaseMessage], found: list[dict[str, str]]) -> BaseMessage:
        read = _read(models, messages, found)
        return read.mark(await llm.reply(model, read.sent))

    @entrypoint(checkpointer=saver)
    async def whole_turn(given: dict[str, Any], *, previous: Any = None) -> Any:
        """The name is what branching/history.py knows such a step by."""
        said = add_messages((previous or {}).get("messages", []), given["messages"])
        state = {"messages": [*said, await write(said, await retrieve(said[-1].text))]}
        return entrypoint.final(value=state, save=state)

    return whole_turn


def given(models: llm.Models, state: Mapping[str, Any]) -> context.Reading:
    """What the model is sent of this state."""
    return _read(models, state["messages"], _found(state["messages"][-1].text))


def _read(models: llm.Models, messages: Sequence[BaseMessage], found: Sequence[Mapping[str, str]]) -> context.Reading:
    told = SystemMessage(ROLE + json.dumps(found, ensure_ascii=False))
    return context.reading(messages, tokens=models.context_tokens, told=told)


def _found(said: str) -> list[dict[str, str]]:
    return [{"title": passage.title, "text": passage.text} for passage in passages_for(said)]


def passages_for(said: str) -> Sequence[Passage]:
    """The passages that fit best, in the language of the question; none where nothing fits."""
    if IDEOGRAPH.search(said):
        found = {passage: sum(word in said for word in passage.words) for passage in CHINESE}
    else:
        words = set(WORD.findall(said.lower()))
        words |= {word.removesuffix("s") for word in words}
        found = {passage: len(words.intersection(passage.words)) for passage in ENGLISH}
    fitting = sorted((passage for passage in found if found[passage]), key=lambda passage: -found[passage])
    return fitting[:MOST]


class GuideModel(LocalModel):
    """Says what the passages say, the best one first."""

    model: str = "guide-rules"

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        """The passages, each with its title; or what one can ask for."""
        passages = json.loads(messages[0].text.partition("Passages:\n")[2])
        in_chinese = bool(IDEOGRAPH.search(messages[-1].text))
        told = [f"{each['text']} **[{each['title']}]**" for each in passages]
        async for piece in self.paced("\n\n".join(told) or UNKNOWN[in_chinese]):
            yield piece
