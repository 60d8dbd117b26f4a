"""The explained call, executed, does what the button does. What it adds is what was said."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest

from branching import explain
from branching.forks import Update
from tests.branching.conftest import Story
from tests.branching.desk import Guest, guest
from tests.branching.test_chains import chain
from tests.branching.test_forks import checkpoints, fork, says, two_turns
from tests.branching.test_inspection import again

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]


async def execute(story: Story, python: str) -> None:
    """Run the text as a notebook would."""
    code = compile(python, "explained", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names: dict[str, Any] = {"graph": story.engine.graph(story.thread.assistant)}
    if inspect.isawaitable(running := eval(code, names)):
        await running
    story.is_sound = False  # the index has heard nothing of it


async def test_a_replay_by_the_button_and_by_the_text_add_the_same(story: Story) -> None:
    ids = await two_turns(story)
    for number in (2, 4, 0):
        told = await explain.replay(story.thread, ids[number])
        before = len(await checkpoints(story))
        await again(story, ids[number])
        by_button = (await chain(story))[before:]
        assert told.copies and by_button[0].split()[1] == "fork"
        await execute(story, told.python)
        by_text = (await chain(story))[before + len(by_button) :]
        assert [row.split()[1:4] for row in by_text] == [row.split()[1:4] for row in by_button]


async def test_a_change_of_the_state_by_the_form_and_by_the_text_add_the_same(story: Story) -> None:
    ids = await two_turns(story)
    last = (await story.version(3)).message_id
    for updates in (
        [Update("booking", says("by hand"))],
        [Update("booking", {"messages": [{"type": "remove", "id": last}]})],
        [Update("__start__", says("one")), Update("booking", says("two"))],
    ):
        told = explain.fork(story.thread, ids[7], updates)
        assert len(told.requests) == (2 if len(updates) == 1 else 0)
        before = len(await checkpoints(story))
        await fork(story, ids[7], *updates)
        await story.resume()
        by_form = (await chain(story))[before:]
        await execute(story, told.python)
        by_text = (await chain(story))[before + len(by_form) :]
        assert [row.split()[1:4] for row in by_text] == [row.split()[1:4] for row in by_form]


async def test_from_an_update_that_is_the_newest_it_goes_on_in_place(story: Story) -> None:
    """F3: no copy then; and one as soon as anything is newer."""
    ids = await two_turns(story)
    await fork(story, ids[7], Update("booking", says("by hand")))
    update = (await story.view()).head
    assert not (await explain.replay(story.thread, update)).copies
    await again(story, update)
    assert [row.split()[1] for row in (await chain(story))[8:]] == ["update", "loop"]
    assert (await explain.replay(story.thread, update)).copies
    await again(story, update)
    assert [row.split()[1] for row in (await chain(story))[10:]] == ["fork", "loop"]


async def test_other_fields_are_told_as_python_says_them(guest: Guest) -> None:
    await guest.send("Hotels from 2026-12-05 for 2 nights")
    head = (await guest.view()).head
    told = explain.fork(guest.thread, head, [Update("agent", {"budget": None, "warnings": ["a 'quoted' one"]})])
    await execute(guest, told.python)
    assert '"budget": null' in told.requests[0] and "/state" in told.requests[0]
    graph = guest.engine.graph("concierge")
    newest = await graph.aget_state({"configurable": {"thread_id": str(guest.thread.pk)}})
    assert newest.values["warnings"] == ["a 'quoted' one"]
