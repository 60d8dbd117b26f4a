"""The planner's graph: it looks everything up at once, then a graph of its own drafts the plan and revises it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Annotated, Any

from langchain_core.messages import SystemMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send

from branching import context, llm
from branching.assistants.concierge import clock, reading, weather
from branching.assistants.concierge.hotels import CURRENCY, HOTELS
from branching.assistants.planner.rules import DRAFT, FINDINGS, MADE, REVISED, PlannerModel

READ, LOOK, WRITE = "read", "look", "write"
DRAFTING, REVISE = "draft", "revise"
"""The nodes of the graph in the last node."""

DAYS = 7
"""A plan has so many days at most."""


def gathered(known: list[dict[str, Any]] | None, more: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """What was found so far and what was found now; None begins anew, as each turn does."""
    return [] if more is None else [*(known or []), *more]


class Trip(MessagesState):
    """The messages, and what a plan is made of."""

    trip: dict[str, Any]
    """The days that are planned, as ISO dates, and the nights and the budget of the whole stay. There are no days where
    nobody has said when it begins."""
    findings: Annotated[list[dict[str, Any]], gathered]
    """What was looked up in this turn, in no order."""


class Plan(Trip):
    """What the drafting graph has beside: the plan before it was revised."""

    draft: str


def build(models: llm.Models) -> StateGraph:
    """`START -> read -> look, look, ... -> write (draft -> revise) -> END`."""
    graph = StateGraph(Trip)
    graph.add_node(READ, read)
    graph.add_node(LOOK, look)
    graph.add_node(WRITE, _writing(models).compile())
    graph.add_edge(START, READ)
    graph.add_conditional_edges(READ, _lookups, [LOOK, WRITE])
    graph.add_edge(LOOK, WRITE)
    graph.add_edge(WRITE, END)
    return graph


async def read(state: Trip) -> dict[str, Any]:
    """When the trip is, from what was said last, and else from what was known before."""
    said = next((message.text for message in reversed(state["messages"]) if message.type == "human"), "")
    wish, known = reading.read(said, clock.today()), state.get("trip") or {}
    begins = wish.check_in or next((date.fromisoformat(day) for day in known.get("days", [])), None)
    nights = wish.nights or _nights(known)
    # The calendar ends, and somebody will ask for it.
    count = min(nights + 1, DAYS, (date.max - begins).days + 1) if begins else 0
    days = [begins + timedelta(days=number) for number in range(count)]
    budget = wish.budget or known.get("budget")
    trip = {"days": [day.isoformat() for day in days], "nights": nights, "budget": budget}
    return {"trip": trip, "findings": None}


def _lookups(state: Trip) -> list[Send] | str:
    """All at once: the weather of each day, and a hotel. Nothing where the days are not known, or are over."""
    trip = state["trip"]
    if not trip["days"] or trip["days"][0] < clock.today().isoformat():
        return WRITE
    stay = {"what": "hotel", "nights": _nights(trip), "budget": trip["budget"], "day": trip["days"][0]}
    return [Send(LOOK, stay), *(Send(LOOK, {"what": "weather", "day": day}) for day in trip["days"])]


def _nights(trip: Mapping[str, Any]) -> int:
    """Of the whole stay. A trip that was stored before it had them was as long as its plan."""
    return trip.get("nights") or max(1, len(trip.get("days", [])) - 1)


async def look(wanted: dict[str, Any]) -> dict[str, Any]:
    """The weather of one day, or the hotel that fits best."""
    day = date.fromisoformat(wanted["day"])
    if wanted["what"] == "weather":
        return {"findings": [{"what": "weather", **weather.on(day)}]}
    most = wanted["budget"] // wanted["nights"] if wanted["budget"] else None
    fitting = [hotel for hotel in HOTELS.values() if most is None or hotel.standard <= most]
    best = max(fitting, key=lambda hotel: hotel.standard, default=None) if most else HOTELS["drum-tower"]
    if best is None:
        return {"findings": [{"what": "hotel", "name": None}]}
    price = best.standard * wanted["nights"]
    found = {"name": best.name, "chinese": best.chinese, "total": price, "currency": CURRENCY}
    return {"findings": [{"what": "hotel", **found}]}


def _writing(models: llm.Models) -> StateGraph:
    """`START -> draft -> revise -> END`, over the state of the graph around it."""
    model = PlannerModel(token_delay=models.token_delay) if models.is_demo else models.chat

    async def draft(state: Plan) -> dict[str, Any]:
        return {"draft": (await llm.reply(model, given(models, state).sent)).text}

    async def revise(state: Plan) -> dict[str, Any]:
        read = _read(models, state, REVISED, MADE + state["draft"])
        return {"messages": [read.mark(await llm.reply(model, read.sent))]}

    # It hands on the reply alone: what it was given would be added to what is there a second time.
    graph = StateGraph(Plan, output_schema=MessagesState)
    graph.add_node(DRAFTING, draft)
    graph.add_node(REVISE, revise)
    graph.add_edge(START, DRAFTING)
    graph.add_edge(DRAFTING, REVISE)
    graph.add_edge(REVISE, END)
    return graph


def given(models: llm.Models, state: Mapping[str, Any]) -> context.Reading:
    """What the model is sent of this state for its draft."""
    return _read(models, state, DRAFT)


def _read(models: llm.Models, state: Mapping[str, Any], role: str, *more: str) -> context.Reading:
    return context.reading(state["messages"], tokens=models.context_tokens, told=_told(role, state, *more))


def _told(role: str, state: Mapping[str, Any], *more: str) -> SystemMessage:
    """The role, and all that is known. In the order of what it is about: steps that ran side by side have none."""
    findings = sorted(state.get("findings") or [], key=lambda each: (each["what"], each.get("date", "")))
    trip = state.get("trip") or {}
    trip = {**trip, "nights": _nights(trip)}
    known = {"today": clock.today().isoformat(), **trip, "findings": findings}
    return SystemMessage("\n\n".join([role, FINDINGS + json.dumps(known, ensure_ascii=False), *more]))
