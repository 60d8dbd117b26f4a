"""The check finds what is broken on purpose, and the rebuild mends it without losing HEAD or a choice."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from branching import check
from branching.database import on_database
from branching.models import IndexedCheckpoint, Message, Thread
from tests.branching.conftest import Story, answers, screen
from tests.branching.models import Scripted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def grown(chat: Story) -> Story:
    """
    q1 ── a1 ── q2 ── a2      HEAD is on a3
       |           └─ a3
       └─ a4
    q1'── a5
    """
    answers(chat, Scripted(replies=tuple(f"a{number}" for number in range(1, 9))))
    await chat.send("q1")
    await chat.send("q2")
    await chat.replay(await chat.version(3))
    await chat.replay(await chat.version(1))
    await chat.edit(await chat.version(0), "q1'")
    await chat.switch((await chat.version(0)).previous)
    await chat.switch((await chat.version(1)).previous)
    assert await chat.screen() == ["q1 1/2", "a1 1/2", "q2", "a3 2/2"]
    return chat


async def test_a_sound_thread_has_no_findings(grown: Story) -> None:
    assert await grown.findings() == []


async def test_an_empty_thread_has_no_findings(chat: Story) -> None:
    assert await chat.findings() == []


def rows(story: Story, text: str) -> object:
    return Message.objects.filter(thread=story.thread, text=text)


async def forget_a_checkpoint(story: Story) -> None:
    await (await IndexedCheckpoint.objects.filter(thread=story.thread, message__text="a2").afirst()).adelete()


async def invent_a_checkpoint(story: Story) -> None:
    row = await IndexedCheckpoint.objects.filter(thread=story.thread).afirst()
    row.pk, row.checkpoint_id = None, "invented"
    await row.asave()


async def forget_a_message(story: Story) -> None:
    await rows(story, "a4").adelete()


async def invent_a_message(story: Story) -> None:
    q2 = await rows(story, "q2").aget()
    await story.thread.messages.acreate(parent=q2, message_id="invented", path="invented", depth=4, kind="ai")


async def change_a_text(story: Story) -> None:
    await rows(story, "a2").aupdate(text="other")


async def put_a_message_elsewhere(story: Story) -> None:
    await rows(story, "a3").aupdate(parent=await rows(story, "q1'").aget())


async def nest_a_version(story: Story) -> None:
    copies = IndexedCheckpoint.objects.filter(thread=story.thread, source="fork")
    async for copy in copies:
        copy.origin_id = copy.checkpoint_id
        await copy.asave()


async def remember_a_place_on_the_way_to_head(story: Story) -> None:
    await rows(story, "q2").aupdate(end=await rows(story, "a2").aget())


async def remember_a_place_on_another_branch(story: Story) -> None:
    await rows(story, "a4").aupdate(end=await rows(story, "a2").aget())


async def remember_two_places_at_once(story: Story) -> None:
    await rows(story, "a5").aupdate(end=await rows(story, "a5").aget())


async def jump_elsewhere(story: Story) -> None:
    await rows(story, "a3").aupdate(jump=await rows(story, "q1").aget())


async def pass_by_a_checkpoint(story: Story) -> None:
    await IndexedCheckpoint.objects.filter(thread=story.thread, message__text="a4").aupdate(passed=True)


async def lose_head(story: Story) -> None:
    await Thread.objects.filter(pk=story.thread.pk).aupdate(head="gone")


async def empty_head(story: Story) -> None:
    await Thread.objects.filter(pk=story.thread.pk).aupdate(head=None)


FAULTS = [
    forget_a_checkpoint, invent_a_checkpoint, forget_a_message, invent_a_message, change_a_text,
    put_a_message_elsewhere, nest_a_version, remember_a_place_on_the_way_to_head, remember_a_place_on_another_branch,
    remember_two_places_at_once, jump_elsewhere, pass_by_a_checkpoint, lose_head, empty_head,
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
async def test_each_fault_is_found_and_mended(grown: Story, fault: Callable[[Story], Awaitable[None]]) -> None:
    before = await grown.screen()
    await fault(grown)
    assert await grown.findings()
    await check.rebuild(grown.engine, grown.thread)
    assert await grown.findings() == []
    if fault not in (lose_head, empty_head):
        assert await grown.screen() == before


async def test_a_rebuild_keeps_head_and_every_choice(grown: Story) -> None:
    await check.rebuild(grown.engine, grown.thread)
    assert await grown.screen() == ["q1 1/2", "a1 1/2", "q2", "a3 2/2"]
    await grown.switch((await grown.version(0)).next)
    assert screen(await grown.switch((await grown.version(0)).previous)) == ["q1 1/2", "a1 1/2", "q2", "a3 2/2"]


async def test_after_a_rebuild_everything_goes_on(grown: Story) -> None:
    await Message.objects.filter(thread=grown.thread).adelete()
    await IndexedCheckpoint.objects.filter(thread=grown.thread).adelete()
    await check.rebuild(grown.engine, grown.thread)
    await grown.replay(await grown.version(3))
    await grown.edit(await grown.version(0), "q1''")
    assert await grown.screen() == ["q1'' 3/3", "a7"]
    assert screen(await grown.undo()) == ["q1 1/3", "a1 1/2", "q2", "a6 3/3"]


async def test_a_rebuild_from_nothing_leaves_an_empty_thread(grown: Story) -> None:
    await grown.engine.saver.adelete_thread(str(grown.thread.pk))
    await check.rebuild(grown.engine, grown.thread)
    assert (await grown.view()).is_empty
    assert await grown.findings() == []
    await grown.send("q1")
    assert (await grown.screen())[0] == "q1"


async def test_a_checkpoint_that_grew_from_nothing_is_found(grown: Story) -> None:
    """As LangGraph leaves one when it is given an id that it does not know."""
    graph = grown.engine.graph("chat")
    config = {"configurable": {"thread_id": str(grown.thread.pk), "checkpoint_ns": "", "checkpoint_id": "0" * 36}}
    await graph.aupdate_state(config, {"messages": []}, as_node="model")
    assert any("grew from a checkpoint that does not exist" in finding for finding in await grown.findings())
    grown.is_sound = False


async def test_a_head_that_was_lost_is_put_right_by_a_look_or_a_rebuild(grown: Story) -> None:
    await lose_head(grown)
    assert (await grown.view()).notice == "head-repaired"
    assert await on_database(lambda: Thread.objects.get(pk=grown.thread.pk).head)() is not None
