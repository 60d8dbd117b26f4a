"""What the model said in a thread, as the replies of a script: one for each time that it was asked."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from django.utils.translation import gettext

from branching import assistants
from branching.exceptions import NotRecordable
from branching.local_model import pieces
from branching.models import IndexedCheckpoint, Message, Run, Thread
from branching.scenarios.form import ERRORS, Reply, ToolCall

CUT_OFF = "(This was cut off.)"
"""Stands for what is nowhere kept: what a reply had said when its server went down."""


class Lines:
    """Of one thread."""

    def __init__(self, thread: Thread, rows: Mapping[str, IndexedCheckpoint], held: set[Any]) -> None:
        self.thread, self.rows, self.held = thread, rows, held
        self.reply_nodes = assistants.get(thread.assistant).reply_nodes

    @cached_property
    def replies(self) -> tuple[Reply, ...]:
        """All of them, in the order in which they were given."""
        said: dict[Any, list[Message]] = {}
        seen: set[int] = set()
        for row in self.rows.values():
            if row.message and row.message_id not in seen and row.message.kind == "ai":
                said.setdefault(row.run_id, []).append(row.message)
            seen.add(row.message_id)
        found: list[Reply] = []
        for run in self.thread.runs.exclude(kind="edit").order_by("created_at"):
            found += self._of(run, said.get(run.pk, []))
        return tuple(found)

    def _of(self, run: Run, said: list[Message]) -> list[Reply]:
        replies = [_reply(message) for message in said]
        if (last := self._broken(run, said)) is not None:
            replies.append(last)
        if run.pk in self.held and replies and replies[0].hold_at_token is None:
            first = replies[0]
            held = min(1, len(pieces(first.text)))
            replies[0] = Reply(**{**vars(first), "hold_at_token": held})
        return replies

    def _broken(self, run: Run, said: list[Message]) -> Reply | None:
        """The reply that did not come to its end."""
        if run.status == Run.Status.STOPPED and not any(message.data.get("stopped") for message in said):
            self._insist_on_a_model(run)
            return Reply(hold_at_token=0)
        if run.is_lost and self._was_asked(run):
            return Reply(CUT_OFF, hold_at_token=1)
        if run.status == Run.Status.FAILED and run.error != "script" and self._was_asked(run):
            error = run.error if run.error in ERRORS else ERRORS[0]
            return Reply(run.partial, fail_at_token=len(pieces(run.partial)), error=error)
        return None

    def _was_asked(self, run: Run) -> bool:
        """Whether the model was the next to speak where the run got to."""
        row = self.rows.get(run.tip or "")
        return row is None or any(node in self.reply_nodes for node in row.next) or row.next == ["__start__"]

    def _insist_on_a_model(self, run: Run) -> None:
        if not self._was_asked(run):
            raise NotRecordable(gettext("A step of this conversation was stopped that is not the model's."))


def _reply(message: Message) -> Reply:
    calls = tuple(ToolCall(call["name"], call["args"]) for call in message.data.get("tool_calls", ()))
    held = len(pieces(message.text)) if message.data.get("stopped") else None
    return Reply(message.text, calls=calls, hold_at_token=held)
