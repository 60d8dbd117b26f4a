"""What breaks in other products that branch chats: each test restates one case by its number, and holds it here.

Numbers that are missing need a page or a browser to tell: their tests are in `tests/chatapp` and `tests/e2e`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from django.contrib.auth.models import User

from branching import commands, threads, transcript, window
from branching.engine import Engine
from branching.exceptions import Conflict, EmptyMessage, HeadMoved, RunInProgress
from branching.models import IndexedCheckpoint, Run, Thread
from tests.branching.conftest import Story, answers, ending, is_token, saving_only, screen, spoken
from tests.branching.models import HANG, Scripted

pytestmark = pytest.mark.django_db(transaction=True)

NO = ValueError("The model broke.")


@pytest.fixture
def model(chat: Story) -> Scripted:
    """Answers a1, a2, ... in the order in which it is asked."""
    return answers(chat, Scripted(replies=tuple(f"a{number}" for number in range(1, 200))))


async def texts_by_arrow(story: Story, at: int) -> list[str]:
    """Every version of the message in this place, from the first to the last, by pressing the arrows."""
    while previous := (await story.version(at)).previous:
        await story.switch(previous)
    version = await story.version(at)
    found = [version.text]
    while version.next:
        version = (await story.switch(version.next)).versions[at]
        found.append(version.text)
        assert (version.position, version.total) == (len(found), version.total)
    assert len(found) == version.total
    return found


async def go_to(story: Story, at: int, position: int) -> None:
    """Press the arrows until that version is on screen."""
    while (version := await story.version(at)).position != position:
        await story.switch(version.next if version.position < position else version.previous)


async def counts(story: Story) -> list[int]:
    return [version.total for version in (await story.view()).versions]


async def test_case_01_five_edits_are_one_flat_row(chat: Story, model: Scripted) -> None:
    """The counter did not get beyond 2/2. Each edit is made on the version that is shown."""
    await chat.send("v1")
    for number in range(2, 6):
        await chat.edit(await chat.version(0), f"v{number}")
        assert await counts(chat) == [number, 1]
    assert await texts_by_arrow(chat, 0) == ["v1", "v2", "v3", "v4", "v5"]
    for position in (1, 3):
        await go_to(chat, 0, position)
        await chat.edit(await chat.version(0), f"again on {position}")
    assert await counts(chat) == [7, 1]
    assert model.asked[-1] == ["again on 3"]


async def test_case_01_five_regenerations_are_one_flat_row_of_different_texts(chat: Story) -> None:
    """With the demo model, whose replies all differ; pressed on the newest, on 1/5 and on 3/5."""
    await chat.send("Why is the sky blue?")
    for number in range(2, 6):
        await chat.replay(await chat.version(1))
        assert await counts(chat) == [1, number]
    for position in (1, 3):
        await go_to(chat, 1, position)
        await chat.replay(await chat.version(1))
    assert await counts(chat) == [1, 7]
    assert len(set(await texts_by_arrow(chat, 1))) == 7


async def test_case_01_deep_in_a_thread_no_other_counter_changes(chat: Story, model: Scripted) -> None:
    for question in ("q1", "q2", "q3"):
        await chat.send(question)
    for _ in range(2):
        await chat.replay(await chat.version(3))
    await chat.send("q3'")
    assert await counts(chat) == [1, 1, 1, 3, 1, 1]


async def test_case_02_an_edit_keeps_the_versions_of_the_reply_below_the_old_text(chat: Story, model: Scripted) -> None:
    """All arrows vanished when an edit kept the message's id."""
    await chat.send("q1")
    await chat.replay(await chat.version(1))
    old = [version.message_id for version in (await chat.view()).versions]
    await chat.edit(await chat.version(0), "q1'")
    assert await chat.screen() == ["q1' 2/2", "a3"]
    assert not {version.message_id for version in (await chat.view()).versions} & set(old)
    assert screen(await chat.switch((await chat.version(0)).previous)) == ["q1 1/2", "a2 2/2"]
    assert await texts_by_arrow(chat, 1) == ["a1", "a2"]


async def test_case_05_regenerating_deletes_nothing(chat: Story, model: Scripted) -> None:
    """The old reply and all that came after it are one arrow away."""
    await chat.send("q1")
    await chat.send("q2")
    await chat.replay(await chat.version(1))
    assert await chat.screen() == ["q1", "a3 2/2"]
    assert screen(await chat.switch((await chat.version(1)).previous)) == ["q1", "a1 1/2", "q2", "a2"]


async def test_case_09_what_followed_is_where_one_left_it(chat: Story, model: Scripted) -> None:
    """Three turns on 2/2; a look at 1/2, where they are not; back on 2/2 they are all there."""
    await chat.send("q1")
    await chat.replay(await chat.version(1))
    for question in ("q2", "q3", "q4"):
        await chat.send(question)
    full = await chat.screen()
    assert screen(await chat.switch((await chat.version(1)).previous)) == ["q1", "a1 1/2"]
    assert screen(await chat.switch((await chat.version(1)).next)) == full


async def test_case_14_after_thirty_turns_the_first_reply_is_regenerated_from_the_first_message(
    chat: Story, model: Scripted
) -> None:
    """Thirty turns with three regenerations each: no window of the history decides from where."""
    for turn in range(1, 31):
        await chat.send(f"q{turn}")
        for _ in range(3):
            await chat.replay(await chat.version(-1))
    above = (await window.earlier(chat.thread.pk, (await chat.view()).above)).versions
    assert [version.total for version in above] + await counts(chat) == [1, 4] * 30
    await chat.replay(above[1])
    assert model.asked[-1] == ["q1"]
    assert await chat.screen() == ["q1", "a121 5/5"]
    view = await chat.switch((await chat.version(1)).previous)
    above = (await window.earlier(chat.thread.pk, view.above)).versions
    assert [version.total for version in above] + await counts(chat) == [1, 5] + [1, 4] * 29
    await chat.edit(above[0], "other")
    assert model.asked[-1] == ["other"]
    assert await chat.screen() == ["other 2/2", "a122"]


@pytest.mark.parametrize("turns", [1, 5])
async def test_case_15_an_edit_of_the_first_message_is_a_beginning_of_its_own(
    chat: Story, model: Scripted, turns: int
) -> None:
    for turn in range(1, turns + 1):
        await chat.send(f"q{turn}")
    old = await chat.screen()
    for number in (2, 3):
        await chat.edit(await chat.version(0), f"other {number}")
        assert model.asked[-1] == [f"other {number}"]
        assert len((await chat.view()).versions) == 2
    await go_to(chat, 0, 1)
    assert await chat.screen() == [old[0] + " 1/3", *old[1:]]


async def _plain(chat: Story) -> None:
    answers(chat, Scripted())
    for question in ("q1", "q2", "q3"):
        await chat.send(question)


async def _errored(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", ("half", NO))))
    await chat.send("q1")
    await chat.send("q2")


async def _stopped(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1", ("half", HANG))))
    await chat.send("q1")
    await (await (await chat.begin("send", text="q2")).take_until(is_token)).stop()


@pytest.mark.parametrize(
    ("before", "at"),
    [(_plain, 0), (_plain, 2), (_plain, 4), (_errored, 2), (_errored, 0), (_stopped, 2), (_stopped, 0)],
)
async def test_case_16_an_edit_is_always_answered_exactly_once(
    chat: Story, before: Callable[[Story], Awaitable[None]], at: int
) -> None:
    """At the start, in the middle, at the end; of a message whose reply failed or was stopped, and before one."""
    await before(chat)
    model = answers(chat, Scripted(replies=("answer",)))
    await chat.edit(await chat.version(at), "edited")
    view = await chat.view()
    assert [(version.text, version.total) for version in view.versions[at:]] == [("edited", 2), ("answer", 1)]
    assert view.open_reply is None
    assert len(model.calls) == 1 and model.asked[0][-1] == "edited"


async def test_case_26_an_edit_that_changes_nothing_makes_nothing(chat: Story, model: Scripted) -> None:
    await chat.send("q1")
    before = await chat.view()
    for same in ("q1", "  q1\r\n"):
        assert await chat.edit(before.versions[0], same) == []
    with pytest.raises(EmptyMessage):
        await chat.edit(before.versions[0], " \n ")
    assert await chat.view() == before
    assert len(model.calls) == 1


async def test_case_30_the_choice_is_kept_with_the_thread(chat: Story, model: Scripted) -> None:
    """3/5 on one reply, 1/2 on another message: read afresh, as after a log-in elsewhere or a restart."""
    await chat.send("q1")
    for _ in range(4):
        await chat.replay(await chat.version(1))
    await go_to(chat, 1, 3)
    await chat.send("q2")
    await chat.edit(await chat.version(2), "q2'")
    await chat.switch((await chat.version(2)).previous)
    fresh = Story(chat.engine, await Thread.objects.aget(pk=chat.thread.pk))
    assert await fresh.screen() == ["q1", "a3 3/5", "q2 1/2", "a6"]


async def test_case_30_nested_choices_come_back(chat: Story, model: Scripted) -> None:
    """Leave 1/2, below which 2/3 was chosen, and come back: 2/3 again."""
    await chat.send("q1")
    await chat.send("q2")
    for _ in range(2):
        await chat.replay(await chat.version(3))
    await go_to(chat, 3, 2)
    await chat.edit(await chat.version(0), "q1'")
    assert screen(await chat.switch((await chat.version(0)).previous)) == ["q1 1/2", "a1", "q2", "a3 2/3"]


async def test_case_31_what_was_seen_last_is_what_is_shown(chat: Story, model: Scripted) -> None:
    """Written last on an old branch, looked at last on the newest: the look decides."""
    await chat.send("q1")
    await chat.replay(await chat.version(1))
    await chat.switch((await chat.version(1)).previous)
    await chat.send("q2")
    await chat.switch((await chat.version(1)).next)
    assert await chat.screen() == ["q1", "a2 2/2"]


class TestCase32:
    """HEAD points to nothing that can be shown, or what it points to is gone."""

    @pytest.mark.parametrize("garbage", ["a random id", "another thread's", "an inner one", None])
    async def test_case_32_the_thread_opens_on_a_valid_place_and_goes_on_from_there(
        self, chat: Story, story: Story, model: Scripted, garbage: str | None
    ) -> None:
        await story.send("h1")
        await chat.send("q1")
        head = {"another thread's": (await story.view()).head, "an inner one": "model:1ef2|1ef2"}.get(garbage, garbage)
        await Thread.objects.filter(pk=chat.thread.pk).aupdate(head=head)
        view = await chat.view()
        assert (screen(view), view.notice) == (["q1", "a1"], "head-repaired")
        await chat.send("q2")
        assert model.asked[-1] == ["q1", "a1", "q2"]

    @pytest.mark.parametrize("garbage", ["a random id", None])
    async def test_case_32_a_message_sent_before_that_begins_no_blank_conversation(
        self, chat: Story, model: Scripted, garbage: str | None
    ) -> None:
        await chat.send("q1")
        page = await chat.view()
        await Thread.objects.filter(pk=chat.thread.pk).aupdate(head=garbage)
        before = (await chat.tree()).checkpoints
        with pytest.raises(HeadMoved):
            await commands.send(chat.thread.pk, text="q2", head_version=page.head_version)
        assert (await chat.tree()).checkpoints == before
        await chat.view()

    async def test_case_32_without_its_checkpoints_a_thread_shows_what_it_has_and_takes_nothing_more(
        self, chat: Story, model: Scripted
    ) -> None:
        await chat.send("q1")
        await chat.engine.saver.adelete_thread(str(chat.thread.pk))
        assert ending(await chat.send("q2")) == "failed"
        view = await chat.view()
        assert screen(view) == ["q1", "a1", "(q2)", "[failed]"]
        assert not (await chat.tree()).checkpoints and len(model.calls) == 1
        chat.is_sound = False

    async def test_case_32_with_an_empty_index_nothing_blank_is_begun_either(
        self, chat: Story, model: Scripted
    ) -> None:
        await chat.send("q1")
        await chat.thread.messages.all().adelete()
        await IndexedCheckpoint.objects.all().adelete()
        assert (await chat.view()).is_empty
        assert ending(await chat.send("q2")) == "failed"
        assert len((await chat.tree()).checkpoints) == 3
        chat.is_sound = False


async def test_case_38_what_is_said_on_an_older_branch_stays_on_it(chat: Story, model: Scripted) -> None:
    """Three messages in a row, with a reload between the second and the third."""
    await chat.send("q1")
    await chat.replay(await chat.version(1))
    await chat.send("newer branch")
    await chat.switch((await chat.version(1)).previous)
    for question in ("q2", "q3"):
        await chat.send(question)
    await Story(chat.engine, await Thread.objects.aget(pk=chat.thread.pk)).send("q4")
    assert model.asked[-1][::2] == ["q1", "q2", "q3", "q4"]
    assert (await chat.screen())[:2] == ["q1", "a1 1/2"]


async def test_case_40_a_link_shows_its_version_whatever_head_does(chat: Story, model: Scripted) -> None:
    await chat.send("q1")
    link = (await chat.version(1)).checkpoint_id
    await chat.replay(await chat.version(1))
    await chat.edit(await chat.version(0), "q1'")
    assert screen(await transcript.read_at(chat.thread.pk, link)) == ["q1 1/2", "a1 1/2"]
    assert await chat.screen() == ["q1' 2/2", "a3"]


async def test_case_42_after_the_first_half_of_an_edit_only_the_edited_message_is_there(
    chat: Story, model: Scripted
) -> None:
    """What came after the old text is off the screen before a word of the reply is written."""
    for question in ("q1", "q2", "q3"):
        await chat.send(question)
    await chat.edit(await chat.version(2), "q2'", answer=False)
    assert await chat.screen() == ["q1", "a1", "q2' 2/2", "[missing]"]
    reply = await (await chat.begin("resume")).take_until(is_token)
    assert await chat.screen() == ["q1", "a1", "q2' 2/2", "[streaming]"]
    await reply.finish()


@pytest.mark.parametrize("at", [4, 2, 0])
async def test_case_43_an_edit_while_a_reply_is_written_is_refused(chat: Story, at: int) -> None:
    """Of the message being answered, of the last but one, of the first: one tail, and nothing of what was refused."""
    answers(chat, Scripted(replies=("a1", "a2", ("half", HANG), "b1")))
    for question in ("q1", "q2"):
        await chat.send(question)
    reply = await (await chat.begin("send", text="q3")).take_until(is_token)
    before = (await chat.tree()).checkpoints
    with pytest.raises(RunInProgress):
        await chat.edit(await chat.version(at), "edited")
    with pytest.raises(RunInProgress):
        await chat.replay(await chat.version(3))
    assert (await chat.tree()).checkpoints == before
    await reply.stop()
    assert await chat.screen() == ["q1", "a1", "q2", "a2", "q3", "half"]
    await chat.edit(await chat.version(at), "edited")
    assert (await chat.screen())[at:] == ["edited 2/2", "b1"]
    await chat.switch((await chat.version(at)).previous)
    assert (await chat.screen())[-1] == "half"


class TestCase44:
    """A double click made two branches."""

    async def test_case_44_the_same_request_twice_makes_one_version(self, chat: Story, model: Scripted) -> None:
        await chat.send("q1")
        page, a1 = await chat.view(), await chat.version(1)
        twice = [
            commands.replay(chat.thread.pk, message=a1.pk, head_version=page.head_version, key="k1") for _ in range(2)
        ]
        runs = [run for run in await asyncio.gather(*twice) if run]
        assert len(runs) == 1
        await chat.play(runs[0])
        assert await counts(chat) == [1, 2]

    @pytest.mark.parametrize("command", ["send", "replay"])
    async def test_case_44_two_clicks_at_once_make_one_version(
        self, chat: Story, model: Scripted, command: str
    ) -> None:
        await chat.send("q1")
        page, a1 = await chat.view(), await chat.version(1)
        given = {"text": "q2"} if command == "send" else {"message": a1.pk}
        clicks = [
            getattr(commands, command)(chat.thread.pk, **given, head_version=page.head_version, key=f"k{number}")
            for number in range(4)
        ]
        answered = await asyncio.gather(*clicks, return_exceptions=True)
        [run] = [answer for answer in answered if isinstance(answer, Run)]
        assert all(isinstance(answer, RunInProgress | HeadMoved) for answer in answered if answer is not run)
        await chat.play(run)
        assert await counts(chat) == ([1, 1, 1, 1] if command == "send" else [1, 2])

    async def test_case_44_two_edits_at_once_make_one_version(self, chat: Story, model: Scripted) -> None:
        await chat.send("q1")
        page, q1 = await chat.view(), await chat.version(0)
        clicks = [
            commands.edit(
                chat.engine, chat.thread.pk, message=q1.pk, text="q1'", head_version=page.head_version, key=f"k{number}"
            )
            for number in range(3)
        ]
        answered = await asyncio.gather(*clicks, return_exceptions=True)
        assert answered.count(True) == 1
        assert all(isinstance(answer, Conflict) for answer in answered if answer is not True)
        assert await chat.screen() == ["q1' 2/2", "[missing]"]


async def test_case_33_what_is_sent_from_a_page_on_another_version_is_not_said_there(
    chat: Story, model: Scripted
) -> None:
    """One tab shows 1/2; another moves to 2/2; the first sends without having heard of that."""
    await chat.send("q1")
    await chat.replay(await chat.version(1))
    page = await chat.switch((await chat.version(1)).previous)
    await chat.switch((await chat.version(1)).next)
    with pytest.raises(HeadMoved):
        await commands.send(chat.thread.pk, text="q2", head_version=page.head_version)
    assert await chat.screen() == ["q1", "a2 2/2"]
    await chat.switch((await chat.version(1)).previous)
    await chat.send("q2")
    assert await chat.screen() == ["q1", "a1 1/2", "q2", "a3"]


async def test_case_47_a_stopped_reply_is_kept_regenerated_and_continued(chat: Story) -> None:
    """What was written survives a reload, stays 1/2, and the model sees it when one goes on from it."""
    model = answers(chat, Scripted(replies=(("One two three", HANG), "a2", "a3")))
    reply = await (await chat.begin("send", text="q1")).take_until(lambda e: is_token(e) and "three" in e.text)
    assert spoken(await reply.stop()) == "One two three"
    assert await chat.screen() == ["q1", "One two three"]
    await chat.replay(await chat.version(1))
    assert await chat.screen() == ["q1", "a2 2/2"]
    stopped = (await chat.switch((await chat.version(1)).previous)).versions[1]
    assert (stopped.text, stopped.state) == ("One two three", "stopped")
    await chat.send("q2")
    assert model.asked[-1] == ["q1", "One two three", "q2"]


class TestCase48:
    """A retry doubled the message."""

    async def test_case_48_fail_fail_ok_leaves_one_message_and_one_reply(self, chat: Story) -> None:
        model = answers(chat, Scripted(replies=(("five words are said here", NO), NO, "a1")))
        await chat.send("q1")
        for _ in range(2):
            assert await chat.screen() == ["q1", "[failed]"]
            await chat.resume()
        assert await chat.screen() == ["q1", "a1"]
        assert model.asked == [["q1"]] * 3

    async def test_case_48_the_same_text_typed_again_is_the_same_message(self, chat: Story) -> None:
        model = answers(chat, Scripted(replies=(("five words", NO), "a1")))
        await chat.send("q1")
        await chat.send("  q1 ")
        assert await chat.screen() == ["q1", "a1"]
        assert model.asked == [["q1"]] * 2

    async def test_case_48_on_a_later_turn_the_model_sees_the_message_once(self, chat: Story) -> None:
        model = answers(chat, Scripted(replies=("a1", NO, NO, "a2")))
        await chat.send("q1")
        await chat.send("q2")
        await chat.resume()
        await chat.send("q2")
        assert await chat.screen() == ["q1", "a1", "q2", "a2"]
        assert model.asked[-1] == ["q1", "a1", "q2"]


async def test_case_50_after_a_stop_the_next_message_meets_a_sequence_that_any_model_takes(chat: Story) -> None:
    """A strict provider refuses two of one side in a row, or an empty reply; there are no tools to leave open yet."""
    model = answers(chat, Scripted(replies=(("half", HANG), "a2")))
    await (await (await chat.begin("send", text="q1")).take_until(is_token)).stop()
    await chat.send("q2")
    [_, given] = model.calls
    assert [message.type for message in given] == ["human", "ai", "human"] and all(m.text for m in given)


class TestCase53:
    """An edit is two requests, and the second never comes."""

    async def test_case_53_the_edited_message_stands_unanswered_and_can_be_run(
        self, chat: Story, model: Scripted
    ) -> None:
        await chat.send("q1")
        await chat.edit(await chat.version(0), "q1'", answer=False)
        fresh = Story(chat.engine, await Thread.objects.aget(pk=chat.thread.pk))
        view = await fresh.view()
        assert (screen(view), view.run_state, view.run) == (["q1' 2/2", "[missing]"], "idle", None)
        await fresh.resume()
        assert await fresh.screen() == ["q1' 2/2", "a2"]

    async def test_case_53_pressed_twice_in_between_it_is_answered_once(self, chat: Story, model: Scripted) -> None:
        await chat.send("q1")
        await chat.edit(await chat.version(0), "q1'", answer=False)
        page = await chat.view()
        twice = [commands.resume(chat.thread.pk, head_version=page.head_version, key=key) for key in ("k1", "k2")]
        answered = await asyncio.gather(*twice, return_exceptions=True)
        [run] = [answer for answer in answered if isinstance(answer, Run)]
        await chat.play(run)
        assert await chat.screen() == ["q1' 2/2", "a2"]

    async def test_case_53_a_second_half_that_fails_can_be_tried_again(self, chat: Story) -> None:
        answers(chat, Scripted(replies=("a1", NO, "b1")))
        await chat.send("q1")
        await chat.edit(await chat.version(0), "q1'")
        assert await chat.screen() == ["q1' 2/2", "[failed]"]
        await chat.resume()
        assert await chat.screen() == ["q1' 2/2", "b1"]

    async def test_case_53_a_first_half_that_fails_changes_nothing(self, chat: Story, model: Scripted) -> None:
        await chat.send("q1")
        before = await chat.screen()
        with saving_only(chat.engine, 0), pytest.raises(OSError, match="full"):
            await chat.edit(await chat.version(0), "q1'")
        assert await chat.screen() == before
        await chat.send("q2")
        assert await chat.screen() == [*before, "q2", "a2"]


async def test_threads_do_not_hear_of_each_other(engine: Engine, alice: User) -> None:
    """Case 55, the domain's part: replies written at the same time land each in their own thread."""
    stories = [Story(engine, await threads.create(alice, assistant="echo")) for _ in range(4)]
    await asyncio.gather(*(story.send(f"h{at}") for at, story in enumerate(stories)))
    assert [await story.screen() for story in stories] == [[f"h{at}", f"回复：h{at}"] for at in range(4)]
