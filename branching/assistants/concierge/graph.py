"""The concierge's graph: an agent that talks, and a step for each tool call, all calls of one message at once."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from branching import context, history, llm
from branching.actions import Step
from branching.assistants.concierge import clock, desk, reading
from branching.assistants.concierge.rules import RulesModel
from branching.assistants.concierge.state import State
from branching.assistants.concierge.tools import TOOLS

AGENT, TOOLS_NODE = "agent", "tools"

ROLE = (
    "You are the concierge of a hotel agency in Xi'an. Use the tools; never make up hotels, prices or orders. Book "
    "only what a search has returned. To book or cancel, call the tool: the person is asked by it, so do not ask "
    "first. Several bookings may be asked for in one message: call the tool for each of them at once. Answer in the "
    "person's language. Today is {today}."
)
BUDGET = " The person's budget for one stay is {budget} CNY."


def build(models: llm.Models) -> StateGraph:
    """`START -> agent -> tools -> agent ... -> END`."""
    model = _with_tools(models)

    async def agent(state: State) -> dict[str, Any]:
        read = given(models, state)
        return {"messages": [read.mark(await llm.reply(model, read.sent))], "budget": _budget(state)}

    graph = StateGraph(State)
    graph.add_node(AGENT, agent)
    graph.add_node(TOOLS_NODE, tools)
    graph.add_edge(START, AGENT)
    graph.add_conditional_edges(AGENT, _calls, [TOOLS_NODE, END])
    graph.add_edge(TOOLS_NODE, AGENT)
    return graph


def given(models: llm.Models, state: Mapping[str, Any]) -> context.Reading:
    """What the model is sent of this state."""
    return context.reading(state["messages"], tokens=models.context_tokens, told=_role(_budget(state)))


def _budget(state: Mapping[str, Any]) -> int | None:
    said = next((message.text for message in reversed(state["messages"]) if message.type == "human"), "")
    return reading.budget_in(said) or state.get("budget")


def _with_tools(models: llm.Models) -> Runnable[LanguageModelInput, AIMessage]:
    if models.is_demo:
        return RulesModel(token_delay=models.token_delay).bind_tools(TOOLS)
    try:
        return models.chat.bind_tools(TOOLS)
    except NotImplementedError:  # it can only talk, or it stands for one that can't be used and says why
        return models.chat


def _role(budget: int | None) -> SystemMessage:
    text = ROLE.format(today=clock.today().isoformat())
    return SystemMessage(text + (BUDGET.format(budget=budget) if budget else ""))


def _calls(state: State) -> list[Send] | str:
    """A step for each tool call, so that each asks, and is answered, for itself."""
    last = state["messages"][-1]
    known = {"seen_hotel_ids": state.get("seen_hotel_ids", []), "budget": state.get("budget")}
    calls = last.tool_calls if isinstance(last, AIMessage) else []
    return [Send(TOOLS_NODE, {"call": dict(call), **known}) for call in calls] or END


async def tools(given: dict[str, Any], runtime: Runtime, config: RunnableConfig) -> dict[str, Any]:
    """One tool call: its result as a message, and what the branch has learned from it."""
    call = given["call"]
    known = desk.Known(tuple(given["seen_hotel_ids"]), given["budget"])
    result = await desk.serve(call, known, _step(runtime, config))
    message = ToolMessage(
        desk.text_of(result),
        id=str(uuid.uuid4()),
        name=call["name"],
        tool_call_id=call["id"],
        status="error" if "error" in result else "success",
    )
    return {"messages": [message], **_learned(result)}


def _step(runtime: Runtime, config: RunnableConfig) -> Step:
    info, run = runtime.execution_info, config["metadata"].get(history.RUN)
    return Step(UUID(info.thread_id), info.checkpoint_id, info.task_id, TOOLS_NODE, UUID(run) if run else None)


def _learned(result: Mapping[str, Any]) -> dict[str, Any]:
    if found := result.get("hotels"):
        return {"seen_hotel_ids": [hotel["id"] for hotel in found]}
    if "status" not in result:
        return {"warnings": [result["error"]]} if result.get("error") in ("past", "full") else {}
    order = {name: result[name] for name in ("status", "hotel", "room", "check_in", "nights", "total")}
    learned = {"orders": {result["order"]: order}}
    return {**learned, "warnings": ["over_budget"]} if "over_budget" in result else learned
