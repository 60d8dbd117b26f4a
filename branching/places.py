"""Where one comes back to: each version that was left keeps, as `end`, the message at which HEAD was then.

Such a remembered path is a path through the tree: from its first version, which alone has the `end`, down to that.
No two have a message in common, and none has one in common with HEAD's own path, which needs no `end`: it ends at
HEAD. A message that is on no path was never left; to come to it is to stop there. So a move of HEAD changes what the
old and the new path do not share and no more: a row, or a few.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from branching import ancestry
from branching.models import Message


def leave(old: Message | None, new: Message | None) -> None:
    """Remember `old`, where HEAD was, as it moves to `new`. Where other paths are in its way, they become shorter."""
    if old == new:
        return
    left, entered = ancestry.parting(old, new)
    _keep(left, old)
    while entered:
        version = _version(entered)
        end = version.end or version
        if version.end:
            _keep(version.pk, None)
        left, entered = ancestry.parting(end, new)
        _keep(left, version.end)


def back_to(message: Message, head: Message | None) -> Message:
    """Where one comes to by going to `message`, with HEAD at `head`: as deep as one was when one left it."""
    end, (_, entered) = head, ancestry.parting(head, message)
    while entered:
        version = _version(entered)
        end = version.end or version
        _, entered = ancestry.parting(end, message)
    return end


def grow(message: Message, head: Message | None) -> None:
    """Go on to `message`, which came while HEAD was at `head`, wherever one stopped at its parent unseen.

    Not where another version was chosen there, and not where HEAD itself stops.
    """
    parent = message.parent
    if parent is None or parent == head or back_to(parent, head) != parent:
        return
    first = Message.objects.filter(end=parent).first() or parent
    end = _version(message.pk).end or message
    _keep(message.pk, None)
    _keep(first.pk, end)


def astray(rows: Mapping[int, Message], head: int | None) -> Iterator[Message]:
    """The versions whose `end` can't be: it is not after them, or HEAD's path or another one is in the way.

    `rows` are all messages of a thread by their key.
    """
    taken = set(_up(rows, head, None))
    for version in sorted((row for row in rows.values() if row.end_id), key=lambda row: (row.depth, row.pk)):
        path = list(_up(rows, version.end_id, version.pk))
        if path[-1:] != [version.pk] or not taken.isdisjoint(path):
            yield version
        else:
            taken.update(path)


def _up(rows: Mapping[int, Message], pk: int | None, last: int | None) -> Iterator[int]:
    """The keys from `pk` up to `last`, or to the first message."""
    while pk in rows:
        yield pk
        pk = None if pk == last else rows[pk].parent_id


def _version(pk: int) -> Message:
    return Message.objects.select_related("end").get(pk=pk)


def _keep(version: int | None, end: Message | None) -> None:
    if version:
        Message.objects.filter(pk=version).update(end=end)
