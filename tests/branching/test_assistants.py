"""The assistants as compiled graphs: their shape, their streams, and the replies they store."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from django.conf import settings
from langchain_core.messages import AIMessageChunk, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph.state import CompiledStateGraph

from branching import assistants
from branching.demo_model import DemoModel
from branching.exceptions import UnknownAssistant
from branching.llm import Models
from tests.branching.models import HANG, Scripted, models_with

THREAD = {"configurable": {"thread_id": "1"}}


def compiled(name: str, models: Models) -> CompiledStateGraph:
    return assistants.get(name).build(models).compile(checkpointer=InMemorySaver())


async def parts(graph: CompiledStateGraph, text: str | None, config: dict[str, Any] = THREAD) -> list[dict[str, Any]]:
    given = None if text is None else {"messages": [HumanMessage(text)]}
    modes = ["messages", "checkpoints"]
    stream = graph.astream(given, config, stream_mode=modes, version="v2", durability="sync")
    async with aclosing(stream) as running:
        return [part async for part in running]


def chunks(streamed: list[dict[str, Any]], node: str) -> list[str]:
    """The texts of the pieces that a node streamed."""
    messages = [part["data"] for part in streamed if part["type"] == "messages"]
    return [
        message.text
        for message, metadata in messages
        if isinstance(message, AIMessageChunk) and message.text and metadata["langgraph_node"] == node
    ]


async def replies(graph: CompiledStateGraph) -> list[Any]:
    return (await graph.aget_state(THREAD)).values["messages"][1::2]


def test_the_registry_knows_each_assistant_by_its_name() -> None:
    assert {"chat", "concierge", "echo"} <= set(assistants.ASSISTANTS)
    assert all(name == assistant.name for name, assistant in assistants.ASSISTANTS.items())
    assert assistants.get("chat").uses_model and not assistants.get("echo").uses_model
    with pytest.raises(UnknownAssistant):
        assistants.get("nobody")


@pytest.mark.parametrize("assistant", assistants.ASSISTANTS.values(), ids=lambda assistant: assistant.name)
def test_an_assistant_is_titled_and_its_reply_nodes_exist(assistant: assistants.Assistant) -> None:
    graph = assistant.build(models_with(Scripted())).compile()
    assert str(assistant.title) and str(assistant.description)
    assert assistant.reply_nodes and set(assistant.reply_nodes) <= set(graph.nodes)


@pytest.mark.parametrize("assistant", assistants.ASSISTANTS.values(), ids=lambda assistant: assistant.name)
def test_what_the_registration_names_is_there(assistant: assistants.Assistant) -> None:
    graph = assistant.build(models_with(Scripted())).compile()
    assert set(assistant.acts) <= set(graph.nodes) and set(assistant.shows) <= set(graph.channels)
    assert all(hasattr(settings, name) for name in assistant.settings)


async def test_two_turns_of_echo_make_the_chain_of_eight() -> None:
    graph = compiled("echo", models_with(Scripted()))
    await parts(graph, "one")
    await parts(graph, "two")
    chain = [
        (state.metadata["source"], state.metadata["step"], state.next)
        async for state in graph.aget_state_history(THREAD)
    ]
    assert chain[::-1] == [
        ("input", -1, ("__start__",)),
        ("loop", 0, ("booking",)),
        ("loop", 1, ("reply",)),
        ("loop", 2, ()),
        ("input", 3, ("__start__",)),
        ("loop", 4, ("booking",)),
        ("loop", 5, ("reply",)),
        ("loop", 6, ()),
    ]


async def test_echo_repeats_the_last_message_in_pieces() -> None:
    graph = compiled("echo", models_with(Scripted()))
    streamed = chunks(await parts(graph, "one two  three\nfour"), "reply")
    assert len(streamed) > 3
    assert "".join(streamed) == "回复：one two  three\nfour"
    assert [reply.text for reply in await replies(graph)] == ["回复：one two  three\nfour"]


async def test_echo_keeps_the_pace_it_is_given() -> None:
    graph = compiled("echo", models_with(Scripted(), token_delay=0.02))
    loop = asyncio.get_running_loop()
    began = loop.time()
    streamed = chunks(await parts(graph, "one two three"), "reply")
    assert loop.time() - began >= 0.02 * len(streamed)


async def test_chat_gives_the_model_the_messages_and_nothing_else() -> None:
    model = Scripted(replies=("First.", "Second."))
    graph = compiled("chat", models_with(model))
    await parts(graph, "one")
    await parts(graph, "two")
    assert model.asked == [["one"], ["one", "First.", "two"]]
    assert [reply.text for reply in await replies(graph)] == ["First.", "Second."]


async def test_chat_streams_in_pieces_and_then_the_whole_once_more() -> None:
    """The last part is what LangGraph makes of a reply with a new id: whoever adds up the pieces leaves it out."""
    graph = compiled("chat", models_with(Scripted(replies=("Four words of reply.",))))
    streamed = await parts(graph, "one")
    assert chunks(streamed, "model") == ["Four", " words", " of", " reply."]
    whole = [part["data"][0] for part in streamed if part["type"] == "messages"][-1]
    assert not isinstance(whole, AIMessageChunk)
    assert [whole.id] == [reply.id for reply in await replies(graph)]


async def test_each_reply_has_an_id_of_its_own_and_names_its_model() -> None:
    graph = compiled("chat", models_with(Scripted()))
    await parts(graph, "one")
    await parts(graph, "two")
    first, second = await replies(graph)
    assert len({first.id, second.id}) == 2
    assert not first.id.startswith("lc_run")
    assert first.response_metadata["model_name"] == "scripted"


async def test_a_reply_holds_nothing_that_a_database_refuses() -> None:
    halves = "\ud83d", "\ude00"
    graph = compiled("chat", models_with(Scripted(replies=((*halves, " fine\0 ", "\ud83d"),))))
    await parts(graph, "one")
    assert [reply.text for reply in await replies(graph)] == ["😀 fine \ufffd"]


async def test_case_48_a_failed_run_resumes_with_the_message_once() -> None:
    model = Scripted(replies=(("Five words", ConnectionError()), "There."))
    graph = compiled("chat", models_with(model))
    with pytest.raises(ConnectionError):
        await parts(graph, "one")
    await parts(graph, None)
    assert model.asked == [["one"], ["one"]]
    assert [reply.text for reply in await replies(graph)] == ["There."]


async def test_a_run_that_is_cancelled_in_mid_reply_ends_at_once_before_the_node() -> None:
    graph = compiled("chat", models_with(Scripted(replies=(("Some words", HANG),))))
    run = asyncio.create_task(parts(graph, "one"))
    await asyncio.sleep(0.2)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, timeout=1)
    state = await graph.aget_state(THREAD)
    assert state.next == ("model",)
    assert [message.text for message in state.values["messages"]] == ["one"]


async def test_a_cancel_reaches_the_demo_model_wherever_it_waits() -> None:
    slow = DemoModel(token_delay=60, pause=60)
    for text in ("hello", "/slow", "/fail", "/long"):
        run = asyncio.create_task(
            compiled("chat", models_with(slow)).ainvoke({"messages": [HumanMessage(text)]}, THREAD)
        )
        await asyncio.sleep(0.05)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(run, timeout=1)


async def test_the_attempt_in_the_metadata_of_a_run_reaches_the_demo_model() -> None:
    graph = compiled("chat", models_with(DemoModel()))
    await parts(graph, "Why is the sky blue?")
    first = await anext(state async for state in graph.aget_state_history(THREAD) if state.next == ("model",))
    for attempt in range(1, 20):
        await parts(graph, None, {**first.config, "metadata": {"attempt": attempt}})
    texts = {state.values["messages"][-1].text async for state in graph.aget_state_history(THREAD) if not state.next}
    assert len(texts) == 20
