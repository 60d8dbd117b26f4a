"""Keeps Message and IndexedCheckpoint rows in step with the checkpoints that LangGraph writes.

The messages of all checkpoints of a thread form a trie; a Message row is one of its nodes. A row is found by the
digest of all messages from the root to it, so that recording a checkpoint reads a few rows however long the thread
is. `check.py` compares all of this with `tree.py`, which derives it by other means.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from branching import ancestry, lineage
from branching.exceptions import NoSuchCheckpoint
from branching.models import IndexedCheckpoint, Message
from branching.types import Checkpoint, Content

START = "__start__"


def record(thread_id: UUID, checkpoint: Checkpoint, *, run_id: UUID | None = None) -> IndexedCheckpoint:
    """The row of `checkpoint`, made with the rows of its new messages unless it is there already.

    Call it inside a transaction, with parents before children, and for persisted checkpoints only.
    """
    known = IndexedCheckpoint.objects.filter(thread_id=thread_id, checkpoint_id=checkpoint.id).first()
    if known:
        return known
    message = _place(thread_id, checkpoint.messages)
    announced = IndexedCheckpoint.objects.filter(thread_id=thread_id, checkpoint_id=checkpoint.parent_id, next=[START])
    announced.update(passed=True)
    return IndexedCheckpoint.objects.create(
        thread_id=thread_id,
        checkpoint_id=checkpoint.id,
        parent_id=checkpoint.parent_id,
        origin_id=_origin(thread_id, checkpoint, message),
        source=checkpoint.source,
        step=checkpoint.step,
        next=list(checkpoint.next),
        message=message,
        run_id=run_id,
        created_at=checkpoint.created_at or timezone.now(),
    )


def _origin(thread_id: UUID, checkpoint: Checkpoint, message: Message | None) -> str:
    """The checkpoint that LangGraph copied to make this one; itself where it is no such copy.

    A replay starts with a copy (`source="fork"`) of the checkpoint it was given. Replaying from the copy later would
    nest the versions, so a copy always counts as what it was copied from. One that a person has put beside another
    (`__copy__`) stands for itself: its step, two after that of its parent, tells it, even where messages and `next` are
    its parent's and only other fields are not.
    """
    if checkpoint.source != "fork":
        return checkpoint.id
    parent = IndexedCheckpoint.objects.filter(thread_id=thread_id, checkpoint_id=checkpoint.parent_id).first()
    if parent is None or checkpoint.step != parent.step + 1:
        return checkpoint.id
    is_copy = parent.message_id == (message and message.pk) and parent.next == list(checkpoint.next)
    return parent.origin_id if is_copy else checkpoint.id


def _place(thread_id: UUID, messages: Sequence[Content]) -> Message | None:
    """The row of the last of `messages`, with rows made for those that have none."""
    paths = list(_paths(messages))
    parent = _deepest_known(thread_id, paths)
    for depth in range(parent.depth if parent else 0, len(messages)):
        content = messages[depth]
        parent = Message.objects.create(
            thread_id=thread_id,
            parent=parent,
            jump_id=ancestry.jump_from(parent),
            message_id=content.id,
            path=paths[depth],
            depth=depth + 1,
            kind=content.kind,
            text=content.text,
            data=dict(content.data),
        )
    return parent


def _deepest_known(thread_id: UUID, paths: list[str]) -> Message | None:
    """The row that most of `paths` leads to. A checkpoint adds few messages, so it is sought from the end."""
    end = len(paths)
    for size in (8, 500):
        while end > 0:
            start = max(0, end - size)
            rows = Message.objects.filter(thread_id=thread_id, path__in=paths[start:end])
            if row := rows.order_by("-depth").first():
                return row
            end = start
            if size == 8:
                break
    return None


def _paths(messages: Iterable[Content]) -> Iterator[str]:
    """For each message the digest of it and all before it."""
    path = ""
    for message in messages:
        own = json.dumps([path, message.id, message.kind, message.text, dict(message.data)], sort_keys=True)
        path = hashlib.sha256(own.encode()).hexdigest()
        yield path


def checkpoint_of(thread_id: UUID, checkpoint_id: str | None) -> IndexedCheckpoint:
    """The row of a checkpoint of this thread. Raises `NoSuchCheckpoint` for any other id."""
    row = IndexedCheckpoint.objects.filter(thread_id=thread_id, checkpoint_id=checkpoint_id).first()
    if row is None:
        raise NoSuchCheckpoint
    return row


def has_open_calls(thread_id: UUID, checkpoint_id: str | None) -> bool:
    """Whether a tool call at the end of this checkpoint's messages has no result yet."""
    row = IndexedCheckpoint.objects.filter(thread_id=thread_id, checkpoint_id=checkpoint_id).first()
    return bool(row and open_calls(row.message))


def open_calls(last: Message | None) -> list[Mapping[str, Any]]:
    """The tool calls at the end of a transcript that have no result yet."""
    message, answered = last, set()
    while message and message.kind == "tool":
        answered.add(message.data.get("tool_call_id"))
        message = message.parent
    calls = message.data.get("tool_calls", ()) if message else ()
    return [call for call in calls if call["id"] not in answered]


def base_of(message: Message) -> IndexedCheckpoint | None:
    """The checkpoint from which `message` is edited or replayed: the one before it came, fork copies folded away.

    Where a fork changed messages in their places, the checkpoint before it holds others: then the nearest one above
    that ends just before `message`. None where there is none.
    """
    introduced = _introducing(message)
    if introduced is None or introduced.parent_id is None:
        return None
    parent = checkpoint_of(message.thread_id, introduced.parent_id)
    if not _comes_before(parent, message):
        found = lineage.nearest(message.thread_id, parent.checkpoint_id, message.parent_id)
        if found is None:
            return None
        parent = checkpoint_of(message.thread_id, found)
    return parent if parent.origin_id == parent.checkpoint_id else checkpoint_of(message.thread_id, parent.origin_id)


def _comes_before(checkpoint: IndexedCheckpoint, message: Message) -> bool:
    """Whether all messages of the checkpoint stand before `message` on its way."""
    if checkpoint.message_id in (None, message.parent_id):
        return True
    is_shorter = checkpoint.message.depth < message.depth
    return is_shorter and ancestry.is_on_the_way(checkpoint.message, message)


def _introducing(message: Message) -> IndexedCheckpoint | None:
    """The first checkpoint that holds `message`. Where several messages came at once, it ends in a later one."""
    first = message.checkpoints.order_by("id").first()
    if first:
        return first
    children = message.children.order_by("id")
    return next((found for child in children if (found := _introducing(child))), None)


def ending_in(message_id: Any) -> QuerySet[IndexedCheckpoint]:
    """The checkpoints a switch to this message may land on, newest first: see `tip_of`."""
    return IndexedCheckpoint.objects.filter(message_id=message_id, passed=False).order_by("-id")


def tip_of(message: Message) -> IndexedCheckpoint:
    """The newest checkpoint that ends in `message`: where HEAD goes when one comes to this version.

    Checkpoints that only announce the next message (their `next` is `__start__`) are passed over once that message
    has come: they end in this one too, but belong to what follows. Where several messages came in one step, only the
    last of them has checkpoints: then one comes to that.
    """
    last: Message | None = message
    while last:
        if tip := ending_in(last.pk).first():
            return tip
        last = last.children.filter(deletion=None).order_by("-id").first()
    raise NoSuchCheckpoint
