"""Copy first and then write: a checkpoint beside another, by LangGraph's undocumented `__copy__`.

update_state(2, ...)                     update_state(2, None, as_node="__copy__")

0 ── 1 ── 2 ── 3                         0 ── 1 ── 2 ── 3
          └─ 4  the new one, under 2          └─ 4  the copy, beside 2
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from langgraph.graph import END, MessagesState, StateGraph

from branching import assistants, branches, check, explain, forks, history, index, inspection, prune, threads
from branching.assistants import echo
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import BadFork, HistoryLost, NoSuchCheckpoint
from branching.explain import outcome
from branching.forks import Update
from branching.models import IndexedCheckpoint, Run, StoredCheckpoint, Thread
from branching.types import Checkpoint
from tests.branching.conftest import Story, answers
from tests.branching.desk import SUITE, YES, Guest, guest
from tests.branching.models import Scripted
from tests.branching.test_chains import TWO_TURNS, chain, drawn
from tests.branching.test_explain import presses
from tests.branching.test_forks import checkpoints, fork, rows, says, two_turns
from tests.branching.test_inspection import again
from tests.branching.wander import is_anywhere

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]


async def copy(story: Story, checkpoint_id: str, *updates: Update) -> str:
    """The copy beside this checkpoint. HEAD is there, or at the update under it."""
    known = set(await checkpoints(story))
    assert await fork(story, checkpoint_id, *updates, beside=True)
    return next(each for each in await checkpoints(story) if each not in known)


async def same(story: Story, *ids: str) -> bool:
    """Whether two checkpoints hold the same, and the same comes next."""
    both = [await inspection.read(story.engine, story.thread, each) for each in ids]
    return all(each.is_same for each in inspection.differences(*both))


async def saved(story: Story) -> list[Checkpoint]:
    """The checkpoints, oldest first."""
    return (await history.read_all(story.engine.graph(story.thread.assistant), story.thread.pk))[::-1]


async def origin(story: Story, checkpoint_id: str) -> str:
    return (await story.thread.checkpoints.aget(checkpoint_id=checkpoint_id)).origin_id


async def test_an_update_goes_under_the_selected_one_and_a_copy_beside_it(story: Story) -> None:
    """The copy experiment: the same checkpoint chosen, another parent."""
    ids = await two_turns(story)
    await fork(story, ids[2], Update("booking", says("under")))
    made = await copy(story, ids[2])
    assert await chain(story) == drawn(TWO_TURNS + "8 update 2 reply 2\n 9 fork 2 reply 1")
    assert await same(story, ids[2], made)
    assert await origin(story, made) == made, "it stands for itself"


async def test_every_checkpoint_can_be_copied_and_the_copy_runs(story: Story) -> None:
    """Its parent is that of the copied one, its step is one more, and what comes next is the same."""
    ids = await two_turns(story)
    saved = (await chain(story))[:8]
    for number, id in enumerate(ids):
        await copy(story, id)
        _, _, step, next, parent = saved[number].split()
        assert (await chain(story))[-1].split()[1:] == ["fork", str(int(step) + 1), next, parent]
        assert not await story.findings()
        view = await story.view()
        assert (view.open_reply is None) == (next == "-")
        if view.open_reply:
            await story.resume()
            assert (await story.view()).open_reply is None
    # Nothing was said that was not there before; each reply was written by three copies more.
    assert await story.screen() == ["h1", "回复：h1 1/4", "h2", "回复：h2 1/4"]


async def test_what_waits_in_an_input_waits_in_its_copy(story: Story) -> None:
    """0 ── 1 ── ...        8 is another beginning, where h1 waits to be taken in.
    8"""
    ids = await two_turns(story)
    first = (await story.version(0)).message_id
    await copy(story, ids[0])
    view = await story.view()
    assert (await chain(story))[-1] == "8 fork 0 __start__ -"
    assert (view.pending.text, view.pending.message_id, view.versions) == ("h1", first, ())
    await story.resume()
    assert (await chain(story))[9:] == ["9 loop 1 booking 8", "10 loop 2 reply 9", "11 loop 3 - 10"]
    assert await story.screen() == ["h1", "回复：h1 2/2"]
    await copy(story, ids[4])
    assert await story.screen() == ["h1", "回复：h1 1/2", "(h2)", "[missing]"]
    await again(story, (await story.view()).head)
    assert await story.screen() == ["h1", "回复：h1 1/2", "h2", "回复：h2 2/2"]


async def test_copied_first_and_written_then_both_are_there_and_undone_at_once(story: Story) -> None:
    ids = await two_turns(story)
    made = await copy(story, ids[2], Update("__start__", says("h2'")))
    assert (await chain(story))[8:] == ["8 fork 2 reply 1", "9 update 3 booking 8"]
    assert await story.screen() == ["h1", "h2' 2/2", "[missing]"]
    assert await same(story, ids[2], made)
    await story.resume()
    assert await story.screen() == ["h1", "h2' 2/2", "回复：h2'"]
    await story.undo()
    assert (await story.view()).head == ids[7]


async def test_the_outlook_says_where_a_copy_leads_and_stores_nothing(story: Story) -> None:
    ids = await two_turns(story)
    before = await rows(story)
    for id, updates, next in (
        (ids[2], [], ("reply",)),
        (ids[3], [], ()),
        (ids[0], [], ("__start__",)),
        (ids[3], [Update("__start__", says("x"))], ("booking",)),
    ):
        found = await forks.outlook(story.engine, story.thread, id, updates, beside=True)
        assert (found.next, dict(found.problems)) == (next, {})
    assert (await forks.outlook(story.engine, story.thread, ids[3], [], beside=True)).is_dead_end
    assert await rows(story) == before


async def test_what_is_wrong_with_the_update_leaves_no_copy_either(story: Story) -> None:
    ids = await two_turns(story)
    before = await rows(story)
    with pytest.raises(BadFork) as refused:
        await fork(story, ids[2], Update("booking", {"next": ["reply"], "mood": "good"}), beside=True)
    assert refused.value.problems.keys() == {"next", "mood"}
    with pytest.raises(NoSuchCheckpoint):
        await fork(story, "nowhere", beside=True)
    assert await rows(story) == before
    await StoredCheckpoint.objects.filter(checkpoint_id=ids[2]).adelete()
    with pytest.raises(HistoryLost):
        await fork(story, ids[2], beside=True)
    story.is_sound = False


async def test_a_copy_of_what_changed_other_fields_alone_keeps_them(guest: Guest) -> None:
    """It has the messages and the next node of its parent, which is not what it is a copy of."""
    await guest.send("Hotels from 2026-12-05 for 2 nights")
    asking = next(each for each in await saved(guest) if each.next == ("agent",))
    await fork(guest, asking.id, Update("__start__", {"budget": 500}))
    update = (await guest.view()).head
    made = await copy(guest, update)
    before = {each.id: each for each in await saved(guest)}
    assert before[made].parent_id == asking.id
    assert (before[made].next, before[made].messages) == (asking.next, asking.messages)
    assert await origin(guest, made) == made
    await again(guest, made)
    graph = guest.engine.graph("concierge")
    here = history.config_for(guest.thread.pk, (await guest.view()).head)
    assert (await graph.aget_state(here)).values["budget"] == 500
    assert not await guest.findings()


async def test_a_copy_of_a_question_asks_anew_and_the_old_one_goes_on_waiting(guest: Guest) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    made = await copy(guest, asked.checkpoint_id)
    assert not await guest.waiting() and (await guest.view()).open_reply
    await guest.resume()
    [anew] = await guest.waiting()
    assert anew.checkpoint_id == made and anew.interrupt_id != asked.interrupt_id
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2"]
    await guest.go(asked.checkpoint_id)
    assert await guest.waiting() == (asked,)
    assert not await guest.findings()


async def test_a_copy_of_a_copy_and_a_run_from_it(story: Story) -> None:
    """And the fork copy that a replay makes under it counts as it."""
    ids = await two_turns(story)
    first = await copy(story, ids[2])
    second = await copy(story, first)
    await again(story, first)
    assert (await chain(story))[8:] == ["8 fork 2 reply 1", "9 fork 3 reply 1", "10 fork 3 reply 8", "11 loop 4 - 10"]
    assert [await origin(story, each) for each in (first, second, (await checkpoints(story))[10])] == [
        first, second, first,
    ]  # fmt: skip
    reply = (await story.version(1)).pk
    base = await on_database(index.base_of)(await story.thread.messages.aget(pk=reply))
    assert base.checkpoint_id == first


async def test_the_index_can_be_made_again_from_copies_too(story: Story) -> None:
    ids = await two_turns(story)
    for id in (ids[0], ids[2], ids[3]):
        await copy(story, id)
        await story.resume() if (await story.view()).open_reply else None
    columns = ("checkpoint_id", "parent_id", "origin_id", "passed", "run_id")
    before = [row async for row in IndexedCheckpoint.objects.order_by("id").values_list(*columns)]
    await check.rebuild(story.engine, story.thread)
    assert [row async for row in IndexedCheckpoint.objects.order_by("id").values_list(*columns)] == before
    assert await Run.objects.filter(kind="fork").acount() == 3


async def test_by_the_form_and_by_the_text_of_the_explanation_the_same_is_added(story: Story) -> None:
    ids = await two_turns(story)
    both = [Update("__start__", says("one")), Update("booking", says("two"))]
    for updates, requests in (([], 2), ([Update("booking", says("by hand"))], 3), (both, 0)):
        given = {"checkpoint_id": ids[2], "updates": updates, "beside": True}
        told = await explain.fork(story.engine, story.thread.pk, **given)
        assert len(told.requests) == requests

        async def by_form(updates: list[Update] = updates) -> None:
            await fork(story, ids[2], *updates, beside=True)
            await story.resume()

        added = await presses(story, told, by_form)
        assert added[0][0] == "fork" and told.parts[0].expected.base == ids[1]
        run = await Run.objects.filter(kind="fork").order_by("created_at").alast()
        assert (await outcome.compared(story.engine, story.thread, run.pk)).agrees


async def test_a_fork_copy_of_a_fork_copy_is_told_as_one_after_pruning_too(chat: Story) -> None:
    """
    h1 ── 1 ── a1
          ├─ copy ── a2           a replay; one went back to its copy and tried again, which failed
          │    └─ copy (HEAD)
    """
    answers(chat, Scripted(replies=("a1.", "a2.", ValueError("as planned"))))
    await chat.send("h1.")
    await chat.replay(await chat.version(1))
    first = next(each for each in await saved(chat) if each.source == "fork")
    await chat.go(first.id)
    await chat.resume()
    copy = (await saved(chat))[-1]
    assert (copy.source, copy.parent_id, (await chat.view()).head) == ("fork", first.id, copy.id)
    await on_database(prune.prune)(await Thread.objects.aget(pk=chat.thread.pk), prune.Rules("tips"), really=True)
    assert await origin(chat, copy.id) == first.parent_id
    assert await chat.findings() == []


async def test_what_waited_in_a_copy_is_forgotten_with_the_message(chat: Story) -> None:
    """The copy stays for the other wording; what was said there is nowhere once its version is deleted."""
    answers(chat, Scripted(replies=("a1.", "a2.", "a3.", "a4.")))
    await chat.send("secret.")
    root = (await saved(chat))[0].id
    made = await copy(chat, root)
    await chat.resume()
    await fork(chat, made, Update("__start__", says("other.")))
    await chat.resume()
    for reply in [each.pk async for each in chat.thread.messages.filter(parent__text="secret.")]:
        page = {"head_version": (await chat.view()).head_version}
        await branches.delete(chat.engine, chat.thread.pk, message=reply, **page)
    assert made in [each.id for each in await saved(chat)]
    assert not await is_anywhere("secret.")
    assert await chat.findings() == []


async def test_edges_that_are_coroutines_are_asked_as_well(
    alice: User, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what they lead to is looked at without being stored, in the same transaction as everything else."""

    async def onwards(state: MessagesState) -> str:
        await asyncio.sleep(0)
        return "reply" if len(state["messages"]) < 3 else END

    def build(models: Any) -> StateGraph:
        graph = echo.build(models)
        graph.edges -= {("booking", "reply"), ("__start__", "booking")}
        graph.add_conditional_edges("booking", onwards, ["reply", END])
        graph.add_conditional_edges("__start__", onwards, {"reply": "booking", END: END})
        return graph

    monkeypatch.setitem(assistants.ASSISTANTS, "echo", replace(assistants.get("echo"), build=build))
    story = Story(engine, await threads.create(alice, assistant="echo"))
    await story.send("h1")
    ids = await checkpoints(story)
    before = await rows(story)
    nexts = {each.node: each.next for each in await forks.choices(engine, story.thread, ids[1], says("x"))}
    assert nexts == {"__start__": ("booking",), "booking": ("reply",), "reply": ()}
    found = await forks.outlook(engine, story.thread, ids[3], [Update("booking", says("x"))])
    assert found.is_dead_end and await rows(story) == before
    await fork(story, ids[1], Update("booking", says("by hand")))
    await story.resume()
    assert await story.screen() == ["h1", "by hand 2/2", "回复：by hand"]
    await story.edit(await story.version(0), "h1'")
    assert await story.screen() == ["h1' 2/2", "回复：h1'"]
    assert await story.findings() == []
