"""Links to one version of a conversation, which anybody may read who has one, until it is taken back.

A link is bound to the messages from the first to one of them. None of these ever changes, so what it shows does not.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import OuterRef, Subquery

from branching import ancestry, window
from branching.database import on_database
from branching.exceptions import NoSuchMessage, NoSuchShare
from branching.models import Message, Share
from branching.types import Stretch, Version

GIST = 120
"""Characters of the last message that a list of links shows."""


@dataclass(frozen=True)
class Shared:
    """What a link shows."""

    title: str
    assistant: str
    versions: tuple[Version, ...]
    """The messages at its end, top to bottom."""
    above: int | None
    """The pk of the message above those."""
    created_at: datetime


@dataclass(frozen=True)
class Link:
    """A link as the one who has made it sees it."""

    pk: int
    token: str
    title: str
    length: int
    """How many messages it shows; 0 where they were deleted since."""
    gist: str
    """How the last of them begins."""
    created_at: datetime


@on_database
def share(thread_id: UUID, *, message: int) -> str:
    """The token of a link to the version that ends in this message, the one that there is if there is one.

    Raises `NoSuchMessage`.
    """
    found = Message.objects.filter(thread_id=thread_id, pk=message, deletion=None).select_related("thread").first()
    if found is None:
        raise NoSuchMessage
    made = {"token": secrets.token_urlsafe(32), "title": found.thread.title}
    return Share.objects.get_or_create(thread_id=thread_id, path=found.path, defaults=made)[0].token


@on_database
def links(thread_id: UUID) -> list[Link]:
    """The links into this thread, the newest first."""
    end = Message.objects.filter(thread=OuterRef("thread"), path=OuterRef("path"), deletion=None)
    rows = Share.objects.filter(thread_id=thread_id).order_by("-pk")
    rows = rows.annotate(length=Subquery(end.values("depth")[:1]), gist=Subquery(end.values("text")[:1]))
    return [
        Link(row.pk, row.token, row.title, row.length or 0, (row.gist or "")[:GIST], row.created_at) for row in rows
    ]


@on_database
def revoke(thread_id: UUID, pk: int) -> None:
    """Take the link back: from now on it leads nowhere. Raises `NoSuchShare`."""
    if not Share.objects.filter(thread_id=thread_id, pk=pk).delete()[0]:
        raise NoSuchShare


@on_database
def read(token: str) -> Shared:
    """What the link shows, the end of it. Raises `NoSuchShare`."""
    row, end = _end(token)
    versions = tuple(window.newest(end))
    return Shared(row.title, row.thread.assistant, versions, versions[0].parent, row.created_at)


@on_database
def earlier(token: str, message: int) -> Stretch:
    """What the link shows up to this message of it. Raises `NoSuchShare`, `NoSuchMessage`."""
    row, end = _end(token)
    found = Message.objects.filter(thread_id=row.thread_id, pk=message).first()
    if found is None or not ancestry.is_on_the_way(found, end):
        raise NoSuchMessage
    versions = tuple(window.newest(found))
    return Stretch(versions, above=versions[0].parent, below=None)


def ends(thread_id: UUID) -> Sequence[int]:
    """The pks of the messages that links into this thread end in."""
    paths = Share.objects.filter(thread_id=thread_id).values("path")
    return list(Message.objects.filter(thread_id=thread_id, path__in=paths).values_list("pk", flat=True))


def _end(token: str) -> tuple[Share, Message]:
    row = Share.objects.filter(token=token).select_related("thread").first()
    end = row and Message.objects.filter(thread_id=row.thread_id, path=row.path, deletion=None).first()
    if end is None:
        raise NoSuchShare
    return row, end
