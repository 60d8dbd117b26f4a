"""Remembered places and short cuts through the tree, beside what plain loops over all messages say."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest
from django.contrib.auth.models import User

from branching import ancestry, places
from branching.models import Message, Thread

pytestmark = pytest.mark.django_db


@dataclass
class Forest:
    """The messages of a thread, and for each the child that was shown after it when it was last on screen."""

    thread: Thread
    rows: list[Message] = field(default_factory=list)
    shown: dict[int, int | None] = field(default_factory=dict)
    head: Message | None = None

    def add(self, parent: Message | None) -> Message:
        depth = parent.depth + 1 if parent else 1
        row = Message(thread=self.thread, parent=parent, depth=depth, path=str(len(self.rows)), kind="human")
        row.jump_id = ancestry.jump_from(parent)
        row.save()
        self.rows.append(row)
        return row

    def path(self, to: Message | None) -> list[Message]:
        return [*self.path(to.parent), to] if to else []

    def go(self, to: Message | None) -> None:
        places.leave(self.head, to)
        self.head = to
        path = [row.pk for row in self.path(to)]
        self.shown |= dict(zip(path, [*path[1:], None], strict=False))

    def back_to(self, row: Message) -> int:
        pk = row.pk
        while self.shown.get(pk):
            pk = self.shown[pk]
        return pk

    def grow(self, parent: Message | None) -> None:
        """A message comes while HEAD stays where it is."""
        row = self.add(parent)
        places.grow(row, self.head)
        if parent and parent != self.head and self.shown.get(parent.pk) is None:
            self.shown[parent.pk] = row.pk

    def is_sound(self) -> bool:
        rows = {row.pk: row for row in Message.objects.filter(thread=self.thread)}
        return not list(places.astray(rows, self.head.pk if self.head else None))


@pytest.fixture
def forest(alice: User) -> Forest:
    return Forest(Thread.objects.create(owner=alice, assistant="echo"))


@pytest.mark.parametrize("seed", range(6))
def test_whatever_moves_one_comes_back_to_where_one_left(forest: Forest, seed: int) -> None:
    """`how` makes some trees long and thin, some broad."""
    chance = random.Random(seed)
    how = chance.random()
    for _ in range(120):
        newest = forest.rows[-1] if forest.rows else None
        parent = newest if chance.random() < how else chance.choice([*forest.rows, None])
        match chance.choice(["send", "send", "grow", "go", "go", "return"]):
            case "send":
                forest.go(forest.add(forest.head if chance.random() < how else parent))
            case "grow":
                forest.grow(parent)
            case "go":
                forest.go(chance.choice([*forest.rows, None]))
            case "return" if forest.rows:
                row = chance.choice(forest.rows)
                forest.go(places.back_to(row, forest.head))
        looked_at = chance.sample(forest.rows, min(5, len(forest.rows)))
        assert [places.back_to(row, forest.head).pk for row in looked_at] == list(map(forest.back_to, looked_at))
    assert [places.back_to(row, forest.head).pk for row in forest.rows] == list(map(forest.back_to, forest.rows))
    assert forest.is_sound()


def test_what_came_unseen_on_top_of_a_remembered_path_joins_it(forest: Forest) -> None:
    """
    a ── b ── c    one stopped at a by undo, then went to x; b's run goes on and says that it has got to c, then to b
    x
    """
    a = forest.add(None)
    c = forest.add(forest.add(a))
    forest.go(c)
    forest.go(a)
    forest.go(forest.add(None))
    places.grow(c.parent, forest.head)
    assert places.back_to(a, forest.head) == c
    assert forest.is_sound()


@pytest.mark.parametrize("seed", range(3))
def test_ancestors_and_partings_are_those_of_a_walk_step_by_step(forest: Forest, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(150):
        newest = forest.rows[-1] if forest.rows else None
        forest.add(newest if chance.random() < 0.9 else chance.choice([*forest.rows, None]))
    for _ in range(150):
        a, b = chance.choice([*forest.rows, None]), chance.choice([*forest.rows, None])
        to_a, to_b = ([row.pk for row in forest.path(row)] for row in (a, b))
        together = sum(x == y for x, y in zip(to_a, to_b, strict=False))
        assert ancestry.parting(a, b) == (next(iter(to_a[together:]), None), next(iter(to_b[together:]), None))
        if a:
            depth = chance.randint(1, a.depth + 1)
            assert ancestry.ancestor(a, depth) == next(iter(to_a[depth - 1 : depth]), None)
            assert sorted(ancestry.path(a, depth)) == to_a[min(depth, a.depth) - 1 :]
            assert ancestry.is_on_the_way(a, b) == (a.pk in to_b)


def test_a_jump_clears_the_lowest_bit_of_the_depth(forest: Forest) -> None:
    last = None
    for _ in range(70):
        last = forest.add(last)
    depths = {row.pk: row.depth for row in forest.rows}
    assert [depths.get(row.jump_id, 0) for row in forest.rows] == [depth & (depth - 1) for depth in range(1, 71)]


def test_the_longest_way_takes_few_steps(forest: Forest) -> None:
    """From 2^k - 1 to any depth, counted as the query counts them."""
    most = 0
    for wanted in range(1, 4096, 7):
        depth, steps = 4095, 0
        while depth > wanted:
            jump = depth & (depth - 1)
            depth, steps = (jump if jump >= wanted else depth - 1), steps + 1
        most = max(most, steps)
    assert most <= 12 * 13 / 2
