"""Deleting one version hides it with what follows it, leads to the nearest that is left, and can be taken back."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import timedelta

import pytest
from django.utils import timezone

from branching import carrying, chart, check, deleting, prune, search, sharing
from branching.database import on_database
from branching.exceptions import (
    BranchingError,
    GoneForGood,
    HeadMoved,
    NoSuchMessage,
    NoSuchShare,
    NothingToUndo,
    NotRecordable,
    RunInProgress,
)
from branching.limits import UNDO_FOR
from branching.models import Deletion, IndexedCheckpoint, Message, Thread
from branching.prune import Rules
from branching.scenarios import recording
from tests.branching.conftest import Story, answers, is_token, screen, seeds
from tests.branching.models import HANG, Scripted
from tests.branching.wander import Wanderer, is_anywhere

pytestmark = pytest.mark.django_db(transaction=True)

SHOWN = ["q1. 2/2", "a4.", "q2.", "a6. 2/2"]


@pytest.fixture
async def grown(chat: Story) -> Story:
    """
    q1'. ─┬─ a1. ── q3. ── a3.
          └─ a2.
    q1.  ──  a4. ── q2. ─┬─ a5.
                         └─ a6.  HEAD
    """
    answers(chat, Scripted(replies=("a1.", "a3.", "a2.", "a4.", "a5.", "a6.", "a7.", "a8.")))
    await chat.send("q1'.")
    await chat.send("q3.")
    await chat.replay(await chat.version(1))
    await chat.edit(await chat.version(0), "q1.")
    await chat.send("q2.")
    await chat.replay(await chat.version(3))
    assert await chat.screen() == SHOWN
    return chat


async def key_of(story: Story, text: str) -> int:
    return (await Message.objects.aget(thread=story.thread, text=text)).pk


async def delete(story: Story, text: str, **more: object) -> None:
    given = {**await story._page(), "message": await key_of(story, text), **more}
    await deleting.delete(story.engine, story.thread.pk, **given)
    assert await story.findings() == []


async def restore(story: Story, deletion: int, **more: object) -> None:
    await deleting.restore(story.thread.pk, deletion=deletion, **{**await story._page(), **more})
    assert await story.findings() == []


async def told(story: Story) -> list[tuple[str, int]]:
    return [(each.gist, each.later) for each in await deleting.pending(story.thread.pk)]


async def newest(story: Story) -> int:
    return (await deleting.pending(story.thread.pk))[0].pk


async def drawn(story: Story) -> list[str]:
    return sorted(spot.gist for spot in (await chart.draw(story.thread.pk)).spots)


async def age(story: Story) -> None:
    """Let the time be over in which it can be brought back."""
    past = timezone.now() - UNDO_FOR - timedelta(seconds=1)
    await Deletion.objects.filter(thread=story.thread).aupdate(created_at=past)


async def test_case_68_one_of_two_goes_and_head_is_at_the_other(grown: Story) -> None:
    await delete(grown, "a6.")
    assert await grown.screen() == ["q1. 2/2", "a4.", "q2.", "a5."]
    assert await told(grown) == [("a6.", 0)]


async def test_case_68_it_says_beforehand_how_many_later_messages_go_along(grown: Story) -> None:
    going = await deleting.preview(grown.thread.pk, message=await key_of(grown, "q1."))
    assert (going.gist, going.later) == ("q1.", 4)
    await delete(grown, "q1.")
    assert await told(grown) == [("q1.", 4)]
    assert await grown.screen() == ["q1'.", "a2. 2/2"]


async def test_undo_brings_it_back_with_head_where_it_was(grown: Story) -> None:
    await delete(grown, "q1.")
    assert screen(await grown.undo()) == SHOWN
    assert await told(grown) == []
    assert await grown.findings() == []


async def test_bringing_back_the_last_deletion_is_undo_and_gives_all_places_back(grown: Story) -> None:
    await delete(grown, "q1.")
    await restore(grown, await newest(grown))
    assert await grown.screen() == SHOWN


async def test_what_is_brought_back_later_lets_head_be_and_is_found_as_it_was_left(grown: Story) -> None:
    await delete(grown, "q1.")
    deletion = await newest(grown)
    await grown.send("q4.")
    await restore(grown, deletion)
    assert (await grown.screen())[0] == "q1'. 1/2"
    assert screen(await grown.switch((await grown.version(0)).next)) == SHOWN


async def test_a_version_that_is_not_shown_goes_and_undo_brings_it_back(grown: Story) -> None:
    """HEAD never moves; to come to q1' is to come to a2 now, and Undo is for the deletion."""
    await grown.switch((await grown.version(0)).previous)
    await grown.switch((await grown.version(1)).previous)
    await grown.switch((await grown.version(0)).next)
    await delete(grown, "a1.")
    assert await grown.screen() == SHOWN
    assert screen(await grown.switch((await grown.version(0)).previous)) == ["q1'. 1/2", "a2."]
    await grown.undo()
    assert screen(await grown.undo()) == SHOWN
    assert await told(grown) == []
    shown = await grown.switch(await key_of(grown, "a1."))
    assert screen(shown)[1:] == ["a1. 1/2", "q3.", "a3."]


async def test_the_only_reply_goes_and_can_be_written_anew(grown: Story) -> None:
    await delete(grown, "a5.")
    await delete(grown, "a6.")
    assert await grown.screen() == ["q1. 2/2", "a4.", "q2.", "[missing]"]
    await grown.resume()
    assert await grown.screen() == ["q1. 2/2", "a4.", "q2.", "a7."]
    assert await told(grown) == [("a6.", 0), ("a5.", 0)]


async def test_case_68_the_only_version_of_all_goes_and_the_conversation_begins_anew(chat: Story) -> None:
    await chat.send("q1.")
    await delete(chat, "q1.")
    view = await chat.view()
    assert (view.is_empty, view.later, view.can_undo) == (True, None, True)
    await chat.send("q2.")
    assert (await chat.screen())[0] == "q2."
    await restore(chat, await newest(chat))
    assert (await chat.screen())[0] == "q2. 2/2"


async def test_it_is_nowhere_to_be_seen_meanwhile(grown: Story) -> None:
    token = await sharing.share(grown.thread.pk, message=await key_of(grown, "a3."))
    a1 = await key_of(grown, "a1.")
    await delete(grown, "a1.")
    assert await drawn(grown) == ["a2.", "a4.", "a5.", "a6.", "q1'.", "q1.", "q2."]
    assert [hit.message for hit in (await search.find(grown.thread.owner, "a3.")).hits] == []
    assert "a3." not in carrying.write([await carrying.take(grown.thread.pk)])
    with pytest.raises(NoSuchShare):
        await sharing.read(token)
    with pytest.raises(NoSuchMessage):
        await grown.switch(a1)
    with pytest.raises(NoSuchMessage):
        await delete(grown, "a3.")
    await grown.undo()
    assert (await sharing.read(token)).versions[-1].text == "a3."


async def test_whoever_travels_to_a_deleted_step_has_it_back(grown: Story) -> None:
    await delete(grown, "a1.")
    row = await IndexedCheckpoint.objects.filter(thread=grown.thread, message__text="a3.").afirst()
    assert screen(await grown.go(row.checkpoint_id))[1:] == ["a1. 1/2", "q3.", "a3."]
    assert (await told(grown), await grown.findings()) == ([], [])


async def test_one_within_another_stays_deleted_when_the_other_comes_back(grown: Story) -> None:
    await delete(grown, "q2.")
    await delete(grown, "q1.")
    assert await told(grown) == [("q1.", 1)]
    await restore(grown, await newest(grown))
    assert await grown.screen() == ["q1. 2/2", "a4."]
    assert await told(grown) == [("q2.", 2)]
    await restore(grown, await newest(grown))
    assert await grown.screen() == SHOWN


async def test_it_stays_deleted_when_the_index_is_made_anew(grown: Story) -> None:
    await delete(grown, "q1.")
    await check.rebuild(grown.engine, grown.thread)
    assert await told(grown) == [("q1.", 4)]
    assert await grown.screen() == ["q1'.", "a2. 2/2"]
    await restore(grown, await newest(grown))
    assert len(await drawn(grown)) == 10


async def test_after_its_time_it_is_removed_for_good_and_not_before(grown: Story) -> None:
    await delete(grown, "q1.")
    assert not await deleting.clear(grown.thread.pk)
    assert await is_anywhere("q2.")
    deletion = await newest(grown)
    await age(grown)
    assert await deleting.clear(grown.thread.pk)
    assert [await is_anywhere(text) for text in ("q1.", "a4.", "q2.", "a5.", "a6.")] == [False] * 5
    assert (await grown.findings(), await told(grown)) == ([], [])
    assert await grown.screen() == ["q1'.", "a2. 2/2"]
    with pytest.raises(GoneForGood):
        await restore(grown, deletion)
    while (await grown.view()).can_undo:
        await grown.undo()
        assert await grown.findings() == []


async def test_undo_does_not_stop_at_a_deletion_that_is_over(grown: Story) -> None:
    await delete(grown, "a1.")
    await deleting.remove_now(grown.thread.pk, deletion=await newest(grown))
    assert screen(await grown.undo())[-1] == "a5. 1/2"


async def test_prune_removes_what_is_due(grown: Story) -> None:
    await delete(grown, "a1.")
    rules = Rules("tips")
    await on_database(prune.prune)(await Thread.objects.aget(pk=grown.thread.pk), rules, really=True)
    assert await is_anywhere("a3.")
    await age(grown)
    await on_database(prune.prune)(await Thread.objects.aget(pk=grown.thread.pk), rules, really=True)
    assert not await is_anywhere("a3.")
    assert await grown.findings() == []
    with pytest.raises(NothingToUndo):
        while True:
            await grown.undo()


async def test_nothing_is_deleted_or_removed_while_a_reply_is_written(grown: Story) -> None:
    await delete(grown, "a1.")
    await age(grown)
    answers(grown, Scripted(replies=(("One", HANG),)))
    reply = await (await grown.begin("send", text="q5.")).take_until(is_token)
    with pytest.raises(RunInProgress):
        await delete(grown, "q2.")
    assert not await deleting.clear(grown.thread.pk)
    await reply.stop()
    await delete(grown, "q2.")


async def test_a_stale_page_is_refused_and_a_key_counts_once(grown: Story) -> None:
    with pytest.raises(HeadMoved):
        await delete(grown, "q2.", head_version=0)
    await delete(grown, "a6.", key="k")
    await deleting.delete(
        grown.engine, grown.thread.pk, message=await key_of(grown, "a5."), key="k", **await grown._page()
    )
    assert await told(grown) == [("a6.", 0)]
    with pytest.raises(HeadMoved):
        await restore(grown, await newest(grown), head_version=0)


async def test_what_was_deleted_is_not_recorded_as_a_scenario(grown: Story) -> None:
    await delete(grown, "a6.")
    await grown.undo()
    with pytest.raises(NotRecordable, match="deleted"):
        await recording.record(await Thread.objects.aget(pk=grown.thread.pk))


class Remover(Wanderer):
    """One who deletes too, and brings back."""

    async def _send(self) -> None:
        await super()._send()
        if self.chance.random() < 0.6:
            await self._delete()

    async def _delete(self) -> None:
        pks = [pk async for pk in self.story.thread.messages.filter(deletion=None).values_list("pk", flat=True)]
        given = {**await self.story._page(), "message": self.chance.choice(pks)}
        with suppress(BranchingError):
            await deleting.delete(self.story.engine, self.story.thread.pk, **given)
        assert await self.story.findings() == []

    async def _undo(self) -> None:
        found = await deleting.pending(self.story.thread.pk)
        if found and self.chance.random() < 0.5:
            deletion = self.chance.choice(found).pk
            await deleting.restore(self.story.thread.pk, deletion=deletion, **await self.story._page())
        else:
            await super()._undo()
        assert await self.story.findings() == []


@pytest.mark.parametrize("seed", seeds(4))
async def test_after_any_story_all_can_be_brought_back_or_removed(chat: Story, seed: int) -> None:
    await Remover(chat, seed, steps=25).wander()
    assert await chat.findings() == []
    chance = random.Random(seed)
    everything = await Message.objects.filter(thread=chat.thread).acount()
    for keeps in (True, False):
        while found := await deleting.pending(chat.thread.pk):
            if keeps and chance.random() < 0.5:
                break
            if keeps:
                await restore(chat, chance.choice(found).pk)
            else:
                hidden = await Message.objects.filter(thread=chat.thread, deletion=found[0].pk).acount()
                before = await Message.objects.filter(thread=chat.thread).acount()
                await deleting.remove_now(chat.thread.pk, deletion=found[0].pk)
                assert before - await Message.objects.filter(thread=chat.thread).acount() >= hidden
                assert await chat.findings() == []
    left = await Message.objects.filter(thread=chat.thread).acount()
    assert left <= everything
    assert await Message.objects.filter(thread=chat.thread).exclude(deletion=None).acount() == 0
    while (await chat.view()).can_undo:
        await chat.undo()
    assert await chat.findings() == []
