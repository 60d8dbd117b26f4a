"""The list by turns: one line for each end of a turn, and lanes that say which turn grew from which."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from branching import listing, turns
from branching.database import on_database
from branching.exceptions import NoSuchCheckpoint
from branching.listing import Sieve
from tests.branching.conftest import Story, answers
from tests.branching.models import Scripted
from tests.branching.test_listing import branched, multiply

pytestmark = pytest.mark.django_db(transaction=True)


async def test_each_turn_is_a_line_with_the_steps_before_it(story: Story) -> None:
    """
    * a1' (HEAD), after 1 copy and 2 steps of the first turn
    | o a2
    | o a1
    |/
    (the first turn's steps)
    """
    await branched(story)
    folded = await turns.fold(story.thread.pk, limit=50)
    assert [(row.gist[:6], row.folded, row.is_head) for row in folded.rows] == [
        ("回复：h1", 4, True),
        ("回复：h2 ", 3, False),
        ("回复：h1", 3, False),
    ]
    assert [folded.places[row.id].lane for row in folded.rows] == [0, 1, 1]
    assert folded.places[folded.rows[1].id].goes_on and not folded.places[folded.rows[2].id].goes_on


async def test_what_waits_for_its_reply_is_a_line_too(chat: Story) -> None:
    answers(chat, Scripted(replies=("a1",)))
    await chat.send("q1")
    await chat.edit(await chat.version(0), "q1'", answer=False)
    folded = await turns.fold(chat.thread.pk, limit=50)
    assert [(row.gist, row.is_head) for row in folded.rows] == [("q1'", True), ("a1", False)]


async def test_page_by_page_it_is_the_same_list(story: Story) -> None:
    await branched(story)
    whole = await turns.fold(story.thread.pk, limit=50)
    pages, before = [], None
    while part := (await turns.fold(story.thread.pk, before=before, limit=1)).rows:
        pages += part
        before = part[-1].id
    assert pages == whole.rows


async def test_every_end_of_the_tree_is_in_it(story: Story) -> None:
    await branched(story)
    tips = {row.id for row in await listing.checkpoints(story.thread.pk) if row.is_tip}
    assert tips <= {row.id for row in (await turns.fold(story.thread.pk, limit=50)).rows}


async def test_two_thousand_checkpoints_take_the_queries_of_ten(story: Story) -> None:
    await branched(story)

    def counted() -> int:
        with CaptureQueriesContext(connection) as queries:
            turns.fold.func(story.thread.pk, limit=50)
        return len(queries)

    few = await on_database(counted)()
    await on_database(multiply)(story, 2_000)
    assert await on_database(counted)() == few <= 6
    story.is_sound = False  # these checkpoints stand in the index alone


async def test_one_turn_unfolds_where_it_stands(story: Story) -> None:
    """
    0 ── 1 ── 2 ─┬─ 3 ── 4 ── 5 ── 6 ── 7     7 with 4, 5, 6 unfolded; 9 and 3 as they were
                 └─ 8 ── 9
    """
    await branched(story)
    known = [row.id for row in await listing.checkpoints(story.thread.pk)][::-1]
    opened = await turns.fold(story.thread.pk, limit=50, opened=known[7])
    assert [known.index(row.id) for row in opened.rows] == [9, 7, 6, 5, 4, 3]
    assert [row.folded for row in opened.rows] == [4, 0, 0, 0, 0, 3]
    with pytest.raises(NoSuchCheckpoint):
        await turns.fold(story.thread.pk, limit=50, opened="nothing")


async def test_the_turns_of_one_branch_are_those_that_lead_to_its_end(story: Story) -> None:
    await branched(story)
    known = [row.id for row in await listing.checkpoints(story.thread.pk)][::-1]
    for sieve, ends in (
        (Sieve(tip=known[7]), [7, 3]),
        (Sieve(on_path=True), [9]),
        (Sieve(tip=known[7], on_path=True), []),
        (Sieve(tip=known[5]), [5, 3]),
    ):
        folded = await turns.fold(story.thread.pk, limit=50, sieve=sieve)
        assert [known.index(row.id) for row in folded.rows] == ends
    with pytest.raises(NoSuchCheckpoint):
        await turns.fold(story.thread.pk, limit=50, sieve=Sieve(tip="nothing"))
