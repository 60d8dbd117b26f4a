"""The model and the instructions of a thread: they hold from now on, and each version says what it was written with."""

from __future__ import annotations

import dataclasses

import pytest
from langchain_core.messages import BaseMessage

from branching import carrying, context, importing, threads
from branching.exceptions import BadText, InstructionsTooLong, ModelUnavailable, UnknownModel
from branching.limits import INSTRUCTIONS_MAX
from branching.models import Thread
from branching.types import NOTHING_CHOSEN, Choices
from tests.branching.conftest import Story, answers, is_token
from tests.branching.models import Scripted, models_with
from tests.branching.test_context import talk

pytestmark = pytest.mark.django_db(transaction=True)


class Minutes(Scripted):
    """Notes all that it was given to read."""

    read: list[list[tuple[str, str]]] = []

    async def write(self, messages: list[BaseMessage]):
        self.read.append([(message.type, message.text) for message in messages])
        async for piece in super().write(messages):
            yield piece


async def choose(chat: Story, **chosen: str) -> None:
    await threads.choose(chat.thread.pk, chat.engine.models, **{"model": "", "instructions": "", **chosen})


async def test_each_version_says_with_what_it_was_written(chat: Story) -> None:
    """
    q ─┬─ a1             nothing was chosen
       ├─ a2             told to answer in French
       └─ a3             by another model
    """
    first = Minutes(replies=("a1", "a2"), read=[])
    answers(chat, first)
    other = Minutes(replies=("a3",), read=[])
    chat.engine.models = dataclasses.replace(chat.engine.models, others={"other": models_with(other)})
    await chat.send("q")
    await choose(chat, instructions=" Answer in French.\r\n")
    await chat.replay(await chat.version(1))
    assert first.read == [[("human", "q")], [("system", "Answer in French."), ("human", "q")]]
    await choose(chat, model="other")
    await chat.replay(await chat.version(1))
    assert other.read == [[("human", "q")]]
    versions = [message async for message in chat.thread.messages.filter(kind="ai").order_by("pk")]
    noted = [version.data.get("settings") for version in versions]
    assert noted == [None, {"instructions": "Answer in French."}, {"model": "other"}]


async def test_what_was_said_is_not_changed_and_a_stopped_reply_says_it_too(chat: Story) -> None:
    answers(chat, Scripted(replies=("one two three four",), token_delay=0.01))
    await choose(chat, instructions="Be short.")
    await (await (await chat.begin("send", text="q")).take_until(is_token)).stop()
    version = await chat.version(1)
    assert version.data["stopped"] and version.data["settings"] == {"instructions": "Be short."}


async def test_a_model_that_is_offered_no_more_is_missed_in_words(chat: Story) -> None:
    chat.engine.models = dataclasses.replace(chat.engine.models, others={"gone": models_with(Scripted())})
    await choose(chat, model="gone")
    missing = dataclasses.replace(chat.engine.models, others={}).of("gone")
    assert "gone is not offered" in str(missing.problem)
    with pytest.raises(ModelUnavailable):
        await missing.chat.ainvoke("q")


@pytest.mark.parametrize(
    ("chosen", "error"),
    [
        ({"model": "nobody"}, UnknownModel),
        ({"instructions": "x" * (INSTRUCTIONS_MAX + 1)}, InstructionsTooLong),
        ({"instructions": "a\0b"}, BadText),
    ],
)
async def test_what_can_t_be_is_refused_and_nothing_is_changed(chat: Story, chosen: dict, error: type) -> None:
    await choose(chat, instructions="Be kind.")
    with pytest.raises(error):
        await choose(chat, **chosen)
    assert (await Thread.objects.aget(pk=chat.thread.pk)).instructions == "Be kind."


async def test_an_assistant_that_takes_no_choices_has_none(story: Story) -> None:
    await Thread.objects.filter(pk=story.thread.pk).aupdate(model="x", instructions="y")
    await story.send("h1")
    view = await story.view()
    assert view.choices == NOTHING_CHOSEN and "settings" not in view.versions[1].data


async def test_they_travel_with_an_export(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1",)))
    await choose(chat, instructions="Be short.")
    await chat.send("q")
    text = carrying.write([await carrying.take(chat.thread.pk)])
    [made] = await importing.bring(chat.engine, chat.thread.owner, carrying.read(text))
    message = await made.messages.aget(kind="ai")
    assert message.data["settings"] == {"instructions": "Be short."}


def test_instructions_take_room_from_the_conversation() -> None:
    messages = talk(10)
    plain = context.reading(messages, tokens=1_600)
    told = context.reading(messages, tokens=1_600, choices=Choices(instructions="word " * 400))
    assert [message.type for message in told.sent[:2]] == ["system", "human"]
    assert told.left_out > plain.left_out
