"""Commands: what each refuses, what it claims, and that refusing changes nothing."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest

from branching import commands, heads, index, leases, saying
from branching.exceptions import (
    BadText,
    Conflict,
    EmptyMessage,
    HeadMoved,
    HistoryLost,
    MessageTooLong,
    NoSuchMessage,
    NoSuchThread,
    NotEditable,
    NothingToRun,
    NotReplayable,
    RunInProgress,
)
from branching.limits import MESSAGE_MAX, TITLE_MAX
from branching.models import Run, Thread
from branching.types import Content
from tests.branching.conftest import Story, answers, expire, is_token, saving_only
from tests.branching.models import HANG, Scripted

pytestmark = pytest.mark.django_db(transaction=True)


async def everything(story: Story) -> tuple[object, ...]:
    """All that a refused command must leave as it was."""
    runs_there = [run async for run in story.thread.runs.order_by("created_at").values_list("pk", "status", "tip")]
    return await story.view(), runs_there, list((await story.tree()).checkpoints)


class TestTexts:
    @pytest.mark.parametrize("text", ["", "  \n\t ", "\r\n"])
    async def test_an_empty_one_is_refused(self, chat: Story, text: str) -> None:
        await chat.send("q1")
        before = await everything(chat)
        with pytest.raises(EmptyMessage):
            await chat.send(text)
        with pytest.raises(EmptyMessage):
            await chat.edit(await chat.version(0), text)
        assert await everything(chat) == before

    @pytest.mark.parametrize("text", ["a\0b", "a\ud800", "\udfff", "\ud83d\ude00"])
    async def test_one_that_no_database_can_hold_is_refused(self, chat: Story, text: str) -> None:
        with pytest.raises(BadText):
            await chat.send(text)
        assert not await chat.thread.runs.aexists()

    async def test_one_that_is_too_long_is_refused_and_the_longest_is_not(self, chat: Story) -> None:
        with pytest.raises(MessageTooLong):
            await chat.send("x" * (MESSAGE_MAX + 1))
        answers(chat, Scripted())
        await chat.send("x" * MESSAGE_MAX)
        assert len((await chat.version(0)).text) == MESSAGE_MAX

    async def test_line_ends_become_one_kind_and_blanks_around_go(self, chat: Story) -> None:
        await chat.send("  one\r\n\r\ntwo \r\n")
        assert (await chat.version(0)).text == "one\n\ntwo"

    async def test_anything_else_is_kept_to_the_letter(self, chat: Story) -> None:
        text = "<b>&amp;</b>\u202e😀 ﷽ a\u0301 {{ x }} %s"
        await chat.send(text)
        assert (await chat.version(0)).text == text

    async def test_the_first_line_names_the_thread_once(self, chat: Story) -> None:
        await chat.send("one line\nsecond line")
        await chat.send("q2")
        assert (await chat.view()).title == "one line"

    @pytest.mark.parametrize(
        ("line", "title"),
        [
            ("x" * TITLE_MAX, "x" * TITLE_MAX),
            ("x" * TITLE_MAX + "y", "x" * (TITLE_MAX - 1) + "…"),
            ("分" * 80, "分" * (TITLE_MAX - 1) + "…"),
            ("word " * 20, "word " * 11 + "word…"),
            (
                "Explain what a checkpoint is, with a code example and a table",
                "Explain what a checkpoint is, with a code example and a…",
            ),
        ],
    )
    async def test_a_long_first_line_is_cut_between_words(self, chat: Story, line: str, title: str) -> None:
        await chat.send(line)
        assert (await chat.view()).title == title


class TestSend:
    async def test_to_a_missing_thread_is_refused(self, chat: Story) -> None:
        page = await chat.view()
        await chat.thread.adelete()
        with pytest.raises(NoSuchThread):
            await commands.send(chat.thread.pk, text="q1", head_version=page.head_version)
        chat.is_sound = False

    async def test_it_is_on_screen_before_anything_has_run(self, chat: Story) -> None:
        await chat.send("q1")
        reply = await chat.begin("send", text="q2")
        assert (await chat.screen())[2:] == ["(q2)", "[streaming]"]
        await reply.stop()

    async def test_while_a_reply_is_written_another_is_refused(self, chat: Story) -> None:
        answers(chat, Scripted(replies=(("One", HANG),)))
        reply = await (await chat.begin("send", text="q1")).take_until(is_token)
        for again in ("q1", "q2"):
            with pytest.raises(RunInProgress):
                await chat.send(again)
        await reply.stop()
        assert await chat.screen() == ["q1", "One"]

    async def test_a_key_that_was_seen_begins_nothing(self, chat: Story) -> None:
        version = (await chat.view()).head_version
        first = await commands.send(chat.thread.pk, text="q1", head_version=version, key="k1")
        assert first and await commands.send(chat.thread.pk, text="q1", head_version=version, key="k1") is None

    async def test_from_a_head_that_leads_nowhere_is_refused_until_the_page_has_put_it_right(self, chat: Story) -> None:
        await chat.send("q1")
        version = (await chat.view()).head_version
        await Thread.objects.filter(pk=chat.thread.pk).aupdate(head="gone")
        for _ in range(2):
            with pytest.raises(HeadMoved):
                await commands.send(chat.thread.pk, text="q2", head_version=version)
            await chat.view()
        await chat.send("q2")
        assert len((await chat.view()).versions) == 4


class TestReplay:
    async def test_of_a_persons_message_is_refused(self, chat: Story) -> None:
        await chat.send("q1")
        with pytest.raises(NotReplayable):
            await chat.replay(await chat.version(0))

    async def test_of_a_message_elsewhere_is_refused(self, chat: Story, story: Story) -> None:
        await story.send("h1")
        with pytest.raises(NoSuchMessage):
            await chat.replay(await story.version(1))

    async def test_at_once_only_what_comes_before_the_reply_is_on_screen(self, chat: Story) -> None:
        """
        q1 ── a1 ── q2 ── a2
           └─ (streaming)
        """
        await chat.send("q1")
        await chat.send("q2")
        reply = await chat.begin("replay", message=(await chat.version(1)).pk)
        assert await chat.screen() == ["q1", "[streaming 2/2]"]
        await reply.finish()

    async def test_of_a_version_that_is_not_on_screen_goes_to_its_branch(self, chat: Story) -> None:
        answers(chat, Scripted(replies=("a1", "b1", "a2")))
        await chat.send("q1")
        a1 = await chat.version(1)
        await chat.edit(await chat.version(0), "q1'")
        await chat.replay(a1)
        assert await chat.screen() == ["q1 1/2", "a2 2/2"]


class TestResume:
    async def test_where_there_is_a_reply_is_refused(self, chat: Story) -> None:
        with pytest.raises(NothingToRun):
            await chat.resume()
        await chat.send("q1")
        before = await everything(chat)
        with pytest.raises(NothingToRun):
            await chat.resume()
        assert await everything(chat) == before

    async def test_of_a_message_that_was_undone_is_refused(self, chat: Story) -> None:
        """HEAD stays on the thread's first checkpoint, which announces it."""
        with saving_only(chat.engine, 1):
            await chat.send("q1")
        assert await chat.screen() == ["(q1)", "[failed]"]
        await chat.undo()
        with pytest.raises(NothingToRun):
            await chat.resume()
        await chat.send("q2")
        assert (await chat.screen())[0] == "q2 2/2", "nothing that was said is lost"

    async def test_in_the_middle_of_a_branch_grows_a_sibling(self, chat: Story) -> None:
        """HEAD was put on the unanswered q1; its reply exists, so this one is the second."""
        answers(chat, Scripted(replies=("a1", "a2")))
        await chat.send("q1")
        await chat.go((await chat.version(0)).checkpoint_id)
        assert await chat.screen() == ["q1", "[missing 2/2]"]
        await chat.resume()
        assert await chat.screen() == ["q1", "a2 2/2"]


class TestEdit:
    async def test_of_a_reply_is_refused(self, chat: Story) -> None:
        await chat.send("q1")
        with pytest.raises(NotEditable):
            await chat.edit(await chat.version(1), "mine")

    async def test_of_a_message_elsewhere_is_refused(self, chat: Story, story: Story) -> None:
        await story.send("h1")
        with pytest.raises(NoSuchMessage):
            await chat.edit(await story.version(0), "mine")

    async def test_while_a_reply_is_written_is_refused(self, chat: Story) -> None:
        answers(chat, Scripted(replies=("a1", ("a2", HANG))))
        await chat.send("q1")
        reply = await (await chat.begin("send", text="q2")).take_until(is_token)
        with pytest.raises(RunInProgress):
            await chat.edit(await chat.version(0), "q1'")
        await reply.stop()
        assert await chat.screen() == ["q1", "a1", "q2", "a2"]

    async def test_from_a_history_that_is_gone_is_refused_and_leaves_the_thread_free(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.engine.saver.adelete_thread(str(chat.thread.pk))
        with pytest.raises(HistoryLost):
            await chat.edit(await chat.version(0), "q1'")
        assert not await Run.objects.filter(status__in=Run.ACTIVE).aexists()
        assert not (await chat.tree()).checkpoints
        chat.is_sound = False

    @pytest.mark.parametrize("step", [(index, "record"), (leases, "end"), (heads, "log")])
    async def test_is_there_whole_or_not_at_all(self, chat: Story, step: tuple[Any, str]) -> None:
        """Checkpoint, index and HEAD are one transaction, wherever in it the process dies."""
        await chat.send("q1")
        before = await everything(chat)
        with patch.object(*step, side_effect=SystemExit), pytest.raises(SystemExit):
            await chat.edit(await chat.version(0), "q1'")
        assert await everything(chat) == before

    async def test_from_a_stale_page_stores_nothing(self, chat: Story) -> None:
        await chat.send("q1")
        before = await everything(chat)
        with pytest.raises(HeadMoved):
            await chat.edit(await chat.version(0), "q1'", head_version=before[0].head_version - 1)
        assert await everything(chat) == before

    async def test_a_key_that_was_seen_makes_no_second_version(self, chat: Story) -> None:
        await chat.send("q1")
        q1, page = await chat.version(0), await chat.view()
        for _ in range(2):
            await chat.edit(q1, "q1'", answer=False, key="k1", head_version=page.head_version)
        assert await chat.screen() == ["q1' 2/2", "[missing]"]


class TestRefusals:
    @pytest.mark.parametrize("command", ["send", "replay", "resume", "edit", "undo", "switch", "go"])
    async def test_a_stale_page_is_refused_and_nothing_changes(self, chat: Story, command: str) -> None:
        answers(chat, Scripted(replies=("a1", "a2", ValueError("no"))))
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        await chat.send("q2")
        before = await everything(chat)
        q1, a2 = before[0].versions[:2]
        arguments = {
            "send": {"text": "q3"},
            "replay": {"message": a2.pk},
            "edit": {"message": q1.pk, "text": "q1'"},
            "switch": {"message": a2.previous},
            "go": {"checkpoint_id": a2.checkpoint_id},
        }
        given = {**arguments.get(command, {}), "head_version": before[0].head_version - 1, "key": "k1"}
        call = getattr(commands if command in ("send", "replay", "resume", "edit") else heads, command)
        with pytest.raises(HeadMoved):
            await call(*([chat.engine] if command == "edit" else []), chat.thread.pk, **given)
        assert await everything(chat) == before

    async def test_a_dead_run_stands_in_nobodys_way(self, chat: Story) -> None:
        dead = await chat.begin("send", text="q1")
        with pytest.raises(Conflict):
            await chat.send("q2")
        await expire(dead.run)
        await chat.send("q2")
        assert (await chat.screen())[:2] == ["q1", "q2"]
        assert (await Run.objects.aget(pk=dead.run.pk)).status == "lost"


def test_a_command_says_a_text_under_an_id_of_its_own() -> None:
    first, second = saying.said_anew("q"), saying.said_anew("q")
    assert isinstance(first, Content) and first.id != second.id
