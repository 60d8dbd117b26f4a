"""What was done in a thread is recorded as a scenario that, played on an empty thread, leads to the same tree."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import given, settings
from hypothesis import strategies as st

from branching import importing, several, threads, transcript, travel
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import BranchingError, NotRecordable
from branching.forks import Update
from branching.models import Booking, Thread
from branching.scenarios import plays, reading, recording, screens, writing
from branching.scenarios.form import Expect, Reply, Scenario, Script, Step, ToolCall
from branching.scenarios.playing import Player
from branching.scenarios.stage import BareStage
from tests.branching.conftest import Story, answers, is_token
from tests.branching.desk import BOTH, NO, STANDARD, SUITE, YES, Guest
from tests.branching.desk import guest as guest
from tests.branching.models import Scripted
from tests.branching.wander import Wanderer, said

pytestmark = pytest.mark.django_db(transaction=True)


@on_database
def shape(thread: Thread) -> list[tuple[Any, ...]]:
    """The tree: each message with the place of the one before it."""
    rows = list(thread.messages.order_by("pk"))
    place = {row.pk: at for at, row in enumerate(rows)}
    return [(row.kind, row.text, place.get(row.parent_id)) for row in rows]


async def again(story: Story, owner: User) -> tuple[Thread, list[str]]:
    """The thread on which a recording of this story was played, and what did not hold."""
    source = writing.write(await recording.record(await Thread.objects.aget(pk=story.thread.pk)))
    story.engine.plays = True
    thread = await plays.begin(owner, source)
    outcomes = await Player(BareStage(story.engine), thread, reading.read(source), by=owner).play()
    wrong = [f"{each.at + 1}: {each.stuck or [str(v) for v in each.failed]}" for each in outcomes if not each.holds]
    return await Thread.objects.aget(pk=thread.pk), [*wrong, source] if wrong else []


class Talker(Wanderer):
    """One who does nothing that no scenario tells: no state is changed by hand, nor are several written at once."""

    async def _copy(self) -> None:
        await self._go()

    async def _several(self) -> None:
        await self._replay()


@pytest.mark.parametrize("seed", range(5))
async def test_any_story_is_told_again(chat: Story, alice: User, seed: int) -> None:
    """Stops, failures, crashes, and looks at other versions in mid-stream among them."""
    await Talker(chat, seed, steps=15).wander()
    thread, wrong = await again(chat, alice)
    assert not wrong, "\n".join(wrong)
    assert await shape(thread) == await shape(chat.thread)
    assert said(await transcript.read(thread.pk)) == said(await chat.view())


@pytest.mark.parametrize("seed", [2, 5])
async def test_any_story_in_the_functional_api_is_told_again(engine: Engine, alice: User, seed: int) -> None:
    """Of which a turn is one step, and an edit is in no checkpoint before it is answered."""
    story = Story(engine, await threads.create(alice, assistant="guide"))
    await Talker(story, seed, steps=15).wander()
    thread, wrong = await again(story, alice)
    assert not wrong, "\n".join(wrong)
    assert await shape(thread) == await shape(story.thread)
    assert said(await transcript.read(thread.pk)) == said(await story.view())


async def steps_of(story: Story) -> list[tuple[str, dict[str, Any]]]:
    recorded = await recording.record(await Thread.objects.aget(pk=story.thread.pk))
    return [(step.do, step.told()) for step in recorded.steps]


async def test_what_is_recorded_reads_as_what_was_done(story: Story) -> None:
    """With Echo: send, edit with its reply, regenerate, arrows by their message, and Undo."""
    await story.send("a")
    await story.edit(await story.version(0), "b")
    await story.replay(await story.version(1))
    await story.switch((await story.version(1)).previous)
    await story.switch((await story.version(0)).previous)
    await story.undo()
    assert await steps_of(story) == [
        ("send", {"text": "a"}),
        ("edit", {"text": "b", "message": 1}),
        ("regenerate", {"message": 2}),
        ("previous", {"message": 2}),
        ("previous", {"message": 1}),
        ("undo", {}),
    ]


async def test_a_reply_during_which_one_did_something_else_is_held(chat: Story, alice: User) -> None:
    answers(chat, Scripted(replies=("one two three", "four five six")))
    await chat.send("q")
    reply = await (await chat.begin("replay", message=await pk_of(chat, 1))).take_until(is_token)
    await chat.switch(await pk_of(chat, 1, of_thread=True))
    await reply.finish()
    assert [do for do, _told in await steps_of(chat)] == ["send", "regenerate", "previous", "release"]
    thread, wrong = await again(chat, alice)
    assert not wrong, "\n".join(wrong)
    assert said(await transcript.read(thread.pk)) == said(await chat.view())


async def pk_of(story: Story, at: int, *, of_thread: bool = False) -> int:
    """The message in this place: on screen, or of all."""
    if not of_thread:
        return (await story.version(at)).pk
    return [row.pk async for row in story.thread.messages.order_by("pk")][at]


async def test_answers_to_questions_are_recorded_one_by_one_and_together(guest: Guest, alice: User) -> None:
    """And the concierge's tool calls are in the script, so that no model is needed to do it again."""
    await guest.send("Which hotels are there from 2026-12-05 for 2 nights?")
    await guest.send(BOTH)
    await guest.answer(NO)
    await guest.answer({"type": "edit", "arguments": {"nights": "3"}})
    await guest.send(SUITE)
    await guest.answer(YES)
    await guest.replay(await guest.version(-1))
    await guest.send("never mind")
    steps = await steps_of(guest)
    assert steps[1:5] == [
        ("send", {"text": BOTH}),
        ("reject", {"reason": "not today"}),
        ("approve", {"changes": {"nights": "3"}}),
        ("send", {"text": SUITE}),
    ]
    assert [do for do, _told in steps[5:]] == ["approve", "regenerate", "send"]
    thread, wrong = await again(guest, alice)
    assert not wrong, "\n".join(wrong)
    assert [row[0] for row in await shape(thread)] == [row[0] for row in await shape(guest.thread)]
    assert len(await guest.bookings()) == await Booking.objects.filter(thread=thread).acount() == 2


async def test_what_can_not_be_told_is_refused_with_the_reason(story: Story, alice: User) -> None:
    with pytest.raises(NotRecordable):
        await recording.record(story.thread)
    await story.send("a")
    copy = await importing.branch_off(story.engine, story.thread, (await story.view()).head)
    with pytest.raises(NotRecordable, match="another one"):
        await recording.record(copy)
    planner = await threads.create(alice, assistant="planner")
    with pytest.raises(NotRecordable, match="within a step"):
        await recording.record(planner)
    await fork_by_hand(story)
    with pytest.raises(NotRecordable, match="by hand"):
        await recording.record(story.thread)


async def fork_by_hand(story: Story) -> None:
    view = await story.view()
    added = {"messages": [{"type": "human", "content": "by hand"}]}
    given = {"checkpoint_id": view.head, "updates": [Update("__start__", added)], "head_version": view.head_version}
    await travel.fork(story.engine, story.thread.pk, **given)


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40))
@settings(max_examples=60, deadline=None)
def test_any_text_is_written_so_that_it_is_read_as_it_was(text: str) -> None:
    expect = Expect(shown=(text, "b" * 99))
    steps = Step("reject", reason=text, question=2, expect=expect), Step("approve", changes={text: text}, note=text)
    reply = Reply(text, to=text, calls=(ToolCall(text, {text: [1, True, 2.5, {"x": text}]}),))
    scenario = Scenario("A title", text, script=Script((reply,), 0.5), cases=(1, 2), steps=steps)
    assert reading.read(writing.write(scenario)) == scenario


async def test_of_a_long_thread_the_page_shows_the_end_so_nothing_is_said_of_it(
    story: Story, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screens, "CHUNK", 6)
    for turn in range(5):
        await story.send(f"{turn} " + "long " * 30)
    recorded = await recording.record(await Thread.objects.aget(pk=story.thread.pk))
    assert recorded.steps[0].expect.shown[0] == "0 " + ("long " * 30)[:78].rstrip() + "…"
    assert [bool(step.expect.shown) for step in recorded.steps] == [True] * 3 + [False] * 2
    thread, wrong = await again(story, alice)
    assert not wrong, "\n".join(wrong)
    assert await shape(thread) == await shape(story.thread)


async def test_more_than_a_scenario_can_hold_is_refused(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    await story.send("a")
    await story.send("b")
    monkeypatch.setattr(recording, "SIZE_MAX", 250)
    thread = await Thread.objects.aget(pk=story.thread.pk)
    assert not any(step.expect.said() for step in (await recording.record(thread)).steps)
    monkeypatch.setattr(recording, "SIZE_MAX", 20)
    with pytest.raises(NotRecordable, match="More was done"):
        await recording.record(thread)
    monkeypatch.setattr(recording, "STEPS_MAX", 3)
    with pytest.raises(NotRecordable, match="More was done"):
        await recording.record(thread)


@dataclass
class DeskWanderer:
    """A guest at the desk who does this and that, as the page offers it."""

    guest: Guest
    chance: random.Random

    async def wander(self, steps: int) -> None:
        await self.guest.send(SUITE)
        for _ in range(steps):
            with suppress(BranchingError):  # what can't be done here is not done
                await getattr(self, f"_{self.chance.choice(DOINGS_AT_THE_DESK)}")()

    async def _send(self) -> None:
        await self.guest.send(self.chance.choice((SUITE, STANDARD, BOTH, "never mind")))

    async def _answer(self) -> None:
        waiting = await self.guest.waiting()
        answer = self.chance.choice([YES, YES, NO, {"type": "edit", "arguments": {"nights": "1"}}])
        count = len(waiting) if answer in (YES, NO) and self.chance.random() < 0.3 else 1
        if waiting:
            await self.guest.answer(*[answer] * count)

    async def _decide(self) -> None:
        if actions := [each for each in await self.guest.actions() if each.payload]:
            place = self.chance.choice(actions).checkpoint_id
            await self.guest.go(place)
            await self.guest.decide_again(place)

    async def _replay(self, *kinds: str, **more: Any) -> None:
        replies = [each for each in (await self.guest.view()).versions if each.kind in (kinds or ("ai",))]
        if replies:
            await self.guest.replay(self.chance.choice(replies), **more)

    async def _again(self) -> None:
        await self._replay("ai", "tool", whole=False)

    async def _edit(self) -> None:
        mine = [each for each in (await self.guest.view()).versions if each.kind == "human"]
        if mine:
            await self.guest.edit(self.chance.choice(mine), self.chance.choice((SUITE, STANDARD, BOTH)))

    async def _switch(self) -> None:
        beside = [pk for each in (await self.guest.view()).versions for pk in (each.previous, each.next) if pk]
        if beside:
            await self.guest.switch(self.chance.choice(beside))

    async def _undo(self) -> None:
        await self.guest.undo()

    async def _resume(self) -> None:
        await self.guest.resume()


DOINGS_AT_THE_DESK = ["send", "send", "decide", "replay", "again", "edit", "switch", "switch", "undo", "resume"]
DOINGS_AT_THE_DESK += ["answer"] * 6


@pytest.mark.parametrize("seed", range(3))
async def test_any_story_at_the_desk_is_told_again(guest: Guest, alice: User, seed: int) -> None:
    """Questions answered one by one and together, with changes, and decided again; what is booked is as much."""
    await DeskWanderer(guest, random.Random(seed)).wander(12)
    thread, wrong = await again(guest, alice)
    assert not wrong, "\n".join(wrong)
    assert [row[0::2] for row in await shape(thread)] == [row[0::2] for row in await shape(guest.thread)]
    assert len(await guest.bookings()) == await Booking.objects.filter(thread=thread).acount()
    assert (await transcript.read(thread.pk)).run_state == (await guest.view()).run_state


async def test_several_versions_at_once_are_no_scenario(story: Story) -> None:
    await story.send("a")
    view = await story.view()
    given = {"message": view.versions[1].pk, "count": 2, "head_version": view.head_version}
    for run in await several.begin(story.engine, story.thread.pk, **given):
        await story.play(run)
    with pytest.raises(NotRecordable, match="at once"):
        await recording.record(story.thread)
