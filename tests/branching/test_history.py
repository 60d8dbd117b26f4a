"""Reading LangGraph: messages, events and what is on disk."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph

from branching import history
from branching.types import Checkpoint, Content

CALL = {"name": "add", "args": {"a": 1}, "id": "call-1", "type": "tool_call"}
BLOCKS = [{"type": "text", "text": "Look: "}, {"type": "image", "url": "x.png"}, "there"]
PARTS = [{"kind": "image", "name": ""}]


@pytest.mark.parametrize(
    ("message", "content"),
    [
        (HumanMessage("hi", id="1"), Content("1", "human", "hi")),
        (HumanMessage("hi", id="1", name="Ann"), Content("1", "human", "hi", {"name": "Ann"})),
        (AIMessage("yes", id="2"), Content("2", "ai", "yes")),
        (AIMessageChunk("ye", id="2"), Content("2", "ai", "ye")),
        (AIMessage(BLOCKS, id="2"), Content("2", "ai", "Look: there", {"blocks": BLOCKS, "parts": PARTS})),
        (AIMessage("", id="2", tool_calls=[CALL]), Content("2", "ai", "", {"tool_calls": [CALL]})),
        (AIMessage("ye", id="2", additional_kwargs={"stopped": True}), Content("2", "ai", "ye", {"stopped": True})),
        (AIMessage("yes", id="2", response_metadata={"model_name": "m"}), Content("2", "ai", "yes", {"model": "m"})),
        (
            ToolMessage("no", id="3", tool_call_id="call-1", status="error"),
            Content("3", "tool", "no", {"tool_call_id": "call-1", "status": "error"}),
        ),
    ],
)
def test_content_holds_what_tells_versions_apart_and_only_what_is_there(message: BaseMessage, content: Content) -> None:
    found = history.content_of(message)
    assert found == content
    assert type(found.text) is str


@pytest.mark.parametrize(
    "message", [SystemMessage("be kind", id="1"), RemoveMessage(id="1"), HumanMessage("nameless"), AIMessage("", id="")]
)
def test_content_of_what_can_be_no_version_is_refused(message: BaseMessage) -> None:
    with pytest.raises(ValueError, match=message.type):
        history.content_of(message)


def test_config_names_the_thread_and_the_checkpoint_if_there_is_one() -> None:
    assert history.config_for("t", None) == {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    assert history.config_for("t", "c")["configurable"] == {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "c"}


@pytest.fixture
def graph() -> CompiledStateGraph:
    graph = StateGraph(MessagesState)
    graph.add_node("think", lambda state: {})
    graph.add_node("reply", lambda state: {"messages": [AIMessage(state["messages"][-1].text.upper())]})
    graph.add_edge(START, "think")
    graph.add_edge("think", "reply")
    return graph.compile(checkpointer=InMemorySaver())


async def run(graph: CompiledStateGraph, text: str | None, checkpoint_id: str | None = None) -> list[Checkpoint]:
    """The checkpoints in the events of one run."""
    given = {"messages": [HumanMessage(text)]} if text else None
    config = history.config_for("t", checkpoint_id)
    parts = graph.astream(given, config, version="v2", stream_mode=["checkpoints"], durability="sync")
    async with aclosing(parts):
        return [history.from_event(part["data"]) async for part in parts]


async def test_the_events_of_runs_are_the_checkpoints_of_the_history(graph: CompiledStateGraph) -> None:
    """Two turns, a replay of the first reply, an edit of the first message: 8 + 2 + 3."""
    events = await run(graph, "one") + await run(graph, "two")
    root, _, before_reply, *_ = events
    events += await run(graph, None, before_reply.id)
    new = await graph.aupdate_state(
        history.config_for("t", root.id), {"messages": [HumanMessage("uno", id="new")]}, as_node="__start__"
    )
    events += await run(graph, None, new["configurable"]["checkpoint_id"])
    saved = {each.id: each for each in await history.read_all(graph, "t")}
    assert all(each.created_at and each.created_at.tzinfo for each in saved.values())
    assert {each.id: each for each in events} == {id: replace(each, created_at=None) for id, each in saved.items()}
    assert len(saved) == 8 + 2 + 3


async def test_the_history_of_an_unfinished_turn_tells_what_is_due() -> None:
    """The live view of a thread would say that nothing is."""
    graph = StateGraph(MessagesState)
    graph.add_node("reply", lambda state: 1 / 0)
    graph.add_edge(START, "reply")
    compiled = graph.compile(checkpointer=InMemorySaver())
    with pytest.raises(ZeroDivisionError):
        await compiled.ainvoke({"messages": [HumanMessage("one")]}, history.config_for("t", None))
    newest, _ = await history.read_all(compiled, "t")
    assert newest.next == ("reply",)


async def test_a_thread_that_does_not_exist_has_an_empty_history(graph: CompiledStateGraph) -> None:
    assert await history.read_all(graph, "nowhere") == []
