"""What a model is given of a long conversation, on every branch alike."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from branching import context
from tests.branching.conftest import Story, answers
from tests.branching.models import Scripted

pytestmark = pytest.mark.django_db(transaction=True)

LONG = "word " * 200
"""About 250 tokens."""


def talk(turns: int, text: str = LONG) -> list[BaseMessage]:
    kinds: tuple[Callable[..., BaseMessage], ...] = (HumanMessage, AIMessage)
    return [kind(f"{turn} {text}") for turn in range(turns) for kind in kinds]


class TestReading:
    def test_a_conversation_that_fits_is_read_whole(self) -> None:
        messages = talk(3)
        assert context.reading(messages, tokens=2_000) == context.Reading(messages, 0)

    def test_of_a_longer_one_the_end_is_read_from_a_human_message_on(self) -> None:
        messages = talk(10)
        read = context.reading(messages, tokens=1_200)
        assert read.messages == messages[read.left_out :]
        assert (read.left_out, read.messages[0].type) == (16, "human")

    def test_what_was_said_last_is_read_however_long_it_is(self) -> None:
        messages = [*talk(2), HumanMessage(LONG * 100)]
        assert context.reading(messages, tokens=100) == context.Reading(messages[-1:], 4)

    def test_a_turn_is_never_cut_between_a_tool_and_its_call(self) -> None:
        call = {"name": "look", "args": {"at": LONG}, "id": "c1"}
        turn = [HumanMessage("q"), AIMessage("", tool_calls=[call]), ToolMessage(LONG, tool_call_id="c1")]
        for tokens in range(100, 1_000, 50):
            assert context.reading([*talk(2), *turn], tokens=tokens).messages[0].type == "human"

    def test_chinese_takes_more_tokens_than_english_of_the_same_length(self) -> None:
        english, chinese = (context.reading(talk(10, text * 400), tokens=2_000) for text in ("a", "字"))
        assert english.left_out < chinese.left_out


class TestBranches:
    """
    q1 ── a1 ── q2 (long) ── a2 ── q3 ── a3     <- written without the first turn
       └─ a1' ── q4 ── a4                       <- short: all of it was read
    """

    async def test_each_version_says_what_it_was_written_without(self, chat: Story) -> None:
        model = answers(chat, Scripted(replies=("a1", "a2", "a3", "b1", "b2")))
        chat.engine.models = dataclasses.replace(chat.engine.models, context_tokens=265)
        for text in ("q1", LONG, "q3"):
            await chat.send(text)
        assert model.asked[-1] == [LONG.strip(), "a2", "q3"]
        assert [version.data.get("left_out") for version in (await chat.view()).versions] == [None] * 5 + [2]

        await chat.replay(await chat.version(1))
        await chat.send("q4")
        assert model.asked[-1] == ["q1", "b1", "q4"]
        assert [version.data.get("left_out") for version in (await chat.view()).versions] == [None] * 4

        view = await chat.switch((await chat.version(1)).previous)
        assert [version.data.get("left_out") for version in view.versions] == [None] * 5 + [2]

    async def test_a_reply_to_an_early_message_reads_all_that_was_before_it(self, chat: Story) -> None:
        model = answers(chat, Scripted(replies=("a1", "a2", "a3", "b3")))
        chat.engine.models = dataclasses.replace(chat.engine.models, context_tokens=265)
        for text in ("q1", LONG, "q3"):
            await chat.send(text)
        await chat.edit(await chat.version(2), "q2'")
        assert model.asked[-1] == ["q1", "a1", "q2'"]
