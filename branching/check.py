"""Compares the index with the checkpoints it was made from, and rebuilds it from them.

`tree.py` derives the message tree from the whole history; here it is laid beside the rows, version by version.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import transaction

from branching import deletions, heads, history, index, places, promises, transcript, tree
from branching.database import on_database
from branching.engine import Engine
from branching.models import IndexedCheckpoint, Message, Thread
from branching.types import Checkpoint


@dataclass(frozen=True)
class Finding:
    """One disagreement: what it is about, and what is wrong with it."""

    subject: str
    problem: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.problem}"


async def check(engine: Engine, thread: Thread) -> list[Finding]:
    """What is wrong with the thread's index and HEAD; empty when they agree with its checkpoints."""
    return await compare(thread.pk, await history.read_all(engine.graph(thread.assistant), thread.pk))


async def rebuild(engine: Engine, thread: Thread) -> None:
    """Make the index anew from the checkpoints. HEAD, names and remembered places stay where they make sense."""
    await _replace(thread.pk, await history.read_all(engine.graph(thread.assistant), thread.pk))


@on_database
def compare(thread_id: UUID, checkpoints: Sequence[Checkpoint]) -> list[Finding]:
    """The same, for all checkpoints of the thread as they were just read."""
    truth = tree.derive(checkpoints)
    found = {row.checkpoint_id: row for row in IndexedCheckpoint.objects.filter(thread_id=thread_id)}
    rows = {row.pk: row for row in Message.objects.filter(thread_id=thread_id).order_by("id")}
    thread = Thread.objects.get(pk=thread_id)
    # Replies that were written at once have the order in which the index heard of them; their ids may have another.
    is_by_chance = thread.runs.filter(beside__isnull=False).exists()
    pairs = list(_pairs(rows, truth, is_by_chance=is_by_chance))
    return [
        *_missing_and_unknown(truth, found),
        *_wrong_versions(pairs),
        *_wrong_checkpoints(truth, found, {node: row.pk for node, row in pairs if node and row}),
        *_wrong_head(thread, found),
        *_wrong_jumps(rows),
        *_wrong_places(rows, head.message_id if (head := found.get(thread.head)) else None),
        *_wrong_deletions(thread, rows),
        *(Finding(*each) for each in promises.broken(thread_id, truth)),
    ]


def _missing_and_unknown(truth: tree.Tree, found: dict[str, IndexedCheckpoint]) -> Iterator[Finding]:
    for missing in truth.checkpoints.keys() - found.keys():
        yield Finding(f"checkpoint {missing}", "is not in the index")
    for unknown in found.keys() - truth.checkpoints.keys():
        yield Finding(f"checkpoint {unknown}", "is in the index but not in the saver")
    for orphan in truth.orphans:
        yield Finding(f"checkpoint {orphan}", "grew from a checkpoint that does not exist")


def _pairs(
    found: Mapping[int, Message], truth: tree.Tree, *, is_by_chance: bool
) -> Iterator[tuple[tree.Node | None, Message | None]]:
    """Each version beside its row, siblings in order; None where one of the two has no counterpart.

    Where their order is by chance, siblings are told by their ids.
    """
    rows = defaultdict(list)
    for row in found.values():
        rows[row.parent_id].append(row)
    waiting: list[tuple[list[tree.Node], int | None]] = [(truth.roots, None)]
    while waiting:
        nodes, parent = waiting.pop()
        siblings = rows.pop(parent, [])
        if is_by_chance:
            order = {node.content.id: at for at, node in enumerate(nodes)}
            siblings.sort(key=lambda row: order.get(row.message_id, len(order)))
        for at in range(max(len(nodes), len(siblings))):
            node, row = (nodes[at] if at < len(nodes) else None), (siblings[at] if at < len(siblings) else None)
            yield node, row
            if node and row:
                waiting.append((node.children, row.pk))
    yield from ((None, row) for left in rows.values() for row in left)


def _wrong_versions(pairs: Sequence[tuple[tree.Node | None, Message | None]]) -> Iterator[Finding]:
    for node, row in pairs:
        if row is None:
            yield Finding(f"message {node.content.id}", "has no row")
        elif node is None:
            yield Finding(f"message {row.message_id}", "has a row but is in no checkpoint")
        elif (row.message_id, row.kind, row.text, row.data) != _identity(node):
            yield Finding(f"message {row.message_id}", f"stands where {node.content.id} belongs")


def _identity(node: tree.Node) -> tuple[str, str, str, dict]:
    return node.content.id, node.content.kind, node.content.text, dict(node.content.data)


def _wrong_checkpoints(
    truth: tree.Tree, found: dict[str, IndexedCheckpoint], rows: dict[tree.Node, int]
) -> Iterator[Finding]:
    for checkpoint_id in truth.checkpoints.keys() & found.keys():
        checkpoint, row = truth.checkpoints[checkpoint_id], found[checkpoint_id]
        node = truth.node_of(checkpoint_id)
        expected = {
            "parent_id": checkpoint.parent_id,
            "origin_id": truth.origin(checkpoint_id),
            "source": checkpoint.source,
            "step": checkpoint.step,
            "next": list(checkpoint.next),
            "passed": truth.is_passed(checkpoint_id),
            "message_id": rows.get(node) if node else None,
        }
        for name, value in expected.items():
            if getattr(row, name) != value:
                yield Finding(f"checkpoint {checkpoint_id}", f"{name} is {getattr(row, name)}, not {value}")


def _wrong_head(thread: Thread, found: dict[str, IndexedCheckpoint]) -> Iterator[Finding]:
    if thread.head is None:
        if found:
            yield Finding("HEAD", "is empty though the thread has checkpoints")
        return
    if thread.head not in found:
        yield Finding("HEAD", f"points at {thread.head}, which is no checkpoint of this thread")


def _wrong_jumps(rows: Mapping[int, Message]) -> Iterator[Finding]:
    for row in rows.values():
        before, wanted = rows.get(row.parent_id), row.depth & (row.depth - 1)
        while before and before.depth > wanted:
            # Through jumps of those before, which are looked at too.
            before = rows.get(before.jump_id if before.depth & (before.depth - 1) >= wanted else before.parent_id)
        if row.depth != (rows[row.parent_id].depth + 1 if row.parent_id in rows else 1):
            yield Finding(f"message {row.message_id}", f"stands at depth {row.depth}")
        elif row.jump_id != (before.pk if before else None):
            yield Finding(f"message {row.message_id}", f"jumps to {row.jump_id}")


def _wrong_places(rows: Mapping[int, Message], head: int | None) -> Iterator[Finding]:
    for version in places.astray(rows, head):
        yield Finding(f"message {version.message_id}", "remembers a place that is not its own")


def _wrong_deletions(thread: Thread, rows: Mapping[int, Message]) -> Iterator[Finding]:
    hidden = {pk for pk, row in rows.items() if row.deletion_id is not None}
    for pk, row in rows.items():
        if pk not in hidden and row.parent_id in hidden:
            yield Finding(f"message {row.message_id}", "is seen though it follows a deleted one")
        if pk not in hidden and row.end_id in hidden:
            yield Finding(f"message {row.message_id}", "remembers a place that is deleted")
    if deletions.is_hidden(thread.pk, thread.head):
        yield Finding("HEAD", "is in a deleted version")


@on_database
@transaction.atomic
def _replace(thread_id: UUID, checkpoints: Sequence[Checkpoint]) -> None:
    thread = heads.locked(thread_id)
    remembered = _remembered(thread_id)
    labels = dict(Message.objects.filter(thread=thread).exclude(label="").values_list("path", "label"))
    hidden = deletions.by_path(thread_id)
    runs = dict(IndexedCheckpoint.objects.filter(thread=thread).values_list("checkpoint_id", "run_id"))
    Message.objects.filter(thread=thread).delete()
    IndexedCheckpoint.objects.filter(thread=thread).delete()
    for checkpoint in tree.derive(checkpoints).checkpoints.values():
        index.record(thread_id, checkpoint, run_id=runs.get(checkpoint.id))
    _restore_places(thread, remembered)
    for path, label in labels.items():
        Message.objects.filter(thread=thread, path=path).update(label=label)
    deletions.hide(thread_id, hidden)
    head = IndexedCheckpoint.objects.filter(thread=thread, checkpoint_id=thread.head).first()
    if head:
        heads.repair(thread_id, head)
    else:
        transcript.repair_head(thread_id)


def _remembered(thread_id: UUID) -> dict[str, str]:
    """The place that each version remembers, by paths, which a rebuild does not change."""
    return dict(Message.objects.filter(thread_id=thread_id).exclude(end=None).values_list("path", "end__path"))


def _restore_places(thread: Thread, remembered: Mapping[str, str]) -> None:
    rows = {row.pk: row for row in Message.objects.filter(thread=thread)}
    by_path = {row.path: row for row in rows.values()}
    for version, end in remembered.items():
        if version in by_path and end in by_path:
            by_path[version].end = by_path[end]
    head = IndexedCheckpoint.objects.filter(thread=thread, checkpoint_id=thread.head).first()
    for version in list(places.astray(rows, head.message_id if head else None)):
        version.end = None
    Message.objects.bulk_update([row for row in rows.values() if row.end_id], ["end"], batch_size=500)
