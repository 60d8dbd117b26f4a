"""Checkpoints as lanes: the drawing says who grew from whom."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from branching import lanes
from branching.lanes import Place


def drawn(*rows: str) -> dict[str, Place]:
    """Lines "id parent", the newest first; a star is on the visible path."""
    split = [row.replace("*", "").split() for row in rows]
    return lanes.draw(
        (words[0], words[1] if len(words) > 1 else None, "*" in row) for words, row in zip(split, rows, strict=True)
    )


def test_one_line_is_one_lane() -> None:
    assert drawn("c b *", "b a *", "a *") == {
        "c": Place(0, (), (), True), "b": Place(0, (), (0,), True), "a": Place(0, (), (0,), False),
    }  # fmt: skip


def test_a_branch_that_is_not_shown_stands_beside_until_it_meets_its_parent() -> None:
    """
    *   d (HEAD)
    | o c
    | o b
    |/
    *   a
    """
    assert drawn("d a *", "c b", "b a", "a *") == {
        "d": Place(0, (), (), True),
        "c": Place(1, (0,), (), True),
        "b": Place(1, (0,), (1,), True),
        "a": Place(0, (), (0, 1), False),
    }


def test_the_first_lane_is_kept_for_what_is_shown_though_it_is_older() -> None:
    found = drawn("d c", "c a", "b a *", "a *")
    assert [place.lane for place in found.values()] == [1, 1, 0, 0]
    assert (found["a"].joining, found["a"].width) == ((0, 1), 2)


def test_a_lane_that_has_ended_is_used_again() -> None:
    found = drawn("f e *", "e d *", "x e", "d c *", "y d", "c *")
    assert (found["x"].lane, found["y"].lane) == (1, 2)
    found = drawn("f e *", "x e", "e d *", "y d", "d *")
    assert (found["x"].lane, found["y"].lane) == (1, 1)


def test_what_grew_from_a_checkpoint_that_is_gone_begins_a_lane_of_its_own() -> None:
    assert drawn("b", "a *") == {"b": Place(1, (), (), False), "a": Place(0, (), (), False)}


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 10_000), max_size=60), st.integers(0, 10_000))
def test_whatever_the_tree_each_line_leads_from_child_to_parent(picks: list[int], head: int) -> None:
    parents: list[int | None] = [None, *(pick % (number + 1) for number, pick in enumerate(picks))]
    path, at = set(), head % len(parents)
    while at is not None:
        path.add(at)
        at = parents[at]
    rows = [
        (str(each), None if parents[each] is None else str(parents[each]), each in path) for each in range(len(parents))
    ]
    places = lanes.draw(rows[::-1])
    follows: dict[int, str] = {}
    for name, parent, _ in rows[::-1]:
        place = places[name]
        assert set(place.passing) | set(place.joining) == set(follows)
        assert all(follows.pop(lane) == name for lane in place.joining)
        if parent is not None:
            assert place.lane not in follows
            follows[place.lane] = parent
    assert not follows


def test_those_that_are_asked_for_stand_where_they_stand_among_all() -> None:
    rows = [("d", "a", True), ("c", "b", False), ("b", "a", False), ("a", None, True)]
    every = lanes.draw(rows)
    assert lanes.draw(rows, {"b"}) == {"b": every["b"]}
    assert lanes.draw(rows[:3]) == {name: every[name] for name in "dcb"}
