"""Deleting a branch takes what is its own and nothing else; and the sizes say beforehand what that is."""

from __future__ import annotations

import asyncio
import random

import pytest

from branching import branches, sizes
from branching.database import on_database
from branching.exceptions import HasGoneOn, HeadMoved, NoSuchMessage, RunInProgress, ShownNow
from branching.models import Message, Run, Thread
from tests.branching.conftest import Story, answers, is_token, screen, seeds
from tests.branching.models import HANG, Scripted
from tests.branching.wander import Offered, Wanderer, is_anywhere, places

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def grown(chat: Story) -> Story:
    """
    q1. ─┬─ a1. ── q2. ─┬─ a2.
         │              └─ a3.
         └─ a4.                  HEAD is on a3
    q1'. ── a5.
    """
    answers(chat, Scripted(replies=tuple(f"a{number}." for number in range(1, 20))))
    await chat.send("q1.")
    await chat.send("q2.")
    await chat.replay(await chat.version(3))
    await chat.replay(await chat.version(1))
    await chat.edit(await chat.version(0), "q1'.")
    await chat.switch((await chat.version(0)).previous)
    await chat.switch((await chat.version(1)).previous)
    assert await chat.screen() == ["q1. 1/2", "a1. 1/2", "q2.", "a3. 2/2"]
    return chat


async def key_of(story: Story, text: str) -> int:
    return (await Message.objects.aget(thread=story.thread, text=text)).pk


async def delete(story: Story, message: int, **more: object) -> None:
    given = {**await story._page(), "message": message, **more}
    await branches.delete(story.engine, story.thread.pk, **given)


async def storage(story: Story) -> sizes.Storage:
    return await sizes.storage(await Thread.objects.aget(pk=story.thread.pk))


async def assert_whole(story: Story) -> None:
    assert await story.findings() == []
    rows = story.thread.checkpoints.values_list("checkpoint_id", flat=True)
    assert await places(story.thread.pk) <= set(await on_database(list)(rows))


async def test_case_68_one_of_three_goes_and_the_others_move_up(grown: Story) -> None:
    """Case 68: delete 2/3."""
    await grown.replay(await grown.version(3))
    await delete(grown, await key_of(grown, "a3."))
    assert await grown.screen() == ["q1. 1/2", "a1. 1/2", "q2.", "a6. 2/2"]
    assert screen(await grown.switch((await grown.version(3)).previous))[-1] == "a2. 1/2"
    await assert_whole(grown)


async def test_case_68_a_first_wording_goes_with_all_that_followed_it(grown: Story) -> None:
    """Case 68: delete a first message, with what is on it; the words are nowhere in the database then."""
    await grown.switch((await grown.version(0)).next)
    for text in ("a4.", "a2.", "a3."):
        await delete(grown, await key_of(grown, text))
        await assert_whole(grown)
    assert await grown.screen() == ["q1'.", "a5."]
    assert [await is_anywhere(text) for text in ("q1.", "a1.", "q2.", "a3.", "a4.")] == [False] * 5
    assert screen(await grown.undo()) == []
    assert not (await grown.view()).can_undo


async def test_case_68_the_version_that_is_shown_can_not_be_deleted(grown: Story) -> None:
    for text in ("a3.", "q2.", "a1.", "q1."):
        with pytest.raises(ShownNow):
            await delete(grown, await key_of(grown, text))
    assert await grown.screen() == ["q1. 1/2", "a1. 1/2", "q2.", "a3. 2/2"]


async def test_case_68_the_only_version_goes_once_nothing_is_shown(chat: Story) -> None:
    """Case 68: delete the only root. Undo has led before it."""
    await chat.send("q1.")
    await chat.undo()
    end = (await storage(chat)).branches[0].end
    await delete(chat, end)
    view = await chat.view()
    assert (view.is_empty, view.later, view.can_undo) == (True, None, False)
    assert not await is_anywhere("q1.")
    await assert_whole(chat)
    await chat.send("q2.")
    assert (await chat.screen())[0] == "q2."


async def test_one_with_others_on_it_is_kept_for_them(grown: Story) -> None:
    """a4 goes; q1, on which it stood, has a1 as well. To come back to q1 is to come to that."""
    await grown.switch((await grown.version(1)).next)
    await grown.switch((await grown.version(0)).next)
    await delete(grown, await key_of(grown, "a4."))
    assert screen(await grown.switch((await grown.version(0)).previous)) == ["q1. 1/2", "a1.", "q2.", "a3. 2/2"]
    await assert_whole(grown)


async def test_what_has_gone_on_is_not_deleted(grown: Story) -> None:
    """Its page was drawn when it ended there."""
    await grown.switch((await grown.version(1)).next)
    with pytest.raises(HasGoneOn):
        await delete(grown, await key_of(grown, "q2."))
    with pytest.raises(NoSuchMessage):
        await delete(grown, 10**9)


async def test_a_stale_page_is_refused_and_a_key_counts_once(grown: Story) -> None:
    a4 = await key_of(grown, "a4.")
    with pytest.raises(HeadMoved):
        await delete(grown, a4, head_version=0)
    await delete(grown, a4, key="k")
    await delete(grown, a4, key="k")
    assert await grown.screen() == ["q1. 1/2", "a1.", "q2.", "a3. 2/2"]


async def test_nothing_is_deleted_while_a_reply_is_written(grown: Story) -> None:
    answers(grown, Scripted(replies=(("One", HANG),)))
    reply = await (await grown.begin("send", text="q3.")).take_until(is_token)
    with pytest.raises(RunInProgress):
        await delete(grown, await key_of(grown, "a4."))
    await reply.stop()
    await delete(grown, await key_of(grown, "a4."))


async def test_a_stopped_reply_is_nowhere_once_it_is_deleted(chat: Story) -> None:
    """What was kept of it was written after the message it answers, in the name of the task that was stopped."""
    answers(chat, Scripted(replies=(("stopped.", HANG), "a2.")))
    await (await (await chat.begin("send", text="q1.")).take_until(is_token)).stop()
    await chat.replay(await chat.version(1))
    await delete(chat, await key_of(chat, "stopped."))
    assert await chat.screen() == ["q1.", "a2."]
    assert not await is_anywhere("stopped.")
    await assert_whole(chat)


async def test_undo_passes_over_what_is_gone(grown: Story) -> None:
    """One went from a3 to a4, on to a5, and back: with a4 gone, it is from a3 to a5."""
    await delete(grown, await key_of(grown, "a4."))
    seen = []
    while (await grown.view()).can_undo:
        seen.append(screen(await grown.undo())[-1:])
        await assert_whole(grown)
    assert seen[0] == ["a5."]
    assert [] in seen
    assert ["a4."] not in seen


@pytest.mark.parametrize("seed", seeds(4))
async def test_case_68_after_any_story_every_other_branch_is_as_it_was(chat: Story, seed: int) -> None:
    """Case 68: one after the other, until only what is shown is left."""
    await Wanderer(chat, seed, steps=20).wander()
    chance = random.Random(seed)
    while others := [each for each in (await storage(chat)).branches if not each.is_shown]:
        before, goes = await storage(chat), chance.choice(others)
        offered = await Offered.on(chat.thread)
        await delete(chat, goes.end)
        after, left = await storage(chat), await Offered.on(chat.thread)
        assert before.size.messages - after.size.messages == goes.own
        assert before.size.bytes - after.size.bytes >= goes.own_bytes
        assert texts(left.here) == texts(offered.here)
        for pk in left.bases:
            assert left.bases[pk] == offered.bases[pk]
        await assert_whole(chat)
        assert not await is_anywhere(goes.ends) or goes.own == 0
    while (await chat.view()).can_undo:
        await chat.undo()
    await assert_whole(chat)


def texts(shown: list[str]) -> list[str]:
    return [text.split()[0] for text in shown]


async def test_the_sizes_add_up(grown: Story) -> None:
    found = await storage(grown)
    assert found.size == await on_database(sizes.of)(grown.thread.pk)
    assert found.shared_bytes + sum(each.own_bytes for each in found.branches) == found.size.bytes
    shown = [(each.begins, each.ends, each.messages, each.own) for each in found.branches]
    assert shown[0] == ("a3.", "a3.", 4, 1)
    assert sorted(shown[1:]) == [("a2.", "a2.", 4, 1), ("a4.", "a4.", 2, 1), ("q1'.", "a5.", 2, 2)]
    assert [each.is_shown for each in found.branches] == [True, False, False, False]
    assert all(each.own_bytes > 0 and each.shared_bytes > 0 for each in found.branches)
    [row] = await on_database(lambda: list(sizes.with_sizes(Thread.objects.filter(pk=grown.thread.pk))))()
    assert (row.message_count, row.checkpoint_count, row.bytes) == tuple(vars(found.size).values())


async def test_head_in_the_middle_is_a_branch_without_anything_of_its_own(grown: Story) -> None:
    await grown.undo()
    await grown.switch(await key_of(grown, "q1'."))
    q1 = await grown.version(0)
    row = await on_database(lambda: Message.objects.get(pk=q1.pk).checkpoints.order_by("-pk").first())()
    await grown.go(row.checkpoint_id)
    shown = (await storage(grown)).branches[0]
    assert (shown.is_shown, shown.begins, shown.ends, shown.own, shown.own_bytes) == (True, "", "q1'.", 0, 0)
    await delete(grown, await key_of(grown, "a5."))
    assert await grown.screen() == ["q1'. 2/2", "[missing]"]
    await grown.resume()
    assert await grown.screen() == ["q1'. 2/2", "a6."]


async def test_a_long_chain_is_deleted_at_once(chat: Story) -> None:
    """Longer than Python may call itself."""
    await chat.send("q1.")
    await chat.edit(await chat.version(0), "q1'.")
    old = await Message.objects.aget(thread=chat.thread, text="q1.")
    last = await Message.objects.aget(thread=chat.thread, parent=old)

    def lengthen() -> int:
        parent = last
        for number in range(1500):
            content = {"message_id": f"m{number}", "path": f"m{number}", "depth": number + 3, "kind": "ai"}
            parent = Message.objects.create(thread=chat.thread, parent=parent, **content)
        return parent.pk

    await delete(chat, await on_database(lengthen)())
    assert await chat.screen() == ["q1'.", (await chat.version(1)).text]
    await assert_whole(chat)


async def test_two_deletions_at_once_are_one(grown: Story) -> None:
    ends = [await key_of(grown, text) for text in ("a4.", "a5.")]
    page = await grown._page()
    done = await asyncio.gather(*(delete(grown, end, **page) for end in ends), return_exceptions=True)
    assert sorted(type(each) for each in done if each) == [HeadMoved]
    assert await Run.objects.filter(thread=grown.thread, status__in=Run.ACTIVE).acount() == 0
    await assert_whole(grown)
