"""What LangGraph can do around and within a graph that is a node, and what it can't. Cases 28 and 64.

Measured on the library alone, so that an upgrade which changes it fails here. docs/assistants.md and the `limits`
of the Planner say the same.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, interrupt

from branching import assistants
from branching.engine import Engine

THREAD: RunnableConfig = {"configurable": {"thread_id": "1"}}
PLAIN: dict[str, Any] = {}
REMEMBERING: dict[str, Any] = {"checkpointer": True}

Seen = list[tuple[str, list[str]]]


def blueprint(seen: Seen, *, asks: bool = False, **options: Any) -> StateGraph:
    """`START -> write (draft -> revise)`, where what each inner node was given is seen, and `revise` may ask."""

    async def draft(state: MessagesState) -> Any:
        seen.append(("draft", [message.text for message in state["messages"]]))
        return {"messages": [AIMessage("draft", id=str(uuid.uuid4()))]}

    async def revise(state: MessagesState) -> Any:
        seen.append(("revise", [message.text for message in state["messages"]]))
        return {"messages": [AIMessage(f"plan {interrupt('fine?') if asks else ''}", id=str(uuid.uuid4()))]}

    inner = StateGraph(MessagesState)
    inner.add_sequence([draft, revise])
    inner.add_edge(START, "draft")
    outer = StateGraph(MessagesState)
    outer.add_node("write", inner.compile(**options))
    outer.add_edge(START, "write")
    return outer


def compiled(seen: Seen, **options: Any) -> CompiledStateGraph:
    return blueprint(seen, **options).compile(checkpointer=InMemorySaver())


async def say(graph: CompiledStateGraph, text: str, config: RunnableConfig = THREAD) -> Any:
    given = {"messages": [HumanMessage(text, id=str(uuid.uuid4()))]}
    return await graph.ainvoke(given, config, durability="sync")


async def within(graph: CompiledStateGraph) -> list[tuple[str, ...]]:
    """What comes next in the inner graph, where LangGraph says it, at each checkpoint of the graph around it."""
    configs = [snapshot.config async for snapshot in graph.aget_state_history(THREAD)]
    tasks = [task for config in reversed(configs) for task in (await graph.aget_state(config, subgraphs=True)).tasks]
    return [task.state.next for task in tasks if task.state]


async def test_how_far_the_inner_graph_got_is_shown_at_the_checkpoint_before_it_and_nowhere_else() -> None:
    graph = compiled([], asks=True)
    await say(graph, "q")
    assert await within(graph) == [("revise",)]
    await graph.ainvoke(Command(resume="yes"), THREAD, durability="sync")
    assert await within(graph) == [()], "where it ended, not the way there"


@pytest.mark.parametrize(
    ("options", "run"),
    [(PLAIN, [("draft", ["q"]), ("revise", ["q", "draft"])]), (REMEMBERING, [("revise", ["q", "draft", "patch"])])],
    ids=["plain", "remembering"],
)
async def test_case_64_a_run_from_within_a_plain_inner_graph_starts_all_of_it_again(
    options: dict[str, Any], run: Seen
) -> None:
    """And what was changed in there is lost: so no inner checkpoint is offered to run from, or to change."""
    seen: Seen = []
    graph = compiled(seen, asks=True, **options)
    await say(graph, "q")
    [task] = (await graph.aget_state(THREAD, subgraphs=True)).tasks
    changed = await graph.aupdate_state(task.state.config, {"messages": [AIMessage("patch", id="patch")]})
    seen.clear()
    await graph.ainvoke(None, changed, durability="sync")
    assert seen == run


@pytest.mark.parametrize("options", [PLAIN, REMEMBERING], ids=["plain", "remembering"])
async def test_an_answer_to_the_graph_around_it_goes_on_within(options: dict[str, Any]) -> None:
    seen: Seen = []
    graph = compiled(seen, asks=True, **options)
    await say(graph, "q")
    seen.clear()
    here = (await graph.aget_state(THREAD)).config
    answered = await graph.ainvoke(Command(resume="yes"), here, durability="sync")
    assert (seen, answered["messages"][-1].text) == ([("revise", ["q", "draft"])], "plan yes")


@pytest.mark.parametrize(
    ("options", "given"),
    [(PLAIN, ["new"]), (REMEMBERING, ["old", "draft", "plan ", "new"])],
    ids=["plain", "remembering"],
)
async def test_case_28_a_memory_within_leaks_into_what_is_said_on_an_older_branch(
    options: dict[str, Any], given: list[str]
) -> None:
    """
    (nothing) ── old ── plan
              └─ new                sent from the root: the inner graph must not know of "old"
    """
    seen: Seen = []
    graph = compiled(seen, **options)
    await say(graph, "old")
    root = [snapshot async for snapshot in graph.aget_state_history(THREAD)][-1]
    seen.clear()
    await say(graph, "new", root.config)
    assert seen[0] == ("draft", given)


@pytest.mark.parametrize("options", [REMEMBERING, {"checkpointer": InMemorySaver()}], ids=["its own", "a saver"])
def test_case_28_so_an_assistant_with_a_memory_within_is_refused(
    options: dict[str, Any], engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaking = replace(assistants.get("echo"), name="leaking", build=lambda models: blueprint([], **options))
    monkeypatch.setitem(assistants.ASSISTANTS, "leaking", leaking)
    with pytest.raises(ImproperlyConfigured, match="write"):
        engine.graph("leaking")


@pytest.mark.parametrize("name", assistants.ASSISTANTS)
def test_none_of_ours_has_one(engine: Engine, name: str) -> None:
    assert engine.graph(name)
