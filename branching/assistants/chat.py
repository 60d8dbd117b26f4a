"""Chat: one node that asks the language model, and gives it as much of the conversation as it can take."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime

from branching import context, llm
from branching.types import NOTHING_CHOSEN, Choices

MODEL = "model"


def build(models: llm.Models) -> StateGraph:
    """`START -> model -> END`."""

    async def model(state: MessagesState, runtime: Runtime[Choices]) -> dict[str, Any]:
        choices = runtime.context or NOTHING_CHOSEN
        chosen = models.of(choices.model)
        given = context.reading(state["messages"], tokens=chosen.context_tokens, choices=choices)
        return {"messages": [given.mark(await llm.reply(chosen.chat, given.messages))]}

    graph = StateGraph(MessagesState, context_schema=Choices)
    graph.add_node(MODEL, model)
    graph.add_edge(START, MODEL)
    graph.add_edge(MODEL, END)
    return graph
