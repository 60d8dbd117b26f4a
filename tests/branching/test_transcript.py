"""What is on screen, and that reading it costs the same however long the thread is."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from branching import heads, index, leases, transcript
from branching.database import on_database
from branching.exceptions import NoSuchCheckpoint
from branching.models import Run, Thread
from branching.types import Checkpoint, Content
from tests.branching.conftest import Story, answers, is_token, screen
from tests.branching.models import HANG, Scripted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def chat(chat: Story) -> Story:
    """Replies are a1, a2, ... in the order in which they are asked for."""
    answers(chat, Scripted(replies=tuple(f"a{number}" for number in range(1, 20))))
    return chat


class TestVersions:
    async def test_an_empty_thread(self, chat: Story) -> None:
        view = await chat.view()
        assert view.is_empty and view.head is None
        assert (view.run_state, view.can_undo, view.later, view.open_reply) == ("idle", False, None, None)

    async def test_each_knows_its_place_and_its_neighbours(self, chat: Story) -> None:
        await chat.send("q1")
        for _ in range(2):
            await chat.replay(await chat.version(1))
        third = await chat.version(1)
        second = (await chat.switch(third.previous)).versions[1]
        first = (await chat.switch(second.previous)).versions[1]
        assert [(v.text, v.position, v.total) for v in (first, second, third)] == [
            ("a1", 1, 3), ("a2", 2, 3), ("a3", 3, 3),
        ]  # fmt: skip
        assert (first.previous, first.next) == (None, second.pk)
        assert (second.previous, second.next) == (first.pk, third.pk)
        assert (third.previous, third.next) == (second.pk, None)

    async def test_a_stopped_reply_says_so_and_so_does_what_the_model_is_called(self, chat: Story) -> None:
        answers(chat, Scripted(replies=(("One", HANG), "a1")))
        await (await (await chat.begin("send", text="q1")).take_until(is_token)).stop()
        assert (await chat.version(1)).state == "stopped"
        await chat.replay(await chat.version(1))
        reply = await chat.version(1)
        assert (reply.state, reply.data["model"]) == ("done", "scripted")


class TestOpenPlaces:
    async def test_under_an_edit_without_an_answer(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.edit(await chat.version(0), "q1'", answer=False)
        view = await chat.view()
        assert screen(view) == ["q1' 2/2", "[missing]"]
        assert (view.run, view.later, view.run_state) == (None, None, "idle")

    async def test_with_the_run_that_fills_it(self, chat: Story) -> None:
        reply = await chat.begin("send", text="q1")
        view = await chat.view()
        assert (view.open_reply.run_id, view.run.id, view.run_state) == (reply.run.pk, reply.run.pk, "running")
        assert view.run.on_branch
        await reply.finish()

    async def test_a_reply_that_did_not_come_is_forgotten_once_another_came(self, chat: Story) -> None:
        answers(chat, Scripted(replies=("a1", ValueError("no"), "a2")))
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        await chat.replay((await chat.view()).open_reply.previous)
        assert await chat.screen() == ["q1", "a2 2/2"]

    async def test_where_one_came_back_to_by_undo_the_way_on_is_told(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.send("q2")
        view = await chat.undo()
        assert screen(await chat.switch(view.later)) == ["q1", "a1", "q2", "a2"]
        assert (await chat.view()).later is None

    async def test_the_way_on_is_the_newest_there_is(self, chat: Story) -> None:
        await chat.send("q1")
        for question in ("q2", "q3"):
            await chat.send(question)
            await chat.undo()
        assert screen(await chat.switch((await chat.view()).later)) == ["q1", "a1", "q3 2/2", "a3"]


class TestReadAt:
    async def test_it_shows_a_version_and_leaves_head_alone(self, chat: Story) -> None:
        await chat.send("q1")
        first = await chat.version(1)
        await chat.replay(first)
        await chat.send("q2")
        before = await chat.view()
        assert screen(await transcript.read_at(chat.thread.pk, first.checkpoint_id)) == ["q1", "a1 1/2"]
        assert await chat.view() == before

    @pytest.mark.parametrize("unknown", ["", "gone", "of another thread"])
    async def test_what_is_not_of_this_thread_does_not_exist(self, chat: Story, story: Story, unknown: str) -> None:
        await chat.send("q1")
        await story.send("h1")
        checkpoint = (await story.view()).head if unknown == "of another thread" else unknown
        with pytest.raises(NoSuchCheckpoint):
            await transcript.read_at(chat.thread.pk, checkpoint)


class TestOneMoment:
    async def test_a_run_that_ends_while_the_view_is_read_is_not_half_there(self, chat: Story) -> None:
        answers(chat, Scripted(replies=(("One", HANG),)))
        reply = await (await chat.begin("send", text="q1")).take_until(is_token)
        original, calls = transcript._active_run, []

        def active_run(thread: Thread) -> object:
            if not calls:
                leases.end(reply.run, status=Run.Status.LOST)
            calls.append(thread)
            return original(thread)

        with patch.object(transcript, "_active_run", active_run):
            view = await chat.view()
        assert (view.run, view.open_reply.state, len(calls)) == (None, "lost", 2)
        await reply.stop()


class TestRevision:
    async def test_it_grows_with_everything_that_happens(self, chat: Story) -> None:
        seen = [(await chat.view()).revision]

        async def grew() -> None:
            seen.append((await chat.view()).revision)
            assert seen[-1] > seen[-2]

        reply = await chat.begin("send", text="q1")
        await grew()
        await reply.finish()
        await grew()
        await chat.replay(await chat.version(1))
        await grew()
        await chat.edit(await chat.version(0), "q1'", answer=False)
        await grew()
        await chat.switch((await chat.version(0)).previous)
        await grew()
        await chat.undo()
        await grew()

    async def test_reading_changes_nothing(self, chat: Story) -> None:
        await chat.send("q1")
        assert await chat.view() == await chat.view()


@on_database
def grow(thread: Thread, turns: int) -> None:
    """So many turns in the index alone, the last reply in three versions; HEAD is on the second."""
    said: tuple[Content, ...] = ()
    parent, checkpoints = None, []

    def save(text: str, under: str | None, messages: tuple[Content, ...]) -> str:
        step = ("model",) if text.startswith("q") else ()
        checkpoints.append(Checkpoint(text, under, "loop", 0, step, messages))
        return text

    for turn in range(turns):
        for kind, text in (("human", f"q{turn}"), ("ai", f"a{turn}")):
            said = (*said, Content(f"{text}-id", kind, text))
            parent = save(text, parent, said)
    for version in ("b", "c"):
        save(version, f"q{turns - 1}", (*said[:-1], Content(f"{version}-id", "ai", version)))
    for checkpoint in checkpoints:
        row = index.record(thread.pk, checkpoint)
    row = index.checkpoint_of(thread.pk, "b")
    heads.move(thread.pk, row, why="switch", head_version=0)


async def never(*args: object, **more: object) -> None:
    raise AssertionError("a checkpoint was read")


class TestCost:
    """How many queries it takes is looked at in `test_window.py`."""

    async def test_to_open_a_thread_and_to_press_an_arrow_reads_no_checkpoint(self, chat: Story) -> None:
        chat.is_sound = False  # it is in the index alone
        await grow(chat.thread, 10)
        kind = type(chat.engine.saver)
        with patch.object(kind, "aget_tuple", never), patch.object(kind, "alist", never):
            view = await chat.view()
            await chat.switch(view.versions[-1].previous)
