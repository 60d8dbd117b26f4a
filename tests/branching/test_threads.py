"""Threads: made, listed, renamed, and deleted with all that belongs to them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from branching import threads
from branching.engine import Engine
from branching.exceptions import EmptyTitle, NoSuchThread, UnknownAssistant
from branching.models import (
    HeadMove,
    IndexedCheckpoint,
    Message,
    Piece,
    Run,
    StoredCheckpoint,
    StoredThread,
    StoredWrites,
    Thread,
)
from tests.branching.conftest import Story, answers, ending, is_token
from tests.branching.models import HANG, Scripted

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = (Thread, Message, IndexedCheckpoint, Run, HeadMove)
STORED = (StoredThread, StoredCheckpoint, StoredWrites, Piece)


async def rows_left() -> int:
    """All that is in the database of whatever thread, its checkpoints and their parts included."""
    return sum([await model.objects.acount() for model in ROWS + STORED])


async def test_a_new_thread_is_empty_and_its_owners(engine: Engine, alice: User, bob: User) -> None:
    thread = await threads.create(alice, assistant="echo")
    assert await threads.find(thread.pk, owner=alice) == thread
    assert await threads.find(thread.pk, owner=bob) is None
    assert (await threads.of(alice), await threads.of(bob)) == ([thread], [])


async def test_an_assistant_that_does_not_exist_is_refused(alice: User) -> None:
    with pytest.raises(UnknownAssistant):
        await threads.create(alice, assistant="nobody")


async def test_the_one_written_last_comes_first_and_reading_changes_nothing(
    story: Story, chat: Story, alice: User
) -> None:
    await chat.send("q1")
    await story.send("h1")
    await chat.view()
    assert await threads.of(alice) == [story.thread, chat.thread]
    await chat.send("q2")
    assert await threads.of(alice) == [chat.thread, story.thread]


class TestRename:
    async def title(self, story: Story, title: str) -> str:
        await threads.rename(story.thread.pk, title=title)
        return (await story.view()).title

    async def test_blanks_are_joined_and_the_length_is_bounded(self, story: Story) -> None:
        assert await self.title(story, "  a \n\t b ") == "a b"
        assert await self.title(story, "x" * 300) == "x" * 200

    @pytest.mark.parametrize("title", ["", " \n ", "\0", "\ud800"])
    async def test_nothing_is_no_title(self, story: Story, title: str) -> None:
        with pytest.raises(EmptyTitle):
            await self.title(story, title)

    @pytest.mark.parametrize("title", ["a\0b", "a\ud800b", "a\0\udfffb"])
    async def test_what_no_database_can_hold_is_left_out(self, story: Story, title: str) -> None:
        assert await self.title(story, title) == "ab"

    async def test_it_is_a_visible_change(self, story: Story) -> None:
        before = (await story.view()).revision
        await self.title(story, "new")
        assert (await story.view()).revision > before

    async def test_the_first_message_does_not_take_the_name_back(self, story: Story) -> None:
        await self.title(story, "mine")
        await story.send("h1")
        assert (await story.view()).title == "mine"


class TestDelete:
    @pytest.fixture(autouse=True)
    def ends_without_a_thread(self, chat: Story) -> None:
        chat.is_sound = False

    async def test_nothing_is_left_of_it(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        await threads.delete(chat.thread.pk)
        assert await rows_left() == 0
        with pytest.raises(NoSuchThread):
            await chat.view()

    async def test_another_thread_keeps_all_it_has(self, chat: Story, story: Story) -> None:
        await story.send("h1")
        before = await story.view(), await rows_left() - 1  # the row of the other
        await chat.send("q1")
        await threads.delete(chat.thread.pk)
        assert (await story.view(), await rows_left()) == before

    async def test_a_run_under_way_ends_and_leaves_nothing_behind(self, chat: Story) -> None:
        """Its checkpoints come after the deletion."""
        answers(chat, Scripted(replies=(("One", HANG),)))
        reply = await (await chat.begin("send", text="q1")).take_until(is_token)
        await threads.delete(chat.thread.pk)
        assert ending(await reply.stop()) == "stopped"
        assert await rows_left() == 0

    async def test_a_run_that_has_not_begun_does_not_begin(self, chat: Story) -> None:
        reply = await chat.begin("send", text="q1")
        await threads.delete(chat.thread.pk)
        assert ending(await reply.finish()) == "failed"
        assert await rows_left() == 0

    async def test_with_its_owner_the_rows_go(self, chat: Story, alice: User) -> None:
        """The checkpoints are then found by nobody: whoever deletes a person deletes their threads first."""
        await chat.send("q1")
        await alice.adelete()
        assert await rows_left() == 0
