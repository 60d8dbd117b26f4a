"""Echo: two nodes and no surprises, so that every chain of checkpoints can be predicted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from branching import context, llm
from branching.local_model import LocalModel

BOOKING, REPLY = "booking", "reply"


class EchoModel(LocalModel):
    """Repeats the last message."""

    model: str = "echo"

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        """`回复：` and the last message's text."""
        async for piece in self.paced(f"回复：{messages[-1].text}"):
            yield piece


async def booking(state: MessagesState) -> dict[str, Any]:
    """A step that writes nothing: it shows as a checkpoint of its own."""
    return {}


def given(models: llm.Models, state: Mapping[str, Any]) -> context.Reading:
    """What the model is sent of this state: the last message."""
    return context.Reading(state["messages"][-1:], 0)


def build(models: llm.Models) -> StateGraph:
    """`START -> booking -> reply -> END`."""
    echo = models.chat if models.is_scripted else EchoModel(token_delay=models.token_delay)

    async def reply(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await llm.reply(echo, given(models, state).sent)]}

    graph = StateGraph(MessagesState)
    graph.add_node(BOOKING, booking)
    graph.add_node(REPLY, reply)
    graph.add_edge(START, BOOKING)
    graph.add_edge(BOOKING, REPLY)
    graph.add_edge(REPLY, END)
    return graph
