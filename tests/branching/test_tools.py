"""Turns of several steps: what they do to the arrows, to Regenerate and to Stop. Cases 12, 18 and 50."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from branching import assistants, runs, threads
from branching.engine import Engine
from branching.llm import Models
from tests.branching.conftest import Story, ending, is_saved
from tests.branching.desk import refuse_a_bad_sequence

pytestmark = pytest.mark.django_db(transaction=True)

CALLS = ("hotels", "weather")


def build(models: Models) -> StateGraph:
    """A model that asks two tools for whatever a person says; the tools are a graph of their own."""

    async def model(state: MessagesState) -> dict[str, Any]:
        messages = state["messages"]
        refuse_a_bad_sequence(messages)
        if messages[-1].type == "human":
            calls = [{"name": name, "args": {}, "id": f"{name}-{uuid.uuid4()}"} for name in CALLS]
            return {"messages": [AIMessage("", id=str(uuid.uuid4()), tool_calls=calls)]}
        return {"messages": [AIMessage("done", id=str(uuid.uuid4()))]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", _tools().compile())
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    return graph


def _tools() -> StateGraph:
    async def look(state: MessagesState) -> dict[str, Any]:
        if any(message.text == "/hang" for message in state["messages"][-2:]):
            await asyncio.Event().wait()
        return {}

    async def answer(state: MessagesState) -> dict[str, Any]:
        calls = state["messages"][-1].tool_calls
        return {"messages": [ToolMessage("found", id=str(uuid.uuid4()), tool_call_id=call["id"]) for call in calls]}

    graph = StateGraph(MessagesState)
    graph.add_sequence([look, answer])
    graph.add_edge(START, "look")
    return graph


@pytest.fixture
async def trip(engine: Engine, alice: User, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Story]:
    """Alice's thread with that assistant."""
    known = assistants.Assistant(
        name="trip", title="Trip", description="", build=build, reply_nodes=("model",), uses_model=False
    )
    monkeypatch.setitem(assistants.ASSISTANTS, "trip", known)
    story = Story(engine, await threads.create(alice, assistant="trip"))
    yield story
    assert not await story.findings()


TURN = ["", "found", "found", "done"]


async def test_case_12_the_steps_of_a_turn_make_no_arrows(trip: Story) -> None:
    """Nor do the checkpoints of the graph within."""
    for question in ("q1", "q2"):
        await trip.send(question)
    assert await trip.screen() == ["q1", *TURN, "q2", *TURN]
    await trip.edit(await trip.version(5), "q2'")
    assert await trip.screen() == ["q1", *TURN, "q2' 2/2", *TURN]


@pytest.mark.parametrize("pressed", [1, 2, 4])
async def test_case_18_to_regenerate_is_to_answer_the_whole_turn_anew(trip: Story, pressed: int) -> None:
    """Wherever in the turn it is pressed: the tools are asked again, and one pair of arrows stands where it begins."""
    await trip.send("q1")
    await trip.replay(await trip.version(pressed))
    assert await trip.screen() == ["q1", " 2/2", *TURN[1:]]
    await trip.switch((await trip.version(1)).previous)
    assert await trip.screen() == ["q1", " 1/2", *TURN[1:]]


async def test_case_50_a_tool_that_is_stopped_has_a_result_that_says_so(trip: Story) -> None:
    """Otherwise a provider refuses whatever is said next."""
    await trip.send("q1")
    reply = await trip.begin("send", text="/hang")
    await reply.take_until(lambda event: is_saved(event) and event.checkpoint.next == ("tools",))
    await reply.stop()
    stopped = "Stopped before its result was known."
    assert await trip.screen() == ["q1", *TURN, "/hang", "", stopped, stopped, "[stopped]"]
    await trip.send("hi")
    assert (await trip.screen())[5:] == ["/hang", "", stopped, stopped, "hi", *TURN]


async def test_an_assistant_that_goes_round_in_circles_is_stopped_and_says_so(
    trip: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LangGraph would let it go on for ten thousand steps."""
    with monkeypatch.context() as limits:
        limits.setattr(runs, "RECURSION_LIMIT", 4)
        await trip.send("q1")
        limits.setattr(runs, "RECURSION_LIMIT", 2)
        events = await trip.send("q2")
    assert (ending(events), (await trip.view()).open_reply.error) == ("failed", "recursion")
    await trip.resume()
    assert await trip.screen() == ["q1", *TURN, "q2", *TURN]


async def test_after_a_stopped_tool_the_reply_can_be_had_without_it(trip: Story) -> None:
    reply = await trip.begin("send", text="/hang")
    await reply.take_until(lambda event: is_saved(event) and event.checkpoint.next == ("tools",))
    await reply.stop()
    await trip.resume()
    assert (await trip.screen())[-1] == "done"
