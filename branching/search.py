"""Finding what was said, on whichever branch of one's threads it was said."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from branching import ancestry, fulltext
from branching.database import on_database
from branching.models import IndexedCheckpoint, Message, Thread
from branching.types import Kind

ON_A_PAGE = 30
AROUND = 90
"""How many characters of a message are shown on each side of what was found."""

Piece = tuple[str, bool]
"""A part of a text, and whether it is what was looked for."""


@dataclass(frozen=True)
class Hit:
    """A message that holds what was looked for."""

    thread_id: UUID
    title: str
    """The thread's."""
    head_version: int
    assistant: str
    message: int
    """Its pk: where a switch leads."""
    kind: Kind
    label: str
    """What the version is called."""
    pieces: Sequence[Piece]
    on_branch: bool
    """Whether it is on the version that its thread shows."""
    created_at: datetime


@dataclass(frozen=True)
class Found:
    """A page of hits, the newest first."""

    hits: Sequence[Hit]
    before: int | None
    """What to ask for to see the next page; None on the last one."""


@on_database
def find(owner: Any, query: str, *, before: int | None = None) -> Found:
    """The messages of the owner that hold all words and "quoted phrases" of the query; none for an empty one.

    Before them on the first page the versions that are called so.
    """
    terms = fulltext.terms_of(query)
    if not terms:
        return Found((), None)
    owned = Message.objects.filter(thread__owner=owner, deletion=None).select_related("thread").order_by("-pk")
    rows = fulltext.matching(owned, terms)
    if before:
        rows = rows.filter(pk__lt=before)
    page = list(rows[: ON_A_PAGE + 1])
    more = page[ON_A_PAGE - 1].pk if len(page) > ON_A_PAGE else None
    found = dict.fromkeys([*([] if before else _called(owned, terms)), *page[:ON_A_PAGE]])
    shown = _on_screen(list(found))
    return Found([_hit(row, terms, row.pk in shown) for row in found], more)


def _called(rows: QuerySet[Message], terms: Sequence[str]) -> Iterable[Message]:
    rows = rows.exclude(label="")
    for term in terms:
        rows = rows.filter(label__icontains=term)
    return rows[:ON_A_PAGE]


def _on_screen(rows: Sequence[Message]) -> set[int]:
    """The messages on the paths that the threads of these show, as far up as these are."""
    first: dict[Thread, int] = defaultdict(lambda: 1 << 30)
    for row in rows:
        first[row.thread] = min(first[row.thread], row.depth)
    heads = IndexedCheckpoint.objects.filter(thread__in=first, checkpoint_id__in=[each.head for each in first])
    ends = heads.exclude(message=None).select_related("message", "thread")
    return {pk for end in ends for pk in ancestry.path(end.message, first[end.thread])}


def _hit(row: Message, terms: Sequence[str], on_branch: bool) -> Hit:
    return Hit(
        thread_id=row.thread_id,
        title=row.thread.title,
        head_version=row.thread.head_version,
        assistant=row.thread.assistant,
        message=row.pk,
        kind=row.kind,
        label=row.label,
        pieces=tuple(_pieces(row.text, terms)),
        on_branch=on_branch,
        created_at=row.created_at,
    )


def _pieces(text: str, terms: Sequence[str]) -> Iterator[Piece]:
    """What stands around the first place where a term was found, with all terms in it marked."""
    sought = re.compile("|".join(re.escape(term) for term in sorted(terms, key=len, reverse=True)), re.IGNORECASE)
    first = sought.search(text)
    start = max(0, (first.start() if first else 0) - AROUND)
    end = min(len(text), (first.end() if first else 0) + AROUND)
    shown, at = " ".join(text[start:end].split()), 0
    if start:
        yield "… ", False
    for found in sought.finditer(shown):
        yield shown[at : found.start()], False
        yield found[0], True
        at = found.end()
    yield shown[at:] + (" …" if end < len(text) else ""), False
