"""Steps side by side, and a graph within a step: what branches do with them, and what they can't. Cases 28 and 64."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import date
from typing import Any

import pytest
from django.contrib.auth.models import User
from langchain_core.messages import BaseMessage

from branching import threads
from branching.assistants.concierge import clock, weather
from branching.assistants.planner import graph as planner
from branching.assistants.planner.rules import PlannerModel
from branching.engine import Engine
from branching.local_model import LocalModel
from branching.saver import DjangoSaver
from branching.types import Token
from tests.branching.conftest import Story, ending
from tests.branching.models import Scripted, models_with

pytestmark = pytest.mark.django_db(transaction=True)

TODAY = date(2026, 11, 30)
ASKED = "Plan a trip from 2026-12-05 for 2 nights"
LATER = "Plan a trip from 2026-12-10 for 1 night"


class Counting(PlannerModel):
    """The rules, which count how often they were asked to draft and to revise."""

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        COUNTS.append("revise" if "The draft:" in messages[0].text else "draft")
        async for piece in super().write(messages):
            yield piece


COUNTS: list[str] = []


def planning(model: LocalModel) -> Engine:
    return Engine(DjangoSaver(), models_with(model))


@pytest.fixture
async def trip(alice: User, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Story]:
    COUNTS.clear()
    monkeypatch.setattr(clock, "today", lambda: TODAY)
    story = Story(planning(Counting()), await threads.create(alice, assistant="planner"))
    yield story
    assert not await story.findings()


def said(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, Token))


async def test_a_plan_has_each_day_its_weather_and_a_place_to_stay(trip: Story) -> None:
    await trip.send(ASKED)
    plan = (await trip.version(1)).text
    assert plan.startswith("## 3 days in Xi'an")
    for day in (date(2026, 12, 5), date(2026, 12, 6), date(2026, 12, 7)):
        assert f"**{day}** ({weather.on(day)['sky']}" in plan
    assert "Drum Tower Courtyard" in plan


async def test_it_speaks_chinese_and_asks_for_what_it_needs(trip: Story) -> None:
    await trip.send("帮我安排西安之旅")
    assert "哪天出发" in (await trip.version(1)).text
    await trip.send("2026-12-05 起两晚，预算 700")
    plan = (await trip.version(3)).text
    assert plan.startswith("## 西安 3 日计划") and "住宿" in plan


async def test_a_trip_to_the_end_of_the_calendar_ends_there(trip: Story) -> None:
    assert ending(await trip.send("from 9999-12-30 for 5 nights")) == "done"
    assert (await trip.version(1)).text.startswith("## 2 days in Xi'an")


async def test_a_day_in_the_past_is_refused(trip: Story) -> None:
    await trip.send("from 2026-11-01 for 2 nights")
    assert "is in the past" in (await trip.version(1)).text


async def test_of_a_long_stay_it_plans_the_first_days_and_says_what_all_nights_cost(trip: Story) -> None:
    await trip.send("from 2026-12-05 for 10 nights")
    plan = (await trip.version(1)).text
    assert plan.startswith("## 7 days in Xi'an") and "4200 CNY" in plan, "420 a night"
    assert "You stay 10 nights: this plans the first 7 days." in plan
    await trip.send("从 2026-12-10 开始吧")
    plan = (await trip.version(3)).text
    assert "**2026-12-10**" in plan and "前 7 天" in plan and "全程 4200 元" in plan, "still ten nights"


async def test_a_budget_is_for_all_nights_of_a_long_stay(trip: Story) -> None:
    await trip.send("from 2026-12-05 for 10 nights, budget 2600")
    assert "No hotel fits" not in (await trip.version(1)).text
    [total] = [found["total"] for found in (await values(trip))["findings"] if found["what"] == "hotel"]
    assert total <= 2600


async def test_what_one_sees_grow_is_the_plan_and_not_the_draft(trip: Story) -> None:
    """The draft is written in the same node, but by another step of the graph within it."""
    assert said(await trip.send(ASKED)) == (await trip.version(1)).text
    assert COUNTS == ["draft", "revise"]


async def test_each_branch_has_its_own_findings(trip: Story) -> None:
    """
    ASKED ── plan ── and with a budget ── plan
    LATER ── plan (HEAD)
    """
    await trip.send(ASKED)
    await trip.send("The budget is 500")
    await trip.edit(await trip.version(0), LATER)
    plan = (await trip.version(1)).text
    assert "2026-12-10" in plan and "2026-12-05" not in plan and "Drum Tower" in plan
    state = await values(trip)
    assert (len(state["findings"]), state["trip"]["budget"]) == (3, None)
    await trip.switch((await trip.version(0)).previous)
    assert (await values(trip))["trip"]["budget"] == 500


async def values(story: Story) -> dict[str, Any]:
    names = {"thread_id": str(story.thread.pk), "checkpoint_ns": "", "checkpoint_id": (await story.view()).head}
    return (await story.engine.graph("planner").aget_state({"configurable": names})).values


async def test_steps_side_by_side_are_one_superstep_and_one_arrow(trip: Story) -> None:
    await trip.send(ASKED)
    await trip.replay(await trip.version(1))
    assert [(version.position, version.total) for version in (await trip.view()).versions] == [(1, 1), (2, 2)]
    tree = await trip.tree()
    assert not any("look" in checkpoint.next and len(checkpoint.next) != 4 for checkpoint in tree.checkpoints.values())


async def test_where_a_lookup_fails_all_look_again_and_each_thing_is_found_once(
    trip: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LangGraph keeps what the others wrote beside the checkpoint, but a run that sets out from a named checkpoint goes
    on from a copy of it, where they have written nothing."""
    looked: list[str] = []
    real = weather.on

    def on(day: date) -> dict[str, Any]:
        looked.append(day.isoformat())
        if looked.count(day.isoformat()) == 1 and day.day == 6:
            raise ConnectionError("no forecast")
        return real(day)

    monkeypatch.setattr(planner.weather, "on", on)
    assert ending(await trip.send(ASKED)) == "failed"
    assert ending(await trip.resume()) == "done"
    assert sorted(looked) == sorted(["2026-12-05", "2026-12-06", "2026-12-07"] * 2)
    assert len((await values(trip))["findings"]) == 4
    assert len((await trip.view()).versions) == 2


async def test_case_64_after_a_failure_within_it_the_inner_graph_starts_from_its_beginning(alice: User) -> None:
    """As LangGraph does it where a run sets out from a named checkpoint. So nobody is offered to go back into it."""
    model = Scripted(replies=("the draft", ("half a pl", ConnectionError("gone")), "the draft", "the plan"))
    story = Story(planning(model), await threads.create(alice, assistant="planner"))
    await story.send("from 2027-12-05 for 1 night")
    assert (await story.view()).open_reply.text == "half a pl"
    assert ending(await story.resume()) == "done"
    assert (await story.version(1)).text == "the plan"
    assert len(model.calls) == 4, "Retry drafts again"
    await story.replay(await story.version(1))
    assert len(model.calls) == 6, "and so does Regenerate"
    assert not await story.findings()


async def test_case_28_an_edit_reaches_the_inner_graph(alice: User) -> None:
    """The inner graph has no memory of its own: what it is given is the state of the branch that it runs on."""
    model = Scripted(replies=("draft", "plan"))
    story = Story(planning(model), await threads.create(alice, assistant="planner"))
    await story.send("old, from 2027-12-05")
    await story.edit(await story.version(0), "new, from 2027-12-06")
    assert [[message.text for message in call[1:]] for call in model.calls] == [
        ["old, from 2027-12-05"],
        ["old, from 2027-12-05"],
        ["new, from 2027-12-06"],
        ["new, from 2027-12-06"],
    ]
    assert '"2027-12-06"' in model.calls[-1][0].text and '"2027-12-05"' not in model.calls[-1][0].text


async def test_stopped_in_the_inner_graph_what_was_written_is_kept(trip: Story) -> None:
    reply = await trip.begin("send", text=ASKED)
    await reply.take_until(lambda event: isinstance(event, Token) and "days" in event.text)
    events = await asyncio.wait_for(reply.stop(), timeout=5)
    assert ending(events) == "stopped"
    kept = await trip.version(1)
    assert (kept.state == "stopped" and kept.text == said(events).strip()) or kept.text == said(events)
    await trip.send("go on")
    assert [version.kind for version in (await trip.view()).versions] == ["human", "ai", "human", "ai"]


async def test_only_the_graph_around_it_is_indexed(trip: Story) -> None:
    await trip.send(ASKED)
    tree = await trip.tree()
    assert {name for checkpoint in tree.checkpoints.values() for name in checkpoint.next} <= {
        "__start__",
        "read",
        "look",
        "write",
    }
