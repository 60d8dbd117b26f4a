"""Runs: what they stream, where they leave HEAD, and every way in which they can end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from unittest.mock import patch

import pytest
from langchain_core.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from langchain_core.messages import BaseMessage
from langgraph.errors import InvalidUpdateError

from branching import runs
from branching.models import IndexedCheckpoint, Run
from branching.types import CheckpointSaved, RunEnded, Token
from tests.branching.conftest import (
    Reply,
    Story,
    answers,
    ending,
    expire,
    is_saved,
    is_token,
    saving_held_back,
    saving_only,
    screen,
    spoken,
)
from tests.branching.models import HANG, Scripted

pytestmark = pytest.mark.django_db(transaction=True)

BROKEN = ValueError("The model broke.")


async def status(reply: Reply) -> str:
    return (await Run.objects.aget(pk=reply.run.pk)).status


async def test_a_run_streams_its_reply_and_each_checkpoint_as_it_is_saved(chat: Story) -> None:
    answers(chat, Scripted(replies=("One two.",)))
    events = await chat.send("q1")
    assert [type(event) for event in events if not isinstance(event, Token)] == [CheckpointSaved] * 3 + [RunEnded]
    assert spoken(events) == "One two." and ending(events) == "done"
    assert [len(e.checkpoint.messages) for e in events if isinstance(e, CheckpointSaved)] == [0, 1, 2]


async def test_a_checkpoint_is_on_disk_when_it_is_announced(chat: Story) -> None:
    reply = await chat.begin("send", text="q1")
    while not reply.has_ended:
        await reply.take()
        if is_saved(reply.heard[-1]):
            assert await chat.engine.saver.ahas(chat.thread.pk, reply.heard[-1].checkpoint.id)


async def test_a_run_that_speaks_before_its_first_checkpoint_is_on_disk_is_not_recorded_yet(chat: Story) -> None:
    """A regeneration begins with a copy of its base, and LangGraph does not wait until that is saved."""
    answers(chat, Scripted(replies=("a1", "one two three")))
    await chat.send("q1")
    with saving_held_back(chat.engine) as let:
        reply = await (await chat.begin("replay", message=(await chat.version(1)).pk)).take_until(is_token)
        assert not any(map(is_saved, reply.heard))
        assert not await IndexedCheckpoint.objects.filter(run=reply.run).aexists()
        let.set()
        events = await reply.finish()
    assert (spoken(events), await chat.screen()) == ("one two three", ["q1", "one two three 2/2"])


async def test_what_was_said_before_the_first_checkpoint_was_on_disk_is_kept_by_a_stop(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", ("one two", HANG))))
    await chat.send("q1")
    with saving_held_back(chat.engine) as let:
        reply = await chat.begin("replay", message=(await chat.version(1)).pk)
        await reply.take_until(lambda event: is_token(event) and "two" in event.text)
        let.set()
        assert ending(await reply.stop()) == "stopped"
    assert await chat.screen() == ["q1", "one two 2/2"]


async def test_the_tokens_of_a_reply_are_heard_once(story: Story) -> None:
    """The node's finished message, which comes after its pieces, does not say them again."""
    assert spoken(await story.send("h1")) == "回复：h1"


class TestFollowing:
    async def test_head_follows_while_the_reader_stays(self, chat: Story) -> None:
        events = await chat.send("q1")
        saved = [event for event in events if isinstance(event, CheckpointSaved)]
        assert all(event.head_followed for event in saved)
        assert (await chat.view()).head == saved[-1].checkpoint.id

    async def test_a_run_leaves_head_alone_once_the_reader_has_left(self, chat: Story) -> None:
        """
        q1 ── a1   <- the reader goes here
           └─ a2   while this is being written
        """
        answers(chat, Scripted(replies=("a1", "a2 and more")))
        await chat.send("q1")
        a1 = await chat.version(1)
        reply = await (await chat.begin("replay", message=a1.pk)).take_until(is_token)
        before = await chat.switch(a1)
        assert before.run and not before.run.on_branch
        await reply.finish()
        after = await chat.view()
        assert (after.head, after.head_version) == (before.head, before.head_version)
        assert screen(after) == ["q1", "a1 1/2"]
        assert (await chat.switch(after.versions[1].next)).versions[1].text == "a2 and more"

    async def test_head_follows_again_when_the_reader_comes_back(self, chat: Story) -> None:
        answers(chat, Scripted(replies=("a1", "a2 and more")))
        await chat.send("q1")
        a1 = await chat.version(1)
        reply = await (await chat.begin("replay", message=a1.pk)).take_until(is_token)
        away = await chat.switch(a1)
        await chat.go(away.run.tip)
        await reply.finish()
        assert await chat.screen() == ["q1", "a2 and more 2/2"]

    async def test_a_change_that_head_does_not_follow_makes_a_new_revision(self, chat: Story) -> None:
        """The counter beside a1 changes, so a page drawn before must not replace one drawn after."""
        answers(chat, Scripted(replies=("a1", "a2 and more")))
        await chat.send("q1")
        a1 = await chat.version(1)
        reply = await (await chat.begin("replay", message=a1.pk)).take_until(is_token)
        before = await chat.switch(a1)
        await reply.take_until(lambda event: is_saved(event) and len(event.checkpoint.messages) == 2)
        after = await chat.view()
        assert screen(before) != screen(after)
        assert before.revision < after.revision
        await reply.finish()


class TestFailing:
    async def test_a_failure_is_an_event_and_keeps_what_was_said(self, chat: Story) -> None:
        answers(chat, Scripted(replies=(("One two", BROKEN),)))
        events = await chat.send("q1")
        assert (ending(events), events[-1].error) == ("failed", "error")
        view = await chat.view()
        assert screen(view) == ["q1", "[failed]"]
        assert (view.run_state, view.open_reply.text, view.open_reply.error) == ("failed", "One two", "error")

    @pytest.mark.parametrize("said", ["", "One two"])
    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (ModelTimeoutError("slow"), "timeout"),
            (ModelAuthenticationError("no such key"), "auth"),
            (ModelRateLimitError("too many"), "rate"),
            (ModelAPIError("down"), "model"),
            (InvalidUpdateError("the graph's own fault"), "graph"),
        ],
    )
    async def test_whatever_it_was_is_named_logged_and_can_be_tried_again(
        self, chat: Story, caplog: pytest.LogCaptureFixture, said: str, error: Exception, code: str
    ) -> None:
        """Before the first word and after it: three failures and a success leave one message and one reply."""
        model = answers(chat, Scripted(replies=(*[(said, error)] * 3, "a1")))
        reply = await chat.begin("send", text="q1")
        await reply.finish()
        for _ in range(2):
            await chat.resume()
        view = await chat.view()
        assert (view.open_reply.error, view.open_reply.text, view.run) == (code, said, None)
        assert str(reply.run.pk) in caplog.text and str(chat.thread.pk) in caplog.text and str(error) in caplog.text
        await chat.resume()
        assert await chat.screen() == ["q1", "a1"]
        assert model.asked == [["q1"]] * 4

    async def test_a_failed_regeneration_stands_after_the_replies_there_are(self, chat: Story) -> None:
        """The arrow leads back from 2/2, which failed, to 1."""
        answers(chat, Scripted(replies=("a1", BROKEN)))
        await chat.send("q1")
        a1 = await chat.version(1)
        await chat.replay(a1)
        view = await chat.view()
        assert screen(view) == ["q1", "[failed 2/2]"]
        assert view.open_reply.previous == a1.pk
        assert screen(await chat.switch(view.open_reply.previous)) == ["q1", "a1"]

    async def test_another_try_answers_in_the_same_place(self, chat: Story) -> None:
        answers(chat, Scripted(replies=("a1", BROKEN, BROKEN, "a2")))
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        await chat.resume()
        assert await chat.screen() == ["q1", "[failed 2/2]"]
        await chat.resume()
        assert await chat.screen() == ["q1", "a2 2/2"]
        await chat.replay(await chat.version(1))
        assert await chat.screen() == ["q1", "a2 3/3"]

    async def test_saying_something_else_after_a_failure_leaves_the_first_message_standing(self, chat: Story) -> None:
        model = answers(chat, Scripted(replies=(BROKEN, "a2")))
        await chat.send("q1")
        await chat.send("q2")
        assert model.asked == [["q1"], ["q1", "q2"]]
        assert await chat.screen() == ["q1", "q2", "a2"]

    async def test_between_announcement_and_message_it_is_answered_once(self, chat: Story) -> None:
        """Only the checkpoint that announces q2 was saved; two more tries got no further."""
        model = answers(chat, Scripted(replies=("a1", "a2")))
        await chat.send("q1")
        with saving_only(chat.engine, 1):
            await chat.send("q2")
        for saved in (0, 1):
            assert await chat.screen() == ["q1", "a1", "(q2)", "[failed]"]
            with saving_only(chat.engine, saved):
                await chat.resume()
        await chat.resume()
        assert await chat.screen() == ["q1", "a1", "q2", "a2"]
        assert model.asked == [["q1"], ["q1", "a1", "q2"]]

    @pytest.mark.parametrize("saved", [0, 1])
    async def test_what_could_not_be_saved_is_as_soon_as_that_is_possible(self, chat: Story, saved: int) -> None:
        """Not even the checkpoint that announces q2, or that one alone: something else that is said comes after it."""
        model = answers(chat, Scripted(replies=("a1", "a3")))
        await chat.send("q1")
        with saving_only(chat.engine, saved):
            await chat.send("q2")
        await chat.send("q3")
        assert await chat.screen() == ["q1", "a1", "q2", "q3", "a3"]
        assert model.asked[-1] == ["q1", "a1", "q2", "q3"]


class TestStopping:
    async def test_what_was_said_is_kept_as_a_version(self, chat: Story) -> None:
        answers(chat, Scripted(replies=(("One two", HANG), "a2")))
        reply = await (await chat.begin("send", text="q1")).take_until(lambda e: is_token(e) and "two" in e.text)
        assert ending(await reply.stop()) == "stopped"
        view = await chat.view()
        assert screen(view) == ["q1", "One two"]
        assert (view.versions[1].state, view.open_reply, view.run_state) == ("stopped", None, "idle")

    async def test_without_a_word_there_is_no_version(self, chat: Story) -> None:
        answers(chat, Scripted(replies=((HANG,), "a1")))
        reply = await (await chat.begin("send", text="q1")).take(2)
        await reply.stop()
        assert await chat.screen() == ["q1", "[stopped]"]
        await chat.resume()
        assert await chat.screen() == ["q1", "a1"]

    @pytest.mark.parametrize("heard", [0, 1, 2])
    async def test_before_the_first_word_the_message_waits_and_is_answered_once(self, chat: Story, heard: int) -> None:
        """On a new thread, where at first no checkpoint at all is on disk."""
        answers(chat, Scripted(replies=((HANG,),)))
        await (await (await chat.begin("send", text="q1")).take(heard)).stop()
        assert await chat.screen() == ["q1", "[stopped]"]
        model = answers(chat, Scripted(replies=("a1",)))
        await chat.resume()
        assert await chat.screen() == ["q1", "a1"]
        assert model.asked == [["q1"]]

    async def test_stopped_at_once_on_a_later_turn_it_is_answered_once_too(self, chat: Story) -> None:
        model = answers(chat, Scripted(replies=("a1", "a2")))
        await chat.send("q1")
        await (await chat.begin("send", text="q2")).stop()
        assert await chat.screen() == ["q1", "a1", "q2", "[stopped]"]
        await chat.resume()
        assert await chat.screen() == ["q1", "a1", "q2", "a2"]
        assert model.asked[-1] == ["q1", "a1", "q2"]

    async def test_stopped_at_once_and_then_something_else_is_said(self, chat: Story) -> None:
        """What was said stays, though it was stopped before anything was stored."""
        model = answers(chat, Scripted(replies=("a1", "a3")))
        await chat.send("q1")
        await (await chat.begin("send", text="q2")).stop()
        await chat.send("q3")
        assert await chat.screen() == ["q1", "a1", "q2", "q3", "a3"]
        assert model.asked[-1] == ["q1", "a1", "q2", "q3"]

    async def test_what_was_saved_unheard_counts(self, chat: Story) -> None:
        """A stream that is cut may have told of less than has reached the disk: here of the first checkpoint only."""
        answers(chat, Scripted(replies=("a1",)))
        original = runs._parts

        async def deaf(*given: Any) -> AsyncIterator[Any]:
            parts = [part async for part in original(*given)]
            yield parts[0]
            given[-1].set()  # the stop

        with patch.object(runs, "_parts", deaf):
            events = await chat.send("q1")
        assert ending(events) == "done"
        assert await chat.screen() == ["q1", "a1"]

    async def test_a_stop_after_the_end_changes_nothing(self, chat: Story) -> None:
        answers(chat, Scripted(replies=("a1",)))
        reply = await (await chat.begin("send", text="q1")).take_until(lambda event: isinstance(event, RunEnded))
        assert ending(await reply.stop()) == "done"

    async def test_a_node_that_turns_the_cancel_into_an_error_was_stopped_all_the_same(self, chat: Story) -> None:
        class Wraps(Scripted):
            async def write(self, messages: list[BaseMessage]) -> Any:
                try:
                    async for piece in super().write(messages):
                        yield piece
                except asyncio.CancelledError as cancel:
                    raise ConnectionError("The stream broke.") from cancel

        answers(chat, Wraps(replies=(("One", HANG),)))
        reply = await (await chat.begin("send", text="q1")).take_until(is_token)
        assert ending(await reply.stop()) == "stopped"
        assert await chat.screen() == ["q1", "One"]


class TestDying:
    async def test_a_run_whose_consumer_goes_away_is_lost_and_leaves_nothing_running(self, chat: Story) -> None:
        answers(chat, Scripted(replies=(("One", HANG), "a1")))
        reply = await (await chat.begin("send", text="q1")).take_until(is_token)
        await reply.leave()
        assert not [task for task in asyncio.all_tasks() if "pump" in repr(task)]
        view = await chat.view()
        assert (await status(reply), screen(view), view.run_state) == ("lost", ["q1", "[lost]"], "failed")
        await chat.resume()
        assert await chat.screen() == ["q1", "a1"]

    async def test_a_run_whose_consumer_is_cancelled_is_lost(self, chat: Story) -> None:
        answers(chat, Scripted(replies=(("One", HANG),)))
        reply = await (await chat.begin("send", text="q1")).take_until(is_token)
        consumer = asyncio.create_task(reply.finish())
        await asyncio.sleep(0)
        consumer.cancel()
        await asyncio.wait({consumer})
        assert await status(reply) == "lost"

    async def test_a_run_that_has_ended_is_not_lost_by_its_consumer_going_away(self, chat: Story) -> None:
        reply = await (await chat.begin("send", text="q1")).take_until(lambda event: isinstance(event, RunEnded))
        await reply.leave()
        assert await status(reply) == "done"

    async def test_a_run_whose_lease_ran_out_is_shown_as_lost(self, chat: Story) -> None:
        answers(chat, Scripted(replies=(("One", HANG),)))
        reply = await (await chat.begin("send", text="q1")).take_until(is_token)
        await reply.crash()
        view = await chat.view()
        assert (screen(view), view.run_state, view.run) == (["q1", "[lost]"], "failed", None)

    @pytest.mark.parametrize("heard", [0, 1])
    async def test_what_a_dead_run_was_given_to_say_stays_whatever_is_said_next(self, chat: Story, heard: int) -> None:
        """It died before its first checkpoint, or after the one that announces the message."""
        answers(chat, Scripted(replies=("a1", (HANG,))))
        await chat.send("q1")
        await (await (await chat.begin("send", text="q2")).take(heard)).crash()
        answers(chat, Scripted(replies=("a3",)))
        await chat.send("q3")
        assert (await chat.screen())[2:] == ["q2", "q3", "a3"]

    async def test_an_edit_that_died_before_it_was_saved_can_be_given_again_with_its_key(self, chat: Story) -> None:
        await chat.send("q1")
        q1 = await chat.version(0)
        with saving_only(chat.engine, 0), pytest.raises(OSError):
            await chat.edit(q1, "q1'", key="k")
        assert await chat.edit(q1, "q1'", key="k", answer=False) == []
        assert await chat.screen() == ["q1' 2/2", "[missing]"]

    async def test_a_run_that_was_given_up_before_it_began_does_not_begin(self, chat: Story) -> None:
        """Its process slept so long that another run has taken its place."""
        model = answers(chat, Scripted(replies=("a1",)))
        late = await chat.begin("send", text="q1")
        await expire(late.run)
        await chat.resume()
        assert ending(await late.finish()) == "failed"
        assert await status(late) == "lost"
        assert await chat.screen() == ["q1", "a1"]
        assert model.asked == [["q1"]]

    async def test_a_run_whose_books_cannot_be_kept_is_lost_at_once(self, chat: Story) -> None:
        """The stopped reply can't be saved. Nobody has to wait for a lease to run out."""
        answers(chat, Scripted(replies=(("One", HANG), "a1")))
        reply = await (await chat.begin("send", text="q1")).take_until(is_token)
        with saving_only(chat.engine, 0), pytest.raises(OSError, match="full"):
            await reply.stop()
        assert (await status(reply), await chat.screen()) == ("lost", ["q1", "[lost]"])
        await chat.resume()
        assert await chat.screen() == ["q1", "a1"]


class TestSafety:
    async def test_a_base_that_is_gone_fails_and_nothing_is_written(self, chat: Story) -> None:
        """LangGraph itself would start an empty conversation there."""
        await chat.send("q1")
        await chat.engine.saver.adelete_thread(str(chat.thread.pk))
        assert ending(await chat.send("q2")) == "failed"
        assert not (await chat.tree()).checkpoints
        chat.is_sound = False

    async def test_a_thread_with_forgotten_checkpoints_does_not_begin_anew(self, chat: Story) -> None:
        """Its rows are lost, so that it looks new; a run by thread id alone would go on from the newest checkpoint."""
        await chat.send("q1")
        await IndexedCheckpoint.objects.filter(thread=chat.thread).adelete()
        await chat.thread.messages.all().adelete()
        before = (await chat.tree()).checkpoints
        assert ending(await chat.send("q2")) == "failed"
        assert (await chat.tree()).checkpoints == before
        chat.is_sound = False

    @pytest.mark.parametrize("hostile", ["a\0b", "a\ud83d", "\udc00b", "\ud83d\ude00"])
    @pytest.mark.parametrize("end", ["done", "failed", "stopped"])
    async def test_characters_that_cannot_be_stored_break_no_run(self, chat: Story, hostile: str, end: str) -> None:
        finale = {"done": (), "failed": (BROKEN,), "stopped": (HANG,)}[end]
        answers(chat, Scripted(replies=((hostile, *finale),)))
        reply = await (await chat.begin("send", text="q1")).take_until(is_token)
        events = await (reply.stop() if end == "stopped" else reply.finish())
        assert ending(events) == end
        assert not set("\0\ud83d\ude00\udc00") & set(spoken(events) + "".join(await chat.screen()))
