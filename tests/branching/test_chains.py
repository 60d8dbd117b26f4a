"""The chains of checkpoints that the commands leave, on the Echo graph, where each of them can be predicted."""

from __future__ import annotations

import pytest

from branching import history
from tests.branching.conftest import Story

pytestmark = pytest.mark.django_db(transaction=True)

TWO_TURNS = """
    0 input  -1 __start__  -
    1 loop    0 booking    0
    2 loop    1 reply      1
    3 loop    2 -          2
    4 input   3 __start__  3
    5 loop    4 booking    4
    6 loop    5 reply      5
    7 loop    6 -          6
"""


async def chain(story: Story) -> list[str]:
    """Each checkpoint, oldest first, as "number source step next number-of-its-parent"."""
    checkpoints = (await history.read_all(story.engine.graph("echo"), story.thread.pk))[::-1]
    number = {each.id: str(at) for at, each in enumerate(checkpoints)}
    return [
        f"{number[each.id]} {each.source} {each.step} {','.join(each.next) or '-'} {number.get(each.parent_id, '-')}"
        for each in checkpoints
    ]


def drawn(table: str) -> list[str]:
    return [" ".join(line.split()) for line in table.strip().splitlines()]


async def test_two_turns_make_eight_checkpoints(story: Story) -> None:
    await story.send("h1")
    await story.send("h2")
    assert await chain(story) == drawn(TWO_TURNS)


async def test_regenerating_the_first_reply_makes_ten(story: Story) -> None:
    """The replay starts with a fork copy of 2 and runs `reply` alone."""
    await story.send("h1")
    await story.send("h2")
    first_reply = (await story.view()).versions[1]
    await story.replay(first_reply)
    assert await chain(story) == drawn(TWO_TURNS + "8 fork 2 reply 2\n 9 loop 3 - 8")


async def test_editing_the_first_message_and_running_it_then_makes_thirteen(story: Story) -> None:
    """The update grows from the root as `__start__`, so that `booking` runs too."""
    await story.send("h1")
    await story.send("h2")
    await story.replay((await story.view()).versions[1])
    await story.edit((await story.view()).versions[0], "h1'", answer=False)
    added = ["8 fork 2 reply 2", "9 loop 3 - 8", "10 update 0 booking 0"]
    assert await chain(story) == drawn(TWO_TURNS) + added
    await story.resume()
    assert await chain(story) == drawn(TWO_TURNS) + [*added, "11 loop 1 reply 10", "12 loop 2 - 11"]


async def test_switching_makes_none(story: Story) -> None:
    await story.send("h1")
    await story.replay((await story.view()).versions[1])
    before = await chain(story)
    view = await story.switch((await story.view()).versions[1].previous)
    assert (view.versions[1].position, view.versions[1].total) == (1, 2)
    assert await chain(story) == before


async def test_old_branches_stay_message_for_message(story: Story) -> None:
    """
    h1 ── a1 ── h2 ── a2
       └─ a1'
    h1'── b1
    """
    await story.send("h1")
    await story.send("h2")
    old = [(each.message_id, each.text) for each in (await story.view()).versions]
    await story.replay((await story.view()).versions[1])
    await story.edit((await story.view()).versions[0], "h1'")
    assert [each.text for each in (await story.view()).versions] == ["h1'", "回复：h1'"]
    await story.switch((await story.view()).versions[0].previous)
    view = await story.switch((await story.view()).versions[1].previous)
    assert [(each.message_id, each.text) for each in view.versions] == old
