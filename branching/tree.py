"""The message tree of a thread, derived from its whole checkpoint history. Pure: the oracle that the index obeys.

The message lists of all checkpoints form a trie. A node is one version of a message; a checkpoint ends in the node
of its last message; two checkpoints whose lists begin alike share the nodes of what they share.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from .types import Checkpoint, Content

_NO_TIME = datetime.min.replace(tzinfo=UTC)


@dataclass(eq=False)
class Node:
    """One version of a message: this content after exactly these earlier messages."""

    parent: Node | None = field(repr=False)
    content: Content
    introduced_by: str
    """The first checkpoint, parents before children, that holds it."""
    children: list[Node] = field(default_factory=list, repr=False)
    """In the order of their introduction."""


class Tree:
    """What a history says about its messages. Made by `derive`; all lists are in the order of introduction.

    Every method that takes a checkpoint id raises `KeyError` for one that the history does not hold.
    """

    def __init__(self) -> None:
        self.checkpoints: dict[str, Checkpoint] = {}
        """By id, parents before children, else by (created_at, id)."""
        self.nodes: list[Node] = []
        """All versions of all messages, parents before children."""
        self.roots: list[Node] = []
        """The versions of the first message."""
        self.orphans: list[str] = []
        """Checkpoints that name a parent which the history does not hold. Each is a root of its own."""
        self._last: dict[str, Node | None] = {}
        self._ends: dict[Node, list[str]] = defaultdict(list)
        self._origins: dict[str, str] = {}
        self._children: dict[str, list[str]] = {}
        self._versions: dict[tuple[Node | None, str], list[Node]] = defaultdict(list)

    @property
    def tips(self) -> list[str]:
        """The checkpoints from which nothing grew."""
        return [each for each, children in self._children.items() if not children]

    def children_of(self, checkpoint_id: str) -> list[str]:
        """The checkpoints that grew from it directly, fork copies included."""
        return self._children[checkpoint_id]

    def node_of(self, checkpoint_id: str) -> Node | None:
        """The node of its last message; None where it has no messages."""
        return self._last[checkpoint_id]

    def path(self, checkpoint_id: str) -> list[Node]:
        """Its transcript: the nodes from the root to its last message."""
        found, node = [], self.node_of(checkpoint_id)
        while node is not None:
            found.append(node)
            node = node.parent
        return found[::-1]

    def siblings(self, node: Node) -> list[Node]:
        """All versions of the message in this place, `node` included."""
        return self._siblings_under(node.parent)

    def tip(self, node: Node) -> str | None:
        """The newest checkpoint that ends in it; None for a message that never was the last one.

        One that only announces the next message (`next` is `__start__`) does not count once that message has come.
        """
        return next((each for each in reversed(self._ends[node]) if not self.is_passed(each)), None)

    def origin(self, checkpoint_id: str) -> str:
        """The checkpoint that this one is LangGraph's fork copy of, through copies of copies; else itself."""
        return self._origins[checkpoint_id]

    def base(self, node: Node) -> str | None:
        """Where to edit or replay it from: what came before the checkpoint that introduced it. None before all.

        A fork that changed messages in their places has others before it: then the nearest one above that ends just
        before `node`, if there is one.
        """
        before = self._parent_of(self.checkpoints[node.introduced_by])
        if before and not self._comes_before(before, node):
            before = self._parent_of(before)
            while before and self.node_of(before.id) is not node.parent:
                before = self._parent_of(before)
        return self.origin(before.id) if before else None

    def _comes_before(self, checkpoint: Checkpoint, node: Node) -> bool:
        last, above = self.node_of(checkpoint.id), node.parent
        while above is not None and above is not last:
            above = above.parent
        return above is last

    def _add(self, checkpoint: Checkpoint) -> None:
        """Take in one checkpoint whose parent, if the history holds it, has been taken in."""
        self.checkpoints[checkpoint.id] = checkpoint
        self._children[checkpoint.id] = []
        self._last[checkpoint.id] = last = self._grow(checkpoint)
        if last is not None:
            self._ends[last].append(checkpoint.id)
        parent = self._parent_of(checkpoint)
        if parent is not None:
            self._children[parent.id].append(checkpoint.id)
        elif checkpoint.parent_id is not None:
            self.orphans.append(checkpoint.id)
        self._origins[checkpoint.id] = self._origins[parent.id] if self._is_copy(checkpoint, parent) else checkpoint.id

    def is_passed(self, checkpoint_id: str) -> bool:
        """Whether it only announced a message that has come since."""
        return self.checkpoints[checkpoint_id].next == ("__start__",) and bool(self._children[checkpoint_id])

    def _grow(self, checkpoint: Checkpoint) -> Node | None:
        """Walk its messages from the root, adding what is missing; return the last node."""
        node = None
        for content in checkpoint.messages:
            node = self._version(node, content) or self._new_node(node, content, checkpoint.id)
        return node

    def _version(self, parent: Node | None, content: Content) -> Node | None:
        same_id = self._versions[parent, content.id]
        return next((node for node in same_id if node.content == content), None)

    def _new_node(self, parent: Node | None, content: Content, introduced_by: str) -> Node:
        node = Node(parent, content, introduced_by)
        self.nodes.append(node)
        self._siblings_under(parent).append(node)
        self._versions[parent, content.id].append(node)
        return node

    def _siblings_under(self, parent: Node | None) -> list[Node]:
        return self.roots if parent is None else parent.children

    def _parent_of(self, checkpoint: Checkpoint) -> Checkpoint | None:
        return None if checkpoint.parent_id is None else self.checkpoints.get(checkpoint.parent_id)

    def _is_copy(self, checkpoint: Checkpoint, parent: Checkpoint | None) -> bool:
        # `as_node="__copy__"` also writes a "fork", but as a sibling of what it copies: its parent differs from it,
        # if only in fields that are not looked at here, and is two steps before it.
        return (
            parent is not None
            and checkpoint.source == "fork"
            and checkpoint.step == parent.step + 1
            and checkpoint.next == parent.next
            and self._last[checkpoint.id] is self._last[parent.id]
        )


def derive(history: Iterable[Checkpoint]) -> Tree:
    """The tree of a thread's whole history, given in any order.

    Raises `ValueError` where an id comes twice or checkpoints are each other's ancestors.
    """
    tree = Tree()
    for checkpoint in _parents_first(list(history)):
        tree._add(checkpoint)
    return tree


def _parents_first(history: list[Checkpoint]) -> list[Checkpoint]:
    """The history sorted by (created_at, id), except that no checkpoint comes before its parent.

    The time alone will not do: ids and clocks of two servers may disagree.
    """
    by_id = {checkpoint.id: checkpoint for checkpoint in history}
    if len(by_id) != len(history):
        raise ValueError("A checkpoint id comes twice in the history.")
    ready = [_age(checkpoint) for checkpoint in history if checkpoint.parent_id not in by_id]
    waiting = defaultdict(list)
    for checkpoint in history:
        waiting[checkpoint.parent_id].append(_age(checkpoint))
    heapq.heapify(ready)
    ordered = []
    while ready:
        _, checkpoint_id = heapq.heappop(ready)
        ordered.append(by_id[checkpoint_id])
        for child in waiting[checkpoint_id]:
            heapq.heappush(ready, child)
    if len(ordered) != len(history):
        raise ValueError("Some checkpoints are each other's ancestors.")
    return ordered


def _age(checkpoint: Checkpoint) -> tuple[datetime, str]:
    return checkpoint.created_at or _NO_TIME, checkpoint.id
