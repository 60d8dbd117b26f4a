"""The map of a thread: all its messages as a tree, in which one finds a version again and goes there.

What only carries on is left out: steps of tools, and long stretches without a branch, which unfold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from django.db.models.functions import Left

from branching import actions, fulltext, lanes
from branching.database import on_database
from branching.lanes import Place
from branching.models import IndexedCheckpoint, Message, Run, Thread
from branching.types import Kind

GIST = 120
"""Characters of a message that the map shows."""

STRETCH = 6
"""As many messages in one line as this are folded."""

State = Literal["", "waiting", "failed", "stopped", "unanswered"]


@dataclass(frozen=True)
class Spot:
    """A message on the map, or several that are folded."""

    pk: int
    """Of the message, or of the first of them."""
    parent: int | None
    """The pk of the spot that it grew from."""
    first_child: int | None
    kind: Kind
    gist: str
    label: str
    position: int
    total: int
    state: State
    is_head: bool
    """Whether what is shown ends here."""
    on_path: bool
    is_hit: bool
    """Whether it says what was looked for."""
    created_at: datetime
    place: Place
    count: int = 1
    """How many messages: more than one where they are folded."""

    @property
    def mark(self) -> str:
        """What it is drawn as."""
        if self.is_head:
            return "head"
        if self.state in ("failed", "waiting"):
            return self.state
        return "step" if self.first_child else "tip"


@dataclass(frozen=True)
class Chart:
    """The map, from the first messages on, each branch below where it begins."""

    spots: Sequence[Spot]
    width: int
    """How many lanes it takes to draw it."""
    messages: int
    """How many messages there are in all."""

    @property
    def hits(self) -> list[int]:
        """The spots that say what was looked for."""
        return [spot.pk for spot in self.spots if spot.is_hit]


class _Row(NamedTuple):
    pk: int
    parent: int | None
    kind: Kind
    gist: str
    label: str
    stopped: bool | None
    call: str | None
    created_at: datetime


@dataclass
class _Tree:
    """The messages that the map is about, with what carries on taken out."""

    rows: dict[int, _Row]
    states: dict[int, State]
    head: int | None
    hits: Collection[int]
    parents: dict[int, int | None] = field(default_factory=dict)
    children: dict[int | None, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.parents = {pk: row.parent for pk, row in self.rows.items()}
        self._relate()
        self.siblings = {pk: (at, len(each)) for each in self.children.values() for at, pk in enumerate(each, 1)}
        self.path = set(self._up(self.head))
        for pk in [pk for pk in self.rows if self._only_carries_on(pk)]:
            self.take_out(pk)

    def _relate(self) -> None:
        self.children = {}
        for pk, parent in self.parents.items():
            self.children.setdefault(parent, []).append(pk)

    def take_out(self, pk: int) -> None:
        """Let its one child stand in its place."""
        [child] = self.children.pop(pk)
        parent = self.parents.pop(pk)
        self.parents[child] = parent
        self.children[parent] = [child if each == pk else each for each in self.children[parent]]

    def is_alone(self, pk: int) -> bool:
        """Whether nothing is to be told of it but that it is between two others."""
        told = pk in self.states or pk in self.hits or pk == self.head or self.rows[pk].label
        return not told and self.siblings[pk][1] == 1 and len(self.children.get(pk, ())) == 1

    def _only_carries_on(self, pk: int) -> bool:
        row = self.rows[pk]
        is_step = row.kind == "tool" or (row.kind == "ai" and not row.gist.strip())
        return is_step and self.is_alone(pk)

    def _up(self, pk: int | None) -> Iterator[int]:
        while pk is not None:
            yield pk
            pk = self.rows[pk].parent

    def walk(self) -> Iterator[int]:
        """Each branch to its end before the next one."""
        waiting = list(reversed(self.children.get(None, ())))
        while waiting:
            pk = waiting.pop()
            yield pk
            waiting += reversed(self.children.get(pk, ()))


@on_database
def draw(thread_id: UUID, *, query: str = "", unfolded: Collection[int] = ()) -> Chart:
    """The map of the thread. What says the words of `query` is marked; `unfolded` names stretches by their first."""
    hits = _hits(thread_id, query)
    tree = _tree(thread_id, hits)
    count = len(tree.rows)
    folded = _fold(tree, unfolded)
    order = list(tree.walk())
    places = lanes.draw((pk, tree.parents[pk], pk in tree.path) for pk in reversed(order))
    spots = [_spot(tree, pk, places[pk], folded.get(pk, 1)) for pk in order]
    return Chart(spots, max((place.width for place in places.values()), default=0), count)


def _tree(thread_id: UUID, hits: Collection[int]) -> _Tree:
    rows = Message.objects.filter(thread_id=thread_id, deletion=None).order_by("pk").annotate(gist=Left("text", GIST))
    columns = ("pk", "parent_id", "kind", "gist", "label", "data__stopped", "data__tool_calls__0__name", "created_at")
    found = {row[0]: _Row(*row) for row in rows.values_list(*columns).iterator()}
    return _Tree(found, _states(thread_id, found), _head(thread_id), hits)


def _head(thread_id: UUID) -> int | None:
    head = Thread.objects.filter(pk=thread_id).values("head")
    rows = IndexedCheckpoint.objects.filter(thread_id=thread_id, checkpoint_id__in=head)
    return rows.values_list("message_id", flat=True).first()


def _states(thread_id: UUID, rows: dict[int, _Row]) -> dict[int, State]:
    """What there is to say of a message beside its text."""
    parents = {row.parent for row in rows.values()}
    found: dict[int, State] = {}
    for row in rows.values():
        if row.stopped:
            found[row.pk] = "stopped"
        elif row.kind == "human" and row.pk not in parents:
            found[row.pk] = "unanswered"
    known = IndexedCheckpoint.objects.filter(thread_id=thread_id).values_list("message_id", flat=True)
    failed = Run.objects.filter(thread_id=thread_id, status=Run.Status.FAILED).values("tip")
    asked = actions.open_questions().filter(thread_id=thread_id).values("checkpoint_id")
    found |= {pk: "failed" for pk in known.filter(checkpoint_id__in=failed) if pk and pk not in parents}
    return found | {pk: "waiting" for pk in known.filter(checkpoint_id__in=asked) if pk}


def _hits(thread_id: UUID, query: str) -> set[int]:
    terms = fulltext.terms_of(query)
    if not terms:
        return set()
    rows = Message.objects.filter(thread_id=thread_id, deletion=None)
    called = rows.exclude(label="")
    for term in terms:
        called = called.filter(label__icontains=term)
    return {*fulltext.matching(rows, terms).values_list("pk", flat=True), *called.values_list("pk", flat=True)}


def _fold(tree: _Tree, unfolded: Collection[int]) -> dict[int, int]:
    """Leave of each long stretch its first message, and say for how many it stands."""
    folded, stretch = {}, []
    for pk in [*tree.walk(), None]:
        if pk is not None and tree.is_alone(pk) and (not stretch or tree.parents[pk] == stretch[-1]):
            stretch.append(pk)
            continue
        if len(stretch) >= STRETCH and stretch[0] not in unfolded:
            for each in stretch[1:]:
                tree.take_out(each)
            folded[stretch[0]] = len(stretch)
        stretch = [pk] if pk is not None and tree.is_alone(pk) else []
    return folded


def _spot(tree: _Tree, pk: int, place: Place, count: int) -> Spot:
    row = tree.rows[pk]
    position, total = tree.siblings[pk]
    return Spot(
        pk=pk,
        parent=tree.parents[pk],
        first_child=next(iter(tree.children.get(pk, ())), None),
        kind=row.kind,
        gist=row.gist or (f"→ {row.call}" if row.call else ""),
        label=row.label,
        position=position,
        total=total,
        state=tree.states.get(pk, ""),
        is_head=pk == tree.head,
        on_path=pk in tree.path,
        is_hit=pk in tree.hits,
        created_at=row.created_at,
        place=place,
        count=count,
    )
