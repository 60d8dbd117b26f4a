"""What must hold between a thread's checkpoints and the rows outside them: questions, approvals, bookings, results."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

from branching import actions, history
from branching.models import Booking
from branching.tree import Node, Tree


def broken(thread_id: UUID, truth: Tree) -> Iterator[tuple[str, str]]:
    """What does not hold: what it is about, and what is wrong with it."""
    yield from _idle_questions(thread_id, truth)
    yield from _unasked_bookings(thread_id)
    yield from _unanswered_calls(truth)


def _idle_questions(thread_id: UUID, truth: Tree) -> Iterator[tuple[str, str]]:
    for row in actions.open_questions().filter(thread=thread_id):
        checkpoint = truth.checkpoints.get(row.checkpoint_id)
        asked = {question.interrupt_id for question in checkpoint.questions} if checkpoint else set()
        if row.interrupt_id not in asked:
            yield f"question {row.interrupt_id}", "waits for an answer, though no step asks it"


def _unasked_bookings(thread_id: UUID) -> Iterator[tuple[str, str]]:
    for booking in Booking.objects.filter(thread=thread_id).select_related("action", "cancelled_by"):
        for action, what in ((booking.action, "booked"), (booking.cancelled_by, "cancelled")):
            if action and not actions.is_approved(action):
                yield f"booking {booking.order}", f"was {what} without an approval"


def _unanswered_calls(truth: Tree) -> Iterator[tuple[str, str]]:
    for node in truth.nodes:
        if node.content.kind != "human":
            continue
        for call in history.open_calls([each.content for each in _turn_before(node)]):
            yield f"message {node.content.id}", f"was said though the tool call {call} has no result"


def _turn_before(node: Node) -> list[Node]:
    """The replies of the turn that ends where `node` begins."""
    turn, at = [], node.parent
    while at and at.content.kind != "human":
        turn.append(at)
        at = at.parent
    return turn
