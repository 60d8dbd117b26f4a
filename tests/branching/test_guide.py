"""An assistant in the functional API: a turn is one step, and all that one does with a turn works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from django.contrib.auth.models import User

from branching import threads
from branching.assistants.guide import passages_for
from branching.engine import Engine
from branching.saver import DjangoSaver
from branching.types import Token
from tests.branching.conftest import Story, ending
from tests.branching.models import HANG, Scripted, models_with

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def talk(alice: User, engine: Engine) -> AsyncIterator[Story]:
    story = Story(engine, await threads.create(alice, assistant="guide"))
    yield story
    assert not await story.findings()


async def scripted(alice: User, *replies: object) -> Story:
    engine = Engine(DjangoSaver(), models_with(Scripted(replies=replies)))
    return Story(engine, await threads.create(alice, assistant="guide"))


@pytest.mark.parametrize(
    ("asked", "title"),
    [("What is a checkpoint?", "checkpoint"), ("how do branches work", "branch"), ("什么是检查点？", "检查点")],
)
def test_the_passage_that_fits_best_comes_first(asked: str, title: str) -> None:
    assert passages_for(asked)[0].title == title


def test_nothing_fits_what_it_does_not_know() -> None:
    assert passages_for("the price of tea") == passages_for("茶多少钱") == []


async def test_it_answers_from_its_passages_and_names_them(talk: Story) -> None:
    events = await talk.send("What is a checkpoint?")
    text = (await talk.version(1)).text
    assert text.startswith("A checkpoint is what LangGraph stores") and "**[checkpoint]**" in text
    assert "".join(event.text for event in events if isinstance(event, Token)) == text


async def test_a_turn_is_one_checkpoint_with_its_message_and_its_reply(talk: Story) -> None:
    await talk.send("HEAD?")
    await talk.send("undo?")
    tree = await talk.tree()
    assert [(c.source, c.next, len(c.messages)) for c in tree.checkpoints.values()] == [
        ("input", (), 0),
        ("input", ("__start__",), 0),
        ("loop", (), 2),
        ("input", ("__start__",), 2),
        ("loop", (), 4),
    ]


async def test_regenerate_keeps_the_message_and_makes_a_sibling_of_the_reply(alice: User) -> None:
    story = await scripted(alice, "one", "two", "three")
    await story.send("a")
    await story.send("b")
    await story.replay(await story.version(1))
    assert await story.screen() == ["a", "three 2/2"]
    await story.switch((await story.version(1)).previous)
    assert await story.screen() == ["a", "one 1/2", "b", "two"]
    assert not await story.findings()


@pytest.mark.parametrize("at", [0, 2])
async def test_an_edit_is_a_sibling_of_the_message_the_first_one_too(alice: User, at: int) -> None:
    story = await scripted(alice, "one", "two", "three")
    await story.send("a")
    await story.send("b")
    await story.edit(await story.version(at), "c")
    assert (await story.screen())[at:] == ["c 2/2", "three"]
    await story.switch((await story.version(at)).previous)
    assert [text.split()[0] for text in await story.screen()] == ["a", "one", "b", "two"]
    assert story.engine.models.chat.asked[-1][1:] == (["c"] if at == 0 else ["a", "one", "c"])
    assert not await story.findings()


async def test_between_the_two_requests_of_an_edit_its_words_are_there_unanswered(alice: User) -> None:
    story = await scripted(alice, "one", "two")
    await story.send("a")
    await story.edit(await story.version(0), "c", answer=False)
    assert await story.screen() == ["(c)", "[missing]"]
    await story.undo()
    assert await story.screen() == ["a", "one"]


async def test_while_it_is_answered_the_message_is_on_screen(alice: User) -> None:
    story = await scripted(alice, "one", ("tw", HANG))
    await story.send("a")
    reply = await story.begin("send", text="b")
    await reply.take_until(lambda event: isinstance(event, Token))
    assert await story.screen() == ["a", "one", "(b)", "[streaming]"]
    await reply.stop()
    again = await story.begin("replay", message=(await story.version(1)).pk)
    await again.take_until(lambda event: isinstance(event, Token))
    assert await story.screen() == ["(a)", "[streaming]"]
    await again.stop()


async def test_stopped_what_was_written_is_kept_and_the_conversation_goes_on(alice: User) -> None:
    story = await scripted(alice, "one", ("tw", HANG), "three")
    await story.send("a")
    reply = await story.begin("send", text="b")
    await reply.take_until(lambda event: isinstance(event, Token))
    assert ending(await asyncio.wait_for(reply.stop(), timeout=5)) == "stopped"
    assert await story.screen() == ["a", "one", "b", "tw"]
    assert (await story.version(3)).state == "stopped"
    await story.send("c")
    assert story.engine.models.chat.asked[-1][1:] == ["a", "one", "b", "tw", "c"]
    assert not await story.findings()


async def test_after_failures_one_message_has_one_reply(alice: User) -> None:
    gone = ConnectionError("gone")
    story = await scripted(alice, "one", ("tw", gone), gone, "two")
    await story.send("a")
    await story.send("b")
    assert await story.screen() == ["a", "one", "(b)", "[failed]"]
    await story.resume()
    await story.resume()
    assert await story.screen() == ["a", "one", "b", "two"]
    assert not await story.findings()


async def test_a_run_whose_server_died_is_resumed(alice: User) -> None:
    from branching import recovery

    story = await scripted(alice, ("on", HANG), "one")
    reply = await story.begin("send", text="a")
    await reply.take_until(lambda event: isinstance(event, Token))
    await reply.crash()
    await recovery.recover(story.engine, story.thread.pk)
    assert await story.screen() == ["(a)", "[lost]"]
    await story.resume()
    assert await story.screen() == ["a", "one"]
    assert not await story.findings()
