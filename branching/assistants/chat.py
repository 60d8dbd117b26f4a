"""Chat: one node that asks the language model."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, MessagesState, StateGraph

from branching import llm

MODEL = "model"


def build(models: llm.Models) -> StateGraph:
    """`START -> model -> END`."""

    async def model(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await llm.reply(models.chat, state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node(MODEL, model)
    graph.add_edge(START, MODEL)
    graph.add_edge(MODEL, END)
    return graph
