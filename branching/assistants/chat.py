"""Chat: one node that asks the language model, and gives it as much of the conversation as it can take."""

from __future__ import annotations

from typing import Any

from langgraph.graph import END, START, MessagesState, StateGraph

from branching import context, llm

MODEL = "model"


def build(models: llm.Models) -> StateGraph:
    """`START -> model -> END`."""

    async def model(state: MessagesState) -> dict[str, Any]:
        given = context.reading(state["messages"], tokens=models.context_tokens)
        return {"messages": [given.mark(await llm.reply(models.chat, given.messages))]}

    graph = StateGraph(MessagesState)
    graph.add_node(MODEL, model)
    graph.add_edge(START, MODEL)
    graph.add_edge(MODEL, END)
    return graph
