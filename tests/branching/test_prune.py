"""Pruning takes what nothing leads to, and what is still offered afterwards works as before."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

from branching import prune, sizes, threads
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import Conflict, HeadMoved, NoStart, NotFinished, RunInProgress
from branching.forks import Update
from branching.models import StoredThread, Thread
from branching.prune import Loss, Rules
from chatapp.management.commands.prune import PAUSE
from tests.branching.conftest import Story, answers, expire, is_token, screen, seeds
from tests.branching.models import HANG, Scripted
from tests.branching.test_forks import fork
from tests.branching.wander import Offered, Wanderer, is_anywhere, places, said

pytestmark = pytest.mark.django_db(transaction=True)

TIPS, HEAD = Rules("tips"), Rules("head")


async def fresh(story: Story) -> Thread:
    return await Thread.objects.aget(pk=story.thread.pk)


async def pruned(story: Story, rules: Rules, *, really: bool = True) -> Loss:
    return await on_database(prune.prune)(await fresh(story), rules, really=really)


async def size(story: Story) -> sizes.Size:
    return await on_database(sizes.of)(story.thread.pk)


async def assert_whole(story: Story) -> None:
    """The index agrees with the checkpoints, and no row names one that is gone."""
    assert await story.findings() == []
    rows = story.thread.checkpoints.values_list("checkpoint_id", flat=True)
    assert await places(story.thread.pk) <= set(await on_database(list)(rows))


@pytest.mark.parametrize("seed", seeds(6))
async def test_case_66_after_any_story_everything_offered_is_offered_still(chat: Story, seed: int) -> None:
    """Case 66: every arrow, Regenerate, Edit and Undo."""
    await Wanderer(chat, seed).wander()
    before, offered, room = await fresh(chat), await Offered.on(chat.thread), await size(chat)
    foreseen = await pruned(chat, TIPS, really=False)
    assert (await fresh(chat), await size(chat), await Offered.on(chat.thread)) == (before, room, offered)
    loss = await pruned(chat, TIPS)
    assert loss == foreseen
    assert loss.versions == 0
    assert loss.checkpoints > 0
    assert loss.bytes > 0
    assert await Offered.on(chat.thread) == offered
    await assert_whole(chat)
    assert await pruned(chat, TIPS) == Loss(0, 0, 0)
    await everything_works(chat, offered)


async def test_case_66_what_was_changed_in_its_place_can_be_edited_and_regenerated_still(chat: Story) -> None:
    """
    h1 ── a1 ── h2 ── a2
    h1'── a1 ── h2 ── a2         (a fork at the end; Edit of h1' begins at the root)
    h1 ── other                  (a fork after a1; its Regenerate begins where a1 began)
    """
    answers(chat, Scripted(replies=("a1", "a2")))
    await chat.send("h1")
    end = (await chat.view()).head
    reply = (await chat.version(1)).message_id
    await chat.send("h2")
    first = (await chat.version(0)).message_id
    changed = {"type": "human", "content": "h1'", "id": first}
    await fork(chat, (await chat.view()).head, Update("model", {"messages": [changed]}))
    in_place, _, question, answer = (await chat.view()).versions
    other = {"type": "ai", "content": "other", "id": reply}
    await fork(chat, end, Update("model", {"messages": [other]}))
    replaced = await chat.version(1)
    await pruned(chat, TIPS)
    await assert_whole(chat)
    await chat.replay(replaced)
    assert [version.total for version in (await chat.view()).versions] == [2, 3]
    await chat.switch(answer)
    for command in (chat.replay(answer), chat.edit(question, "x")):
        with pytest.raises(NoStart):
            await command
    await chat.edit(in_place, "h1''")
    assert (await chat.version(0)).total == 3
    await assert_whole(chat)


async def everything_works(chat: Story, offered: Offered) -> None:
    """Undo to the beginning, then every version regenerated or edited."""
    model = answers(chat, Scripted(replies=("new.",)))
    for shown in offered.undoes:
        # What waits to be taken in aside: whether it is seen there depends on what was undone before.
        assert numbered(said(await chat.undo())) == numbered(shown)
    assert not (await chat.view()).can_undo
    for pk in offered.arrows:
        view = await chat.switch(pk)
        version = next(each for each in view.versions if each.pk == pk)
        texts = [each.text for each in view.versions[: view.versions.index(version)]]
        await (chat.replay(version) if version.kind == "ai" else chat.edit(version, f"new {pk}"))
        turn = next(at for at in range(len(texts), -1, -1) if at == 0 or texts[at - 1].startswith("q"))
        wanted = texts[:turn] if version.kind == "ai" else [*texts, f"new {pk}"]
        assert model.asked[-1] == wanted
    await assert_whole(chat)


def numbered(screen: list[str]) -> list[str]:
    """The messages that a checkpoint holds."""
    return [text for text in screen if "/" in text]


@pytest.mark.parametrize("seed", seeds(4))
async def test_after_any_story_heads_branch_is_what_it_was(chat: Story, seed: int) -> None:
    await Wanderer(chat, seed).wander()
    before, room = [text.split()[0] for text in said(await chat.view())], await size(chat)
    foreseen = await pruned(chat, HEAD, really=False)
    assert await pruned(chat, HEAD) == foreseen
    offered = await Offered.on(chat.thread)
    assert [text.split()[0] for text in offered.here] == before
    assert all(" " not in text or text.endswith(" 1/1") for text in offered.here)
    assert (await size(chat)).bytes < room.bytes
    await assert_whole(chat)
    await everything_works(chat, offered)


async def test_case_65_what_nothing_leads_to_is_a_good_part_of_it(story: Story) -> None:
    """
    Case 65. Of a turn of two messages and two steps there are four checkpoints, and two to which a button leads.

    h1 ─┬─ e1                  two fork copies and each input but the first go too
        ├─ e1' ── h2 ── e2
        └─ e1''
    """
    await story.send("h1")
    await story.replay(await story.version(1))
    await story.send("h2")
    await story.replay(await story.version(1))
    before, offered = await size(story), await Offered.on(story.thread)
    loss = await pruned(story, TIPS)
    assert (before.checkpoints, loss) == (12, Loss(0, 4, loss.bytes))
    assert loss.bytes > before.bytes / 5
    assert await Offered.on(story.thread) == offered


async def test_an_edit_and_a_regeneration_after_it_grow_from_what_is_left(chat: Story) -> None:
    model = answers(chat, Scripted(replies=tuple(f"a{n}" for n in range(1, 9))))
    await chat.send("q1")
    await chat.send("q2")
    await pruned(chat, TIPS)
    await chat.edit(await chat.version(2), "q2'")
    assert await chat.screen() == ["q1", "a1", "q2' 2/2", "a3"]
    await chat.replay(await chat.version(3))
    assert await chat.screen() == ["q1", "a1", "q2' 2/2", "a4 2/2"]
    assert model.asked[-1] == ["q1", "a1", "q2'"]
    await chat.edit(await chat.version(0), "q1'")
    assert await chat.screen() == ["q1' 2/2", "a5"]


async def test_of_whole_turns_a_reply_is_regenerated_and_a_message_edited_still(alice: User, engine: Engine) -> None:
    """Both begin at the input of the turn, since message and reply came in one step."""
    talk = Story(engine, await threads.create(alice, assistant="guide"))
    await talk.send("What is HEAD?")
    await talk.send("What is a branch?")
    await talk.replay(await talk.version(3))
    await pruned(talk, TIPS)
    await assert_whole(talk)
    await talk.replay(await talk.version(3))
    await talk.edit(await talk.version(2), "What is a checkpoint?")
    assert [(each.kind, each.total) for each in (await talk.view()).versions][2:] == [("human", 2), ("ai", 1)]
    await talk.replay(await talk.version(1))
    assert (await talk.version(1)).total == 2
    await assert_whole(talk)


async def test_only_heads_branch_is_left(chat: Story) -> None:
    """
    q1 ─┬─ a1 ── q2 ── a2
        └─ a3 ── q3 ── a4 (HEAD)
    """
    answers(chat, Scripted(replies=tuple(f"a{n}." for n in range(1, 9))))
    for text in ("q1.", "q2."):
        await chat.send(text)
    await chat.replay(await chat.version(1))
    await chat.send("q3.")
    before = await fresh(chat)
    loss = await pruned(chat, HEAD)
    assert loss.versions == 3
    assert await chat.screen() == ["q1.", "a3.", "q3.", "a4."]
    assert [await is_anywhere(text) for text in ("a1.", "q2.", "a2.", "a3.")] == [False, False, False, True]
    # Open pages are drawn anew; but nobody has written to it.
    after = await fresh(chat)
    assert after.head_version > before.head_version
    assert after.updated_at == before.updated_at
    assert screen(await chat.undo()) == ["q1.", "a3."]
    # The move to the old reply and back again is taken back as one.
    assert screen(await chat.undo()) == []
    assert not (await chat.view()).can_undo


async def test_a_message_that_no_checkpoint_holds_yet_stays(chat: Story) -> None:
    """It failed before anything was saved, and is offered for another try."""
    answers(chat, Scripted(replies=("a1", ValueError("no"), "a2")))
    await chat.send("q1")
    await chat.send("q2")
    shown = await chat.screen()
    for rules in (TIPS, HEAD):
        await pruned(chat, rules)
        assert await chat.screen() == shown
    await chat.resume()
    assert await chat.screen() == ["q1", "a1", "q2", "a2"]


class TestWhich:
    async def chosen(self, **rules: Any) -> set[Thread]:
        return set(await on_database(lambda: list(prune.candidates(Rules("tips", **rules))))())

    async def test_a_thread_written_to_lately_is_left_alone(self, chat: Story, story: Story) -> None:
        old = timezone.now() - timedelta(days=31)
        await Thread.objects.filter(pk=chat.thread.pk).aupdate(updated_at=old)
        assert await self.chosen(older_than=timedelta(days=30)) == {chat.thread}
        assert await self.chosen() == {chat.thread, story.thread}

    async def refuses(self, story: Story, error: type[Exception], rules: Rules = TIPS) -> None:
        before = await size(story)
        for really in (False, True):
            with pytest.raises(error):
                await pruned(story, rules, really=really)
        assert await size(story) == before

    async def test_one_that_moved_on_since_it_was_chosen_is_left_alone(self, chat: Story) -> None:
        await chat.send("q1")
        seen = await fresh(chat)
        await chat.send("q2")
        with pytest.raises(HeadMoved):
            await on_database(prune.prune)(seen, HEAD, really=True)

    async def test_nothing_is_taken_while_a_reply_is_written(self, chat: Story) -> None:
        answers(chat, Scripted(replies=(("One", HANG),)))
        reply = await (await chat.begin("send", text="q1")).take_until(is_token)
        await self.refuses(chat, RunInProgress)
        await reply.stop()
        await pruned(chat, TIPS)

    async def test_nor_before_what_a_dead_run_saved_is_taken_in(self, chat: Story) -> None:
        answers(chat, Scripted(replies=(("One", HANG), "a1")))
        reply = await (await chat.begin("send", text="q1")).take_until(is_token)
        await reply.crash()
        await expire(reply.run)
        await self.refuses(chat, RunInProgress)
        await chat.resume()

    @pytest.mark.parametrize("how", ["failed", "stopped", "unanswered", "elsewhere"])
    async def test_finished_means_that_nothing_waits_anywhere(self, chat: Story, how: str) -> None:
        answers(chat, Scripted(replies=("a1", ValueError("no") if how == "failed" else HANG, "a2")))
        await chat.send("q1")
        finished = Rules("tips", finished=True)
        await pruned(chat, finished)
        if how == "failed":
            await chat.send("q2")
        elif how == "stopped":
            await (await (await chat.begin("send", text="q2")).take(2)).stop()
        else:
            await chat.edit(await chat.version(0), "q1'", answer=False)
        if how == "elsewhere":
            await chat.switch((await chat.version(0)).previous)
        await self.refuses(chat, NotFinished, finished)
        await pruned(chat, TIPS)
        await self.refuses(chat, NotFinished, finished)


async def test_what_belongs_to_no_thread_goes(engine: Engine, alice: User, chat: Story) -> None:
    await chat.send("q1")
    other = await threads.create(alice, assistant="chat")
    await Story(engine, other).send("lost.")
    await StoredThread.objects.filter(thread=other).aupdate(thread=None)
    await threads.delete(other.pk)
    [stray] = await on_database(lambda: list(prune.strays()))()
    foreseen = await on_database(prune.prune_stray)(stray, really=False)
    assert await is_anywhere("lost.")
    assert await on_database(prune.prune_stray)(stray, really=True) == foreseen
    assert foreseen.checkpoints == 3
    assert not await is_anywhere("lost.")
    assert await chat.findings() == []


async def test_case_74_pruning_beside_replies_loses_no_turn(chat: Story, story: Story) -> None:
    """Case 74: another process prunes time and again, and neither of the two is told that the database is locked."""
    done, failures, rounds = threading.Event(), [], []

    def tidy() -> None:
        try:
            while not done.is_set():
                rounds.append([pruned_or_refused(thread) for thread in list(prune.candidates(TIPS))])
        except Exception as error:
            failures.append(error)
        finally:
            connections.close_all()

    def pruned_or_refused(thread: Thread) -> bool:
        time.sleep(PAUSE)
        thread.refresh_from_db()
        with suppress(Conflict):
            return bool(prune.prune(thread, TIPS, really=True))
        return False

    tidying = asyncio.create_task(asyncio.to_thread(tidy))
    for turn in range(8):
        await asyncio.gather(*(each.send(f"q{turn}") for each in (chat, story)))
        await story.replay(await story.version(-1))
        await asyncio.sleep(2 * PAUSE)
    done.set()
    await tidying
    assert not failures
    assert any(map(any, rounds))
    for each in (chat, story):
        said = [version.text for version in (await each.view()).versions if version.kind == "human"]
        assert said == [f"q{turn}" for turn in range(8)]
        await assert_whole(each)
