"""Where it went wrong is found by node, error or state; what is found is the checkpoint before that step."""

from __future__ import annotations

from typing import Any

import pytest

from branching import finding
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
