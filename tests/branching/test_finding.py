"""Where it went wrong is found by node, error or state; what is found is the checkpoint before that step."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from branching import finding
from branching.database import on_database
from branching.exceptions import NoSuchCheckpoint
from branching.finding import Condition, value_of
from branching.models import IndexedCheckpoint
from tests.branching.conftest import Story
from tests.branching.test_listing import branched

pytestmark = pytest.mark.django_db(transaction=True)


async def numbers(story: Story) -> dict[str, int]:
    rows = IndexedCheckpoint.objects.filter(thread=story.thread).order_by("pk")
    return {name: at async for at, name in _enumerated(rows.values_list("checkpoint_id", flat=True))}


async def _enumerated(rows: Any) -> Any:
    at = 0
    async for row in rows:
        yield at, row
        at += 1


async def test_by_node_every_place_where_it_comes_next_is_found(story: Story) -> None:
    """
    0 ── 1 ── 2 ─┬─ 3 ── 4 ── 5 ── 6 ── 7     reply is next at 2, 6 and 8
                 └─ 8 ── 9
    """
    await branched(story)
    number = await numbers(story)
    found = await finding.by_node(story.thread.pk, "reply", limit=50)
    assert [number[hit.row.id] for hit in found.hits] == [8, 6, 2]
    first = await finding.by_node(story.thread.pk, "reply", limit=2)
    rest = await finding.by_node(story.thread.pk, "reply", before=first.more, limit=2)
    assert [number[hit.row.id] for hit in (*first.hits, *rest.hits)] == [8, 6, 2] and rest.more is None


async def test_case_12_by_error_the_checkpoint_before_the_failed_step_is_found_on_its_branch(chat: Story) -> None:
    """
    q1 ── (failed) ── a1 (retried)
    """
    await chat.send("/fail 1")
    await chat.resume()
    found = await finding.by_error(chat.engine, chat.thread.pk, "SERVER HAD an error")
    assert [hit.row.next for hit in found.hits] == [["model"]]
    assert "server had an error" in found.hits[0].detail
    assert not (await finding.by_error(chat.engine, chat.thread.pk, "no such words")).hits
    assert len((await finding.by_error(chat.engine, chat.thread.pk, "")).hits) == 1


async def test_by_state_the_step_is_found_from_which_on_it_says_so(story: Story) -> None:
    """
    0 ── 1 ── 2 ─┬─ 3 ── 4 ── 5 ── 6 ── 7
                 └─ 8 ── 9
    """
    await branched(story)
    number = await numbers(story)
    condition = Condition("messages", "contains", "h2")
    found = await finding.by_state(story.engine, story.thread.pk, condition)
    assert [(number[hit.row.id], number[hit.after]) for hit in found.hits] == [(4, 5)]
    replies = await finding.by_state(story.engine, story.thread.pk, Condition("messages", "contains", "回复：h1"))
    assert [(number[hit.row.id], number[hit.after]) for hit in replies.hits] == [(8, 9), (2, 3)]
    assert [hit.row.on_path for hit in replies.hits] == [True, True]


async def test_so_many_states_are_read_and_the_rest_when_one_looks_further(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    await branched(story)
    number = await numbers(story)
    monkeypatch.setattr(finding, "AT_ONCE", 3)
    seen, before, times = [], None, 0
    while times == 0 or before:
        found = await finding.by_state(
            story.engine, story.thread.pk, Condition("messages", "contains", "h1"), before=before
        )
        seen += [number[hit.row.id] for hit in found.hits]
        before, times = found.more, times + 1
    assert (seen, times) == ([0], 4)


async def test_what_is_of_another_thread_is_no_place_to_look_further_from(story: Story, chat: Story) -> None:
    await story.send("h1")
    await chat.send("q1")
    elsewhere = (await numbers(chat)).keys()
    for name in elsewhere:
        with pytest.raises(NoSuchCheckpoint):
            await finding.by_error(story.engine, story.thread.pk, "", before=name)


@pytest.mark.parametrize(
    ("value", "operator", "typed", "holds"),
    [
        (3, "is", "3", True),
        (3, "is", "3.0", True),
        (True, "is", "1", False),
        ("3", "is", "3", False),
        ("3", "is", '"3"', True),
        (None, "is", "null", True),
        ([1], "is", "[1]", True),
        (3, "is-not", "4", True),
        (3, "greater", "2.5", True),
        ("b", "greater", "a", True),
        (3, "greater", "a", False),
        (True, "less", "2", False),
        ("Hello", "contains", "ell", True),
        (["a", "b"], "contains", "a", True),
        ([{"content": "In French"}], "contains", "french", True),
        ([{"id": "french"}], "contains", "french", False),
        ({"days": 2}, "contains", "days", True),
        (5, "contains", "5", False),
    ],
)
def test_a_condition_compares_what_can_be_compared(value: Any, operator: Any, typed: str, holds: bool) -> None:
    assert Condition("field", operator, value_of(typed)).holds(value) is holds


async def test_what_is_shown_of_a_list_is_what_was_looked_for(story: Story) -> None:
    await story.send("the first\nof all")
    found = await finding.by_state(story.engine, story.thread.pk, Condition("messages", "contains", "FIRST"))
    assert [hit.detail for hit in found.hits] == ["the first\nof all"]


async def test_a_search_that_takes_long_stops_and_says_how_far_it_has_come(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    await branched(story)
    number = await numbers(story)
    monkeypatch.setattr(finding, "PATIENCE", 0)
    monkeypatch.setattr(finding, "TOGETHER", 4)
    found = await finding.by_state(story.engine, story.thread.pk, Condition("messages", "contains", "h2"))
    assert (found.looked_at, number[found.more], found.hits) == (4, 6, ())
    rest = await finding.by_state(
        story.engine, story.thread.pk, Condition("messages", "contains", "h2"), before=found.more
    )
    assert [number[hit.row.id] for hit in rest.hits] == [4]


async def test_more_checkpoints_than_one_search_looks_at_take_no_more_queries(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "AT_ONCE", 8)
    monkeypatch.setattr(finding, "TOGETHER", 4)
    condition = Condition("messages", "contains", "h1")

    def queries() -> list[int]:
        searches = (
            lambda: finding.by_error.func(story.engine, story.thread.pk, "nothing"),
            lambda: finding.by_state.func(story.engine, story.thread.pk, condition),
            lambda: finding.by_node.func(story.thread.pk, "reply", limit=5),
        )
        counts = []
        for search in searches:
            with CaptureQueriesContext(connection) as captured:
                search()
            counts.append(len(captured))
        return counts

    await story.send("h1")
    await story.send("h2")
    await story.send("h3")
    few = await on_database(queries)()
    for at in range(4, 10):
        await story.send(f"h{at}")
    many = await on_database(queries)()
    # How many a state takes depends on which pieces are at hand.
    assert (many[0], many[2]) == (few[0], few[2]) == (3, 1)
    assert max(few[1], many[1]) <= 24
