"""A long transcript, stretch by stretch; and that nothing costs more because a thread is long or much forked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from branching import heads, transcript, window
from branching.exceptions import NoSuchMessage
from branching.models import Message, Thread
from branching.types import Stretch, ThreadView, Version
from tests.long import Line, plant

pytestmark = pytest.mark.django_db


def here(function: Any) -> Callable[..., Any]:
    """A function of the domain on this thread's connection, in the test's own transaction."""
    return function.func.__wrapped__


earlier, later, around = here(window.earlier), here(window.later), here(window.around)
switch, undo = here(heads.switch), here(heads.undo)


@pytest.fixture
def grow(alice: User) -> Callable[..., Line]:
    """A thread of Alice's with so many messages, and forks at these depths."""
    return lambda *args, **more: plant(Thread.objects.create(owner=alice, assistant="echo"), *args, **more)


def view(line: Line) -> ThreadView:
    return here(transcript.read)(line.thread.pk)


def depths(versions: Sequence[Version]) -> list[int]:
    return [version.depth for version in versions]


def page(line: Line) -> dict[str, Any]:
    return {"head_version": Thread.objects.get(pk=line.thread.pk).head_version}


class TestNewest:
    @pytest.mark.parametrize(
        ("length", "first"), [(1, 1), (59, 1), (60, 11), (61, 11), (69, 11), (70, 21), (1_000, 951)]
    )
    def test_it_is_the_last_fifty_and_up_to_nine_before(
        self, grow: Callable[..., Line], length: int, first: int
    ) -> None:
        line = grow(length)
        shown = view(line)
        assert depths(shown.versions) == list(range(first, length + 1))
        assert shown.above == (line.path[first - 2] if first > 1 else None)
        assert (shown.length, shown.places) == (length, length + length % 2)

    def test_it_begins_with_what_a_person_said(self, grow: Callable[..., Line]) -> None:
        line = grow(130)
        Message.objects.filter(pk__in=line.path[80:83]).update(kind="tool")
        assert depths(view(line).versions)[0] == 85
        assert depths(earlier(line.thread.pk, view(line).above).versions) == list(range(31, 85))

    def test_where_no_person_spoke_it_begins_where_it_would(self, grow: Callable[..., Line]) -> None:
        line = grow(130)
        Message.objects.filter(pk__in=line.path[80:110]).update(kind="tool")
        assert depths(view(line).versions)[0] == 81


class TestStretches:
    def test_scrolling_up_shows_every_message_once(self, grow: Callable[..., Line]) -> None:
        line = grow(340, forks=[1, 49, 50, 51, 200])
        shown, above = depths(view(line).versions), view(line).above
        while above:
            stretch = earlier(line.thread.pk, above)
            shown, above = [*depths(stretch.versions), *shown], stretch.above
        assert shown == list(range(1, 341))

    def test_whatever_the_kinds_of_the_messages(self, grow: Callable[..., Line]) -> None:
        line = grow(340)
        for start in (48, 97, 151, 249):
            Message.objects.filter(pk__in=line.path[start : start + 7]).update(kind="tool")
        shown, above = depths(view(line).versions), view(line).above
        while above:
            stretch = earlier(line.thread.pk, above)
            shown, above = [*depths(stretch.versions), *shown], stretch.above
        assert shown == list(range(1, 341))

    def test_from_the_middle_both_ways_lead_to_the_ends(self, grow: Callable[..., Line]) -> None:
        line = grow(600)
        shown, middle = view(line), line.path[299]
        stretch = around(shown, middle)
        assert middle in [version.pk for version in stretch.versions]
        seen = [*depths(stretch.versions)]
        above, below = stretch.above, stretch.below
        while below:
            stretch = later(line.thread.pk, below, to=shown.above)
            seen, below = [*seen, *depths(stretch.versions)], stretch.below
        while above:
            stretch = earlier(line.thread.pk, above)
            seen, above = [*depths(stretch.versions), *seen], stretch.above
        assert [*seen, *depths(shown.versions)] == list(range(1, 601))

    def test_near_the_window_there_is_no_gap_and_at_the_top_nothing_above(self, grow: Callable[..., Line]) -> None:
        line = grow(300)
        shown = view(line)
        assert around(shown, shown.above).below is None
        assert around(shown, line.path[3]).above is None

    def test_around_what_is_shown_there_is_nothing_to_add(self, grow: Callable[..., Line]) -> None:
        line = grow(300)
        assert around(view(line), line.path[-1]) is None

    def test_each_knows_its_place_wherever_it_stands(self, grow: Callable[..., Line]) -> None:
        line = grow(300, forks=[1, 2, 2, 299])
        first, second, *_ = earlier(line.thread.pk, line.path[40]).versions
        assert (first.position, first.total, first.next) == (1, 2, line.forks[0])
        assert (second.position, second.total, second.previous, second.next) == (1, 3, None, line.forks[1])
        assert [version.total for version in view(line).versions[-2:]] == [2, 1]

    def test_what_is_on_no_way_to_the_end_is_not_found(self, grow: Callable[..., Line]) -> None:
        line, other = grow(300, forks=[20]), grow(3)
        for find in (
            lambda: around(view(line), line.forks[0]),
            lambda: around(view(line), other.path[0]),
            lambda: earlier(line.thread.pk, other.path[0]),
            lambda: later(line.thread.pk, line.forks[0], to=view(line).above),
            lambda: later(line.thread.pk, line.path[0], to=other.path[2]),
        ):
            with pytest.raises(NoSuchMessage):
                find()


SHAPES: dict[str, Callable[[int], Sequence[int]]] = {
    "along the path": lambda length: range(2, length + 1, 2),
    "at the end": lambda length: [length] * (length // 2),
    "at the root": lambda length: [1] * (length // 2),
}


@pytest.mark.parametrize("shape", SHAPES)
class TestCost:
    """Cases 65 and 67: at 20 messages and at 2,000, with a fork for each second one."""

    @pytest.fixture
    def lines(self, grow: Callable[..., Line], shape: str) -> list[Line]:
        return [grow(length, forks=SHAPES[shape](length)) for length in (20, 2_000)]

    def test_opening(self, lines: list[Line]) -> None:
        same([lambda line=line: view(line) for line in lines], at_most=14)

    def test_going_to_a_version_and_back(self, lines: list[Line]) -> None:
        for to in (lambda line: line.forks[-1], lambda line: beside(line.forks[-1])):
            pages = [page(line) for line in lines]
            same(
                [lambda line=line, more=more, to=to: switch(line.thread.pk, message=to(line), **more)
                 for line, more in zip(lines, pages, strict=True)],
                at_most=22,
            )  # fmt: skip
        assert [view(line).head for line in lines] == [f"{line.path[-1]}" for line in lines]

    def test_undo(self, lines: list[Line]) -> None:
        for line in lines:
            switch(line.thread.pk, message=line.forks[-1], **page(line))
        pages = [page(line) for line in lines]
        same(
            [lambda line=line, more=more: undo(line.thread.pk, **more)
             for line, more in zip(lines, pages, strict=True)],
            at_most=19,
        )  # fmt: skip
        assert [view(line).head for line in lines] == [f"{line.path[-1]}" for line in lines]

    def test_fetching_what_comes_before(self, lines: list[Line]) -> None:
        same([lambda line=line: earlier(line.thread.pk, line.path[15]) for line in lines], at_most=3)

    def test_landing_in_the_middle(self, lines: list[Line]) -> None:
        long = lines[1]
        shown = view(long)
        found: list[Stretch] = []
        same([lambda pk=pk: found.append(around(shown, pk)) for pk in (long.path[60], long.path[1_000])], at_most=7)
        assert all(stretch.above and stretch.below for stretch in found)


def beside(pk: int) -> int:
    """The first of a message's siblings."""
    row = Message.objects.get(pk=pk)
    return Message.objects.filter(thread=row.thread, parent=row.parent_id).earliest("pk").pk


def same(works: Sequence[Callable[[], object]], *, at_most: int) -> None:
    """Each of the works asks the database equally often."""
    counts = []
    for work in works:
        with CaptureQueriesContext(connection) as queries:
            work()
        counts.append(
            len([each for each in queries if each["sql"].split()[0] in ("SELECT", "UPDATE", "INSERT", "WITH")])
        )
    assert len(set(counts)) == 1 and counts[0] <= at_most, counts
