"""The explained call, executed on a copy of the thread, adds what the button adds. What it adds is what was said."""

from __future__ import annotations

import ast
import inspect
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from branching import assistants, explain, history, importing, several, threads
from branching.database import on_database
from branching.exceptions import NoSuchRun, NothingToRun, NothingToUndo, RunInProgress
from branching.explain import Added, Explanation, outcome
from branching.forks import Update
from branching.models import Run
from tests.branching.conftest import Story, answers, is_token
from tests.branching.desk import BOTH, NO, SUITE, YES, Guest, guest
from tests.branching.models import HANG, Scripted
from tests.branching.test_forks import fork, says, two_turns
from tests.branching.test_inspection import again, all_rows

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]


class Elsewhere(AsyncSqliteSaver):
    """A saver that is not ours. It counts the versions of channels as ours does, whose checkpoints it takes over."""

    get_next_version = BaseCheckpointSaver.get_next_version


class Copy:
    """The thread's checkpoints once more, in a saver of its own, under the same ids."""

    def __init__(self, graph: Any, thread_id: Any) -> None:
        self.graph, self.thread_id = graph, thread_id

    @classmethod
    @asynccontextmanager
    async def of(cls, story: Story) -> AsyncIterator[Copy]:
        async with Elsewhere.from_conn_string(":memory:") as saver:
            for each in await on_database(_saved)(story):
                await _put(saver, each, story.thread.pk)
            blueprint = assistants.get(story.thread.assistant).build(story.engine.models)
            yield cls(blueprint.compile(checkpointer=saver), story.thread.pk)

    async def execute(self, python: str) -> dict[str, Any]:
        """Run the text as a notebook would. The names that it has made."""
        code = compile(python, "explained", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        names = {"graph": self.graph}
        if inspect.isawaitable(running := eval(code, names)):
            await running
        return names

    async def chain(self) -> list[Any]:
        return await chain(self.graph, self.thread_id)


def _saved(story: Story) -> list[CheckpointTuple]:
    """All checkpoints of the thread, the oldest first."""
    return list(story.engine.saver.list(history.config_for(story.thread.pk, None)))[::-1]


async def _put(saver: Elsewhere, each: CheckpointTuple, thread_id: UUID) -> None:
    before = each.parent_config or history.config_for(thread_id, None)
    await saver.aput(before, each.checkpoint, each.metadata, each.checkpoint["channel_versions"])
    writes = defaultdict(list)
    for task, channel, value in each.pending_writes:
        writes[task].append((channel, value))
    for task, written in writes.items():
        await saver.aput_writes(each.config, written, task)


async def chain(graph: Any, thread_id: Any) -> list[Any]:
    """Each checkpoint, oldest first, by what does not depend on its id: the place of its parent, and what it holds."""
    rows = (await history.read_all(graph, thread_id))[::-1]
    place = {row.id: at for at, row in enumerate(rows)}
    told = [[(message.kind, message.text) for message in row.messages] for row in rows]
    return [
        (row.source, row.step, row.next, place.get(row.parent_id), said) for row, said in zip(rows, told, strict=True)
    ]


async def presses(story: Story, told: Explanation, press: Any) -> list[Any]:
    """Press the button, and execute what was said of it on a copy from before. What has been added, by both alike."""
    async with Copy.of(story) as copy:
        before = len(await copy.chain())
        await press()
        by_button = await chain(story.engine.graph(story.thread.assistant), story.thread.pk)
        await copy.execute(told.python)
        assert await copy.chain() == by_button
    said = [row for part in told.parts for row in part.expected.rows]
    came = [(row[0], row[1]) for row in by_button[before:]]
    assert came[: len(said)] == [(row.source, row.step) for row in said]
    return by_button[before:]


def bodies(told: Explanation) -> list[tuple[str, dict[str, Any]]]:
    """The requests to an agent server: the path, and what is sent."""
    split = [request.partition("\n\n") for request in told.requests]
    return [(head.removeprefix("POST "), json.loads(body)) for head, _, body in split]


async def test_a_message_by_send_and_by_its_text(story: Story) -> None:
    for text in ("h1", "h2"):
        told = await explain.send(story.engine, story.thread.pk, text=text)
        added = await presses(story, told, lambda text=text: story.send(text))
        assert [row[0] for row in added] == ["input", "loop", "loop", "loop"]
    [(path, body)] = bodies(told)
    assert (path, body["input"]["messages"][0]["content"]) == (f"/threads/{story.thread.pk}/runs/wait", "h2")
    assert body["checkpoint"]["checkpoint_id"] == told.parts[0].expected.base


async def test_a_reply_by_regenerate_and_by_its_text(story: Story) -> None:
    await two_turns(story)
    reply = (await story.version(1)).pk
    told = await explain.replay(story.engine, story.thread.pk, message=reply)
    assert [row[0] for row in await presses(story, told, lambda: story.replay(reply))] == ["fork", "loop"]
    [part] = told.parts
    assert (part.expected.runs, part.expected.rests) == (("reply",), ("booking",))
    assert [(line.kind, line.text) for line in part.expected.sent.lines] == [("human", "h1")]
    assert (told.move.why, told.move.target) == ("replay", part.expected.base)


async def test_several_replies_at_once_are_as_many_branches(chat: Story) -> None:
    answers(chat, Scripted())
    await chat.send("q")
    reply = (await chat.version(1)).pk
    told = await explain.several(chat.engine, chat.thread.pk, message=reply, count=3)
    [part] = told.parts
    assert (part.times, [row.source for row in part.expected.rows], told.requests) == (3, ["fork", "loop"], ())
    async with Copy.of(chat) as copy:
        await copy.execute(told.python)
        by_text = sorted(await copy.chain(), key=str)
    page = {"head_version": (await chat.view()).head_version}
    for run in await several.begin(chat.engine, chat.thread.pk, message=reply, count=3, **page):
        await chat.play(run)
    rows = [row[:3] for row in await chain(chat.engine.graph("chat"), chat.thread.pk)]
    assert sorted(rows, key=str) == sorted((row[:3] for row in by_text), key=str)
    for run in [run async for run in Run.objects.filter(kind="replay")]:
        assert (await outcome.compared(chat.engine, chat.thread, run.pk)).agrees


async def test_a_message_by_edit_and_by_its_text_in_two_requests(story: Story) -> None:
    await two_turns(story)
    for at in (0, 0):
        message = (await story.version(at)).pk
        text = f"other than {message}"
        told = await explain.edit(story.engine, story.thread.pk, message=message, text=text)
        added = await presses(story, told, lambda message=message, text=text: story.edit(message, text))
        assert [row[0] for row in added] == ["update", "loop", "loop"]
        assert [path.split("/")[-1] for path, _ in bodies(told)] == ["state", "wait"]
    assert (told.move.is_made, told.move.why, told.parts[1].follows) == (True, "edit", True)
    same = await explain.edit(story.engine, story.thread.pk, message=message, text=(await story.version(0)).text)
    assert same.parts or same.notes == ("same",)


async def test_a_replay_from_any_checkpoint_by_the_button_and_by_the_text(story: Story) -> None:
    ids = await two_turns(story)
    for number in (2, 4, 0):
        told = await explain.replay_from(story.engine, story.thread.pk, checkpoint_id=ids[number])
        assert told.copies
        await presses(story, told, lambda number=number: again(story, ids[number]))
    ended = await explain.replay_from(story.engine, story.thread.pk, checkpoint_id=ids[7])
    assert [row[0] for row in await presses(story, ended, lambda: again(story, ids[7]))] == ["fork"]
    assert ended.parts[0].expected.runs == ()


async def test_a_change_of_the_state_by_the_form_and_by_the_text(story: Story) -> None:
    ids = await two_turns(story)
    last = (await story.version(3)).message_id
    for updates in (
        [Update("booking", says("by hand"))],
        [Update("booking", {"messages": [{"type": "remove", "id": last}]})],
        [Update("__start__", says("one")), Update("booking", says("two"))],
    ):
        told = await explain.fork(story.engine, story.thread.pk, checkpoint_id=ids[7], updates=updates)
        assert len(told.requests) == (2 if len(updates) == 1 else 0)

        async def by_form(updates: list[Update] = updates) -> None:
            await fork(story, ids[7], *updates)
            await story.resume()

        await presses(story, told, by_form)


async def test_from_an_update_that_is_the_newest_it_goes_on_in_place(story: Story) -> None:
    """F3: no copy then; and one as soon as anything is newer."""
    ids = await two_turns(story)
    await fork(story, ids[7], Update("booking", says("by hand")))
    update = (await story.view()).head
    for copies in (False, True):
        told = await explain.replay_from(story.engine, story.thread.pk, checkpoint_id=update)
        assert told.copies == copies
        await presses(story, told, lambda: again(story, update))


async def test_other_fields_are_told_as_python_says_them(guest: Guest) -> None:
    await guest.send("Hotels from 2026-12-05 for 2 nights")
    head = (await guest.view()).head
    updates = [Update("agent", {"budget": None, "warnings": ["a 'quoted' one"]})]
    told = await explain.fork(guest.engine, guest.thread.pk, checkpoint_id=head, updates=updates)
    async with Copy.of(guest) as copy:
        await copy.execute(told.python)
        newest = await copy.graph.aget_state({"configurable": {"thread_id": str(guest.thread.pk)}})
    assert '"budget": null' in told.requests[0] and "/state" in told.requests[0]
    assert newest.values["warnings"] == ["a 'quoted' one"]


@pytest.mark.parametrize("assistant", ["guide", "planner", "concierge", "chat"])
async def test_so_it_is_with_every_assistant(story: Story, alice: User, assistant: str) -> None:
    """Of the Guide, an edit is one call: its first request stores nothing."""
    other = Story(story.engine, await threads.create(alice, assistant=assistant))
    if assistant == "chat":  # the demo model says something else at each try
        answers(other, Scripted())
    told = await explain.send(other.engine, other.thread.pk, text="What is a fork?")
    await presses(other, told, lambda: other.send("What is a fork?"))
    message, reply = [(await other.version(at)).pk for at in (0, 1)]
    told = await explain.replay(other.engine, other.thread.pk, message=reply)
    await presses(other, told, lambda: other.replay(reply))
    told = await explain.edit(other.engine, other.thread.pk, message=message, text="What is HEAD?")
    assert (len(told.parts), told.notes) == ((1, ("waits",)) if assistant == "guide" else (2, ()))
    await presses(other, told, lambda: other.edit(message, "What is HEAD?"))


async def test_what_was_chosen_for_a_thread_is_told_and_later_what_was_chosen_then(chat: Story) -> None:
    model = answers(chat, Scripted())
    await choose(chat, "Be brief.")
    told = await explain.send(chat.engine, chat.thread.pk, text="q")
    await presses(chat, told, lambda: chat.send("q"))
    assert [[(each.type, each.text) for each in call] for call in model.calls] == [
        [("system", "Be brief."), ("human", "q")]
    ] * 2
    assert [(line.kind, line.text) for line in told.parts[0].expected.sent.lines] == [
        ("system", "Be brief."), ("human", "q"),
    ]  # fmt: skip
    assert bodies(told)[0][1]["context"] == {"instructions": "Be brief."}
    await choose(chat, "Be long.")
    found = await outcome.compared(chat.engine, chat.thread, (await Run.objects.aget()).pk)
    assert found.sent == "same" and found.outcome.sent[0].lines[0].text == "Be brief."
    await choose(chat, "")


async def choose(story: Story, instructions: str) -> None:
    await threads.choose(story.thread.pk, story.engine.models, model="", instructions=instructions)
    await story.thread.arefresh_from_db()


async def test_an_answer_is_told_with_what_goes_on_with_it(guest: Guest) -> None:
    await guest.send(BOTH)
    first, second = await guest.waiting()
    where = {"checkpoint_id": first.checkpoint_id}
    told = await explain.answer(guest.engine, guest.thread.pk, answers={first.interrupt_id: YES}, **where)
    [part] = told.parts
    assert (part.expected.rows, part.expected.left_waiting, part.expected.is_open) == ((), 1, False)
    assert first.interrupt_id in told.python and second.interrupt_id not in told.python
    assert bodies(told)[0][1]["command"] == {"resume": {first.interrupt_id: YES}}
    both = {first.interrupt_id: YES, second.interrupt_id: NO}
    told = await explain.answer(guest.engine, guest.thread.pk, answers=both, **where)
    [part] = told.parts
    assert part.expected.rows[0] == Added("loop", part.expected.rows[0].step, ("agent",))
    assert (part.expected.runs, part.expected.sent.joined_by) == (("tools", "agent"), ("tools",))
    await guest.answer(YES, NO)
    found = await outcome.compared(guest.engine, guest.thread, (await Run.objects.aget(kind="answer")).pk)
    assert found.agrees and [sent.lines[-1].kind for sent in found.outcome.sent] == ["tool"]


async def test_a_message_instead_of_an_answer_closes_the_calls_first(guest: Guest) -> None:
    await guest.send(SUITE)
    told = await explain.send(guest.engine, guest.thread.pk, text="never mind")
    assert told.notes == ("closes",) and len(told.requests) == 2
    added = await presses(guest, told, lambda: guest.send("never mind"))
    assert [row[0] for row in added][:3] == ["update", "input", "loop"]


async def test_to_decide_again_and_to_begin_with_the_tools_may_ask(guest: Guest) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    await guest.answer(YES)
    told = await explain.decide_again(guest.engine, guest.thread.pk, checkpoint_id=asked.checkpoint_id)
    [part] = told.parts
    assert (part.expected.asks, part.expected.runs, part.expected.may_run) == (
        ("tools",),
        ("tools",),
        ("agent", "tools"),
    )
    assert [row[0] for row in await presses(guest, told, lambda: guest.decide_again(asked.checkpoint_id))] == ["fork"]


async def test_a_conversation_that_begins_with_a_checkpoint(guest: Guest) -> None:
    """With all its fields, and each message written as the node that says such."""
    await guest.send("Hotels from 2026-12-05 for 2 nights, my budget is 3000")
    here = {"checkpoint_id": (await guest.view()).head}
    before = await all_rows()
    told = await explain.branch_off(guest.engine, guest.thread.pk, **here)
    assert await all_rows() == before
    async with Copy.of(guest) as copy:
        names = await copy.execute(told.python)
        made = await importing.branch_off(guest.engine, guest.thread, here["checkpoint_id"])
        by_button = await chain(guest.engine.graph("concierge"), made.pk)
        assert await chain(copy.graph, names["config"]["configurable"]["thread_id"]) == by_button
        states = [
            (await graph.aget_state(history.config_for(thread_id, None))).values
            for graph, thread_id in (
                (copy.graph, names["config"]["configurable"]["thread_id"]),
                (guest.engine.graph("concierge"), made.pk),
            )
        ]
    assert states[0] == states[1] and states[0]["budget"] == 3000
    [part] = told.parts
    said = part.expected
    assert [(row.source, row.next) for row in said.rows] == [by_button[at][::2][:2] for at in (0, 1, -1)]
    assert (said.more + len(said.rows), told.move) == (len(by_button), None)


async def test_arrows_and_undo_move_head_and_no_more(story: Story) -> None:
    await two_turns(story)
    await story.replay(await story.version(1))
    arrow, head = (await story.version(1)).previous, (await story.view()).head
    told = await explain.switch(story.engine, story.thread.pk, message=arrow)
    back = await explain.undo(story.engine, story.thread.pk)
    for each in (told, back):
        assert (each.parts, each.python, each.requests, each.move.origin) == ((), "", (), head)
    assert (await story.switch(arrow)).head == told.move.target
    await story.undo()
    assert (await story.undo()).head == back.move.target


async def test_what_would_be_refused_is_refused_and_nothing_is_stored(story: Story) -> None:
    engine, thread = story.engine, story.thread.pk
    with pytest.raises(NothingToUndo):
        await explain.undo(engine, thread)
    await story.send("h1")
    before = await all_rows()
    for told, error in ((explain.resume, NothingToRun), (explain.stop, NoSuchRun)):
        with pytest.raises(error):
            await told(engine, thread)
    await explain.undo(engine, thread)
    await explain.edit(engine, thread, message=(await story.version(0)).pk, text="h1'")
    assert await all_rows() == before


async def test_stop_is_told_while_a_run_is_under_way(chat: Story) -> None:
    answers(chat, Scripted(replies=(("half", HANG),)))
    reply = await (await chat.begin("send", text="q")).take_until(is_token)
    with pytest.raises(RunInProgress):
        await explain.send(chat.engine, chat.thread.pk)
    told = await explain.stop(chat.engine, chat.thread.pk)
    [part] = told.parts
    assert (told.notes, "as_node" in told.requests[0]) == (("stop",), True)
    await reply.stop()
    found = await outcome.compared(chat.engine, chat.thread, reply.run.pk)
    kept = found.outcome.kept
    assert (part.expected.rows[0].source, part.expected.rows[0].step) == (kept.source, kept.step)
    assert found.agrees and kept.parent_id == part.expected.base
