"""A thread that begins with the values of a checkpoint of another, and has nothing else in common with it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from branching import importing, threads
from branching.engine import Engine
from branching.exceptions import NoSuchCheckpoint, NotForkable, NothingSaid
from tests.branching.conftest import Story
from tests.branching.desk import SUITE, YES, Guest, guest

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]


async def off(story: Story, checkpoint_id: str | None) -> Guest:
    return Guest(story.engine, await importing.branch_off(story.engine, story.thread, checkpoint_id or ""))


async def test_case_73_it_has_the_messages_up_to_there_each_to_be_edited_and_regenerated(story: Story) -> None:
    await story.send("a")
    await story.send("b")
    copy = await off(story, (await story.view()).versions[1].checkpoint_id)
    assert await copy.screen() == ["a", "回复：a"]
    await copy.replay(await copy.version(1))
    await copy.edit(await copy.version(0), "c")
    assert await copy.screen() == ["c 2/2", "回复：c"]
    assert await story.screen() == ["a", "回复：a", "b", "回复：b"]
    assert not await copy.findings()


async def test_it_outlives_the_thread_that_it_came_from(story: Story, alice: User) -> None:
    other = Story(story.engine, await threads.create(alice, assistant="echo"))
    await other.send("a")
    copy = await off(other, (await other.view()).head)
    await threads.delete(other.thread.pk)
    await copy.send("b")
    assert await copy.screen() == ["a", "回复：a", "b", "回复：b"]


async def test_what_the_assistant_remembers_comes_along_but_nothing_that_it_did(guest: Guest) -> None:
    await guest.send("My budget is 5000")
    await guest.send(SUITE)
    await guest.answer(YES)
    copy = await off(guest, (await guest.view()).head)
    before, after = await guest.state(), await copy.state()
    assert {key: after[key] for key in after if key != "messages"} == {
        key: before[key] for key in before if key != "messages"
    }
    assert (await copy.bookings(), (await copy.view()).left_standing) == ([], 0)


async def test_where_it_was_asked_it_is_asked_anew(guest: Guest) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    copy = await off(guest, asked.checkpoint_id)
    assert (await copy.view()).open_reply.state == "missing"
    await copy.resume()
    [anew] = await copy.waiting()
    assert anew.interrupt_id != asked.interrupt_id and len(await guest.waiting()) == 1
    await copy.answer(YES)
    assert await copy.bookings() == ["suite bell-tower 2"] and await guest.bookings() == []


async def test_from_nothing_and_from_nowhere_nothing_begins(story: Story) -> None:
    await story.send("a")
    first = await story.thread.checkpoints.order_by("id").afirst()
    with pytest.raises(NothingSaid):
        await off(story, first.checkpoint_id)
    with pytest.raises(NoSuchCheckpoint):
        await off(story, "nowhere")


async def test_of_whole_turns_no_thread_is_made(alice: User, engine: Engine) -> None:
    story = Story(engine, await threads.create(alice, assistant="guide"))
    await story.send("HEAD?")
    with pytest.raises(NotForkable):
        await off(story, (await story.view()).head)
