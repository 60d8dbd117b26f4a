"""Chat: one node that asks the language model, and gives it as much of the conversation as it can take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from branching import context, llm
from branching.types import NOTHING_CHOSEN, Choices

MODEL = "model"


def given(models: llm.Models, state: Mapping[str, Any], choices: Choices) -> context.Reading:
    """What the model is sent of this state, where this was chosen."""
    return context.reading(state["messages"], tokens=models.of(choices.model).context_tokens, choices=choices)


def build(models: llm.Models) -> StateGraph:
    """`START -> model -> END`."""

    async def model(state: MessagesState, runtime: Runtime[Choices]) -> dict[str, Any]:
        choices = runtime.context or NOTHING_CHOSEN
        read = given(models, state, choices)
        return {"messages": [read.mark(await llm.reply(models.of(choices.model).chat, read.sent))]}

    graph = StateGraph(MessagesState, context_schema=Choices)
    graph.add_node(MODEL, model)
    graph.add_edge(START, MODEL)
    graph.add_edge(MODEL, END)
    return graph
