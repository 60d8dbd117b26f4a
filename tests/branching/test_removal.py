"""What was asked of a person stays asked, and what subgraphs saved goes with the runs that saved it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt

from branching import branches, check, heads, history, prune
from branching.database import on_database
from branching.models import IndexedCheckpoint, Message, StoredCheckpoint, StoredWrites, Thread
from branching.prune import Rules
from tests.branching.conftest import Story
from tests.branching.wander import is_anywhere

pytestmark = pytest.mark.django_db(transaction=True)


def asking(checkpointer: Any = None) -> Any:
    """A graph that asks before it replies."""

    async def reply(state: MessagesState) -> dict[str, Any]:
        answer = interrupt(f"May I, after {state['messages'][-1].text}?")
        return {"messages": [AIMessage(f"{answer}.", id=answer)]}

    graph = StateGraph(MessagesState)
    graph.add_node("reply", reply)
    graph.add_edge(START, "reply")
    return graph.compile(checkpointer=checkpointer)


def plain(story: Story) -> Any:
    return asking(story.engine.saver)


def nested(story: Story, *, remembers: bool = False) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("inner", asking(remembers or None))
    graph.add_edge(START, "inner")
    return graph.compile(checkpointer=story.engine.saver)


def remembering(story: Story) -> Any:
    return nested(story, remembers=True)


def config_of(story: Story) -> Any:
    return history.config_for(story.thread.pk, None)


class Asked:
    """A thread that waits for an answer; as long as there are no runs that wait, its graph is run by hand."""

    def __init__(self, story: Story, graph: Any) -> None:
        self.story, self.graph = story, graph
        story.engine.graphs["chat"] = graph
        self.waiting = ""

    async def ask(self) -> None:
        await self.run({"messages": [HumanMessage("q1.", id="q1")]}, None)
        self.waiting = (await self.story.engine.saver.aget_tuple(config_of(self.story))).checkpoint["id"]

    async def answer(self, text: str) -> list[str]:
        await self.run(Command(resume=text), self.waiting)
        state = await self.graph.aget_state(config_of(self.story))
        return [message.text for message in state.values["messages"]]

    async def run(self, given: Any, place: str | None) -> None:
        config = history.config_for(self.story.thread.pk, place)
        await self.graph.ainvoke(given, config, durability="sync")
        await check.rebuild(self.story.engine, self.story.thread)

    async def head(self, checkpoint_id: str) -> None:
        row = await IndexedCheckpoint.objects.aget(thread=self.story.thread, checkpoint_id=checkpoint_id)
        await on_database(transaction.atomic(heads.repair))(self.story.thread.pk, row)

    async def asks(self, place: str | None) -> list[str]:
        """What is asked there; None stands for the newest checkpoint."""
        state = await self.graph.aget_state(history.config_for(self.story.thread.pk, place))
        return [each.value for each in state.interrupts]


@pytest.fixture(params=[plain, nested, remembering])
async def asked(chat: Story, request: pytest.FixtureRequest) -> Asked:
    build: Callable[[Story], Any] = request.param
    asked = Asked(chat, build(chat))
    await asked.ask()
    assert await asked.asks(asked.waiting) == ["May I, after q1.?"]
    return asked


@pytest.mark.parametrize("keep", ["tips", "head"])
async def test_case_66_a_question_that_waits_can_be_answered_after_pruning(asked: Asked, keep: Any) -> None:
    thread = await Thread.objects.aget(pk=asked.story.thread.pk)
    await on_database(prune.prune)(thread, Rules(keep), really=True)
    assert await asked.asks(asked.waiting) == ["May I, after q1.?"]
    assert await asked.answer("yes") == ["q1.", "yes."]


async def test_an_answer_that_was_deleted_is_asked_for_again(asked: Asked) -> None:
    """Neither it nor what was said in it is anywhere, and it does not come back by itself."""
    assert await asked.answer("yes") == ["q1.", "yes."]
    await asked.head(asked.waiting)
    yes = await Message.objects.aget(thread=asked.story.thread, text="yes.")
    page = await asked.story._page()
    await branches.delete(asked.story.engine, asked.story.thread.pk, message=yes.pk, **page)
    assert not await is_anywhere("yes.")
    assert await asked.story.findings() == []
    # What a subgraph saved while it ran there is gone with the answer: it begins again, and asks.
    assert not await StoredCheckpoint.objects.exclude(ns="").aexists()
    assert not await StoredWrites.objects.exclude(ns="").aexists()
    await asked.run(None, asked.waiting)
    assert await asked.asks(None) == ["May I, after q1.?"]


async def test_what_a_subgraph_remembers_stays_as_long_as_its_messages(chat: Story) -> None:
    """It is where a later run goes on from; what one for a single task saved goes with that run."""
    for build, is_left in ((nested, False), (remembering, True)):
        asked = Asked(chat, build(chat))
        await chat.engine.saver.adelete_thread(str(chat.thread.pk))
        await asked.ask()
        await asked.answer("yes")
        await asked.run({"messages": [HumanMessage("q2.", id="q2")]}, None)
        thread = await Thread.objects.aget(pk=chat.thread.pk)
        before = await StoredCheckpoint.objects.exclude(ns="").acount()
        await on_database(prune.prune)(thread, Rules("tips"), really=True)
        after = await StoredCheckpoint.objects.exclude(ns="").acount()
        assert (after == before) or not is_left
        assert await chat.findings() == []
