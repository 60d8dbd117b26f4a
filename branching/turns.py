"""The checkpoints of a thread by turns: those that a person saw the end of, with the steps on the way folded into them.

What stays is where the graph had ended, where nothing has grown from yet, and HEAD.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from uuid import UUID

from branching import index, lanes, listing
from branching.database import on_database
from branching.lanes import Place
from branching.listing import SIEVE, Sieve
from branching.models import IndexedCheckpoint, Thread
from branching.types import ListedCheckpoint


@dataclass(frozen=True)
class Folded:
    """A part of the list by turns, the newest first."""

    rows: list[ListedCheckpoint]
    """With `folded`, the checkpoints between each and the turn before it."""
    places: dict[str, Place]
    """Where each stands in the drawing of the turns of the whole thread."""


@on_database
def fold(thread_id: UUID, *, before: str | None = None, limit: int, sieve: Sieve = SIEVE, opened: str = "") -> Folded:
    """No more than so many turns, those that `sieve` lets pass, which leaves no gaps; with `before` those that came
    before that checkpoint.

    What is folded into `opened` is listed with them. Raises `NoSuchCheckpoint` where one of these names none.
    """
    for named in filter(None, (before, opened, sieve.tip)):
        index.checkpoint_of(thread_id, named)
    parents = _parents(thread_id)
    head = Thread.objects.values_list("head", flat=True).get(pk=thread_id)
    kept = _kept(thread_id, parents) | {each for each in (head, sieve.tip) if each in parents}
    if opened in kept:
        kept |= set(_up(parents[opened], parents, kept))
    above = {each: _nearest(each, parents, kept) for each in kept}
    on_path = set(_up(head, parents))
    names = [each for each in reversed(parents) if each in kept]
    if sieve.on_path or sieve.tip:
        passing = set(_up(sieve.tip or head, parents))
        passing &= on_path if sieve.on_path else passing
        names = [each for each in names if each in passing]
    drawn = lanes.draw((each, above[each][0], each in on_path) for each in names)
    if before is not None:
        order = {name: at for at, name in enumerate(parents)}
        names = [each for each in names if order[each] < order[before]]
    names = list(islice(names, limit))
    rows = [replace(row, folded=above[row.id][1]) for row in listing.some(thread_id, checkpoint_id__in=names)]
    return Folded(rows, {each: drawn[each] for each in names})


def _parents(thread_id: UUID) -> dict[str, str | None]:
    rows = IndexedCheckpoint.objects.filter(thread_id=thread_id).order_by("pk")
    return dict(rows.values_list("checkpoint_id", "parent_id"))


def _kept(thread_id: UUID, parents: Mapping[str, str | None]) -> set[str]:
    rows = IndexedCheckpoint.objects.filter(thread_id=thread_id)
    grown = set(parents.values())
    ended = set(rows.filter(next=[]).values_list("checkpoint_id", flat=True))
    return ended | {each for each in parents if each not in grown}


def _nearest(name: str, parents: Mapping[str, str | None], kept: set[str]) -> tuple[str | None, int]:
    """The turn that this one grew from, and how many checkpoints lie between."""
    way = list(_up(parents[name], parents, kept))
    last = way[-1] if way else None
    return (last, len(way) - 1) if last in kept else (None, len(way))


def _up(name: str | None, parents: Mapping[str, str | None], stop: Container[str] = ()) -> list[str]:
    """The checkpoint and those it grew from, up to the first one in `stop`."""
    way = []
    while name in parents:
        way.append(name)
        if name in stop:
            break
        name = parents[name]
    return way
