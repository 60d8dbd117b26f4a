"""HEAD: switching, remembering, undoing, and never being taken from under a reader."""

from __future__ import annotations

import pytest

from branching import heads, transcript
from branching.database import on_database
from branching.exceptions import HeadMoved, NoSuchCheckpoint, NoSuchMessage, NoSuchThread, NothingToUndo
from branching.models import HeadMove, IndexedCheckpoint, Message
from tests.branching.conftest import Story, answers, is_saved, is_token, saving_only, screen
from tests.branching.models import HANG, Scripted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def chat(chat: Story) -> Story:
    """Replies are a1, a2, ... in the order in which they are asked for."""
    answers(chat, Scripted(replies=tuple(f"a{number}" for number in range(1, 20))))
    return chat


class TestSwitch:
    async def test_it_lands_where_one_was_when_one_left(self, chat: Story) -> None:
        """
        q1 ── a1 ── q2 ── a2
           |           └─ a3     <- chosen here: a2
           └─ a4                 then here, then back to a1
        """
        await chat.send("q1")
        await chat.send("q2")
        await chat.replay(await chat.version(3))
        await chat.switch((await chat.version(3)).previous)
        await chat.replay(await chat.version(1))
        assert await chat.screen() == ["q1", "a4 2/2"]
        view = await chat.switch((await chat.version(1)).previous)
        assert screen(view) == ["q1", "a1 1/2", "q2", "a2 1/2"]

    async def test_it_remembers_that_one_stopped_early(self, chat: Story) -> None:
        """Undo led back to a1 with q2 still to come; coming back shows no q2 either."""
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        await chat.send("q2")
        view = await chat.undo()
        assert screen(view) == ["q1", "a2 2/2"] and view.later
        await chat.switch(view.versions[1].previous)
        view = await chat.switch((await chat.version(1)).next)
        assert screen(view) == ["q1", "a2 2/2"] and view.later
        assert screen(await chat.switch(view.later)) == ["q1", "a2 2/2", "q2", "a3"]

    async def test_it_runs_and_stores_nothing(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        before = (await chat.tree()).checkpoints.keys()
        await chat.switch((await chat.version(1)).previous)
        assert (await chat.tree()).checkpoints.keys() == before

    async def test_a_stale_page_is_refused_and_nothing_changes(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        before = await chat.view()
        with pytest.raises(HeadMoved):
            await chat.switch(before.versions[1].previous, head_version=before.head_version - 1)
        assert await chat.view() == before

    async def test_a_repeated_key_moves_once(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        page = await chat.view()
        for _ in range(2):
            await chat.switch(page.versions[1].previous, key="k1", head_version=page.head_version)
        assert await HeadMove.objects.filter(thread=chat.thread, why="switch").acount() == 1

    async def test_a_message_of_another_thread_does_not_exist(self, chat: Story, story: Story) -> None:
        await chat.send("q1")
        await story.send("h1")
        with pytest.raises(NoSuchMessage):
            await chat.switch(await story.version(0))

    async def test_a_missing_thread_does_not_exist(self, chat: Story) -> None:
        await chat.thread.adelete()
        with pytest.raises(NoSuchThread):
            await heads.undo(chat.thread.pk, head_version=0)
        chat.is_sound = False

    async def test_to_a_reply_in_the_making_it_shows_as_far_as_that_got(self, chat: Story) -> None:
        """q1' is edited and being answered; its arrow leads away from it and back into it."""
        answers(chat, Scripted(replies=("a1", ("b1", HANG))))
        await chat.send("q1")
        await chat.edit(await chat.version(0), "q1'", answer=False)
        reply = await (await chat.begin("resume")).take_until(is_token)
        await chat.switch((await chat.version(0)).previous)
        view = await chat.switch((await chat.version(0)).next)
        assert screen(view) == ["q1' 2/2", "[streaming]"] and view.run.on_branch
        await reply.stop()
        assert await chat.screen() == ["q1' 2/2", "b1"]


class TestGo:
    async def test_a_checkpoint_of_another_thread_does_not_exist(self, chat: Story, story: Story) -> None:
        await chat.send("q1")
        await story.send("h1")
        with pytest.raises(NoSuchCheckpoint):
            await chat.go((await story.view()).head)

    async def test_it_shows_the_branch_that_ends_there(self, chat: Story) -> None:
        await chat.send("q1")
        first = (await chat.view()).head
        await chat.replay(await chat.version(1))
        assert screen(await chat.go(first)) == ["q1", "a1 1/2"]


class TestUndo:
    async def test_a_send(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.send("q2")
        assert screen(await chat.undo()) == ["q1", "a1"]

    async def test_the_first_send_leaves_an_empty_thread_and_the_next_is_its_sibling(self, chat: Story) -> None:
        await chat.send("q1")
        view = await chat.undo()
        assert view.is_empty and view.later and not view.can_undo
        await chat.send("q2")
        assert await chat.screen() == ["q2 2/2", "a2"]
        assert screen(await chat.switch((await chat.version(0)).previous)) == ["q1 1/2", "a1"]

    async def test_a_first_send_of_which_only_the_announcement_was_saved(self, chat: Story) -> None:
        with saving_only(chat.engine, 1):
            await chat.send("q1")
        view = await chat.undo()
        assert (screen(view), view.can_undo) == ([], False)

    async def test_an_edit_and_its_answer_are_one_step(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.edit(await chat.version(0), "q1'")
        assert screen(await chat.undo()) == ["q1 1/2", "a1"]

    async def test_a_failure_and_its_retry_are_one_step(self, chat: Story) -> None:
        answers(chat, Scripted(replies=("a1", ValueError("no"), "a2")))
        await chat.send("q1")
        await chat.send("q2")
        await chat.resume()
        assert screen(await chat.undo()) == ["q1", "a1"]

    async def test_a_regeneration_and_a_switch_one_by_one(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        await chat.switch((await chat.version(1)).previous)
        assert screen(await chat.undo()) == ["q1", "a2 2/2"]
        assert screen(await chat.undo()) == ["q1", "a1 1/2"]
        assert (await chat.undo()).is_empty
        with pytest.raises(NothingToUndo):
            await chat.undo()

    async def test_what_is_done_after_an_undo_is_undone_next(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.send("q2")
        await chat.undo()
        await chat.send("q3")
        assert screen(await chat.undo()) == ["q1", "a1"]
        assert (await chat.undo()).is_empty

    async def test_it_runs_and_stores_nothing(self, chat: Story) -> None:
        await chat.send("q1")
        before = (await chat.tree()).checkpoints.keys()
        await chat.undo()
        assert (await chat.tree()).checkpoints.keys() == before

    async def test_of_nothing_is_refused(self, chat: Story) -> None:
        with pytest.raises(NothingToUndo):
            await chat.undo()

    async def test_a_repeated_key_undoes_once(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.send("q2")
        version = (await chat.view()).head_version
        for _ in range(2):
            await chat.undo(key="k1", head_version=version)
        assert await chat.screen() == ["q1", "a1"]

    async def test_a_stale_page_is_refused(self, chat: Story) -> None:
        await chat.send("q1")
        with pytest.raises(HeadMoved):
            await chat.undo(head_version=0)
        assert await chat.screen() == ["q1", "a1"]

    @pytest.mark.parametrize("heard", range(4))
    async def test_of_leaving_a_reply_in_the_making_lands_on_its_end(self, chat: Story, heard: int) -> None:
        """However early one left it: even before its first checkpoint, when HEAD is where an older run has been."""
        await chat.send("q1")
        a1 = await chat.version(1)
        reply = await (await chat.begin("replay", message=a1.pk)).take(heard)
        await chat.switch(a1)
        await reply.finish()
        assert await chat.screen() == ["q1", "a1 1/2"]
        assert screen(await chat.undo()) == ["q1", "a2 2/2"]

    async def test_of_leaving_a_sent_message_at_once_lands_on_its_reply(self, chat: Story) -> None:
        """
        q1 ── a1 ── q2 ── a3   q2 was not even stored when one left for a2's branch
           └─ a2
        """
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        await chat.switch((await chat.version(1)).previous)
        reply = await chat.begin("send", text="q2")
        await chat.switch((await chat.version(1)).next)
        await reply.finish()
        assert screen(await chat.undo()) == ["q1", "a1 1/2", "q2", "a3"]
        # The moves before are taken back to where they really began, though the reply set out from there, too.
        for before in (["q1", "a1 1/2"], ["q1", "a2 2/2"], ["q1", "a1 1/2"]):
            assert screen(await chat.undo()) == before

    async def test_of_a_send_in_the_making_takes_it_off_the_screen_for_good(self, chat: Story) -> None:
        """The reply goes on unseen and is found under `later`; leaving and undoing that comes back without it."""
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        reply = await (await chat.begin("send", text="q2")).take_until(is_token)
        assert screen(await chat.undo()) == ["q1", "a2 2/2"]
        await chat.switch((await chat.version(1)).previous)
        await reply.finish()
        view = await chat.undo()
        assert screen(view) == ["q1", "a2 2/2"] and view.later

    @pytest.mark.parametrize("earlier", [0, 1])
    async def test_of_a_send_that_nothing_has_come_of_yet_is_not_taken_back_by_its_run(
        self, chat: Story, earlier: int
    ) -> None:
        """HEAD is where the run sets out, but not for its sake."""
        for number in range(earlier):
            await chat.send(f"q{number}")
        before = await chat.screen()
        reply = await (await chat.begin("send", text="q")).take(1 - earlier)
        assert screen(await chat.undo()) == before
        await reply.finish()
        view = await chat.view()
        assert screen(view) == before and view.later

    async def test_of_a_regeneration_passes_over_a_switch_to_where_one_was_already(self, chat: Story) -> None:
        await chat.send("q1")
        reply = await (await chat.begin("replay", message=(await chat.version(1)).pk)).take_until(is_token)
        await chat.go((await chat.view()).run.tip)
        await chat.undo()
        await reply.finish()
        assert await chat.screen() == ["q1", "a1 1/2"]
        assert (await chat.undo()).is_empty

    async def test_while_it_is_being_answered_an_edit_is_undone_and_stays_a_version(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.edit(await chat.version(0), "q1'", answer=False)
        reply = await (await chat.begin("resume")).take_until(is_token)
        assert screen(await chat.undo()) == ["q1 1/2", "a1"]
        await reply.finish()
        assert await chat.screen() == ["q1 1/2", "a1"]
        assert screen(await chat.switch((await chat.version(0)).next)) == ["q1' 2/2", "a2"]

    async def test_a_move_from_where_nothing_is_any_more_is_passed_over(self, chat: Story) -> None:
        await chat.send("q1")
        await HeadMove.objects.acreate(thread=chat.thread, origin="gone", target=(await chat.view()).head, why="switch")
        assert (await chat.undo()).is_empty
        assert not (await chat.view()).can_undo


class TestRemembering:
    async def test_a_run_that_nobody_watches_is_what_one_comes_back_to(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.replay(await chat.version(1))
        reply = await (await chat.begin("send", text="q2")).take_until(is_saved)
        await chat.switch((await chat.version(1)).previous)
        await reply.finish()
        assert screen(await chat.switch((await chat.version(1)).next)) == ["q1", "a2 2/2", "q2", "a3"]

    async def test_a_run_that_nobody_watches_does_not_take_the_place_of_a_choice(self, chat: Story) -> None:
        """
        q1 ── a1           <- chosen
           |─ a2           is being written while one looks at q1'
        q1'── b1
        """
        answers(chat, Scripted(replies=("b", "a1", ("a2", HANG))))
        await chat.send("q1'")
        await chat.edit(await chat.version(0), "q1")
        reply = await (await chat.begin("replay", message=(await chat.version(1)).pk)).take_until(is_token)
        await chat.switch((await chat.view()).open_reply.previous)
        await chat.switch((await chat.version(0)).previous)
        await reply.stop()
        assert screen(await chat.switch((await chat.version(0)).next)) == ["q1 2/2", "a1 1/2"]

    async def test_only_what_changes_is_written(self, chat: Story) -> None:
        await chat.send("q1")
        await chat.send("q2")
        await chat.replay(await chat.version(3))
        before = {row.pk: row.end_id async for row in Message.objects.filter(thread=chat.thread)}
        a3 = await chat.version(3)
        await chat.switch(a3.previous)
        after = {row.pk: row.end_id async for row in Message.objects.filter(thread=chat.thread)}
        assert dict(after.items() - before.items()) == {a3.previous: None, a3.pk: a3.pk}


class TestRepair:
    @pytest.mark.parametrize("garbage", ["gone", "other thread", None])
    async def test_a_head_that_leads_nowhere_goes_to_the_newest_finished_place(
        self, chat: Story, story: Story, garbage: str | None
    ) -> None:
        await story.send("h1")
        await chat.send("q1")
        await chat.edit(await chat.version(0), "q1'", answer=False)
        head = (await story.view()).head if garbage == "other thread" else garbage
        await type(chat.thread).objects.filter(pk=chat.thread.pk).aupdate(head=head)
        view = await chat.view()
        assert (screen(view), view.notice) == (["q1 1/2", "a1"], "head-repaired")
        assert (await chat.view()).notice == ""

    async def test_a_head_that_another_has_put_right_is_left_alone(self, chat: Story) -> None:
        await chat.send("q1")
        before = await chat.view()
        assert not await on_database(transcript.repair_head)(chat.thread.pk)
        assert await chat.view() == before

    async def test_it_is_logged(self, chat: Story) -> None:
        await chat.send("q1")
        await IndexedCheckpoint.objects.filter(thread=chat.thread, next=[]).aupdate(checkpoint_id="renamed")
        await chat.view()
        assert (await HeadMove.objects.filter(thread=chat.thread).alast()).why == "repair"
        chat.is_sound = False
