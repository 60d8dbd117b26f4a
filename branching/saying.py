"""What it takes to say something new, at HEAD or at any other checkpoint. Inside the command's transaction."""

from __future__ import annotations

import uuid
from typing import Any

from branching import actions, assistants, index, runs
from branching.engine import Engine
from branching.exceptions import AnswerFirst
from branching.limits import TITLE_MAX
from branching.models import IndexedCheckpoint, Run, Thread
from branching.types import Content


def close_calls(engine: Engine | None, run: Run, *, by: Any) -> IndexedCheckpoint | None:
    """The checkpoint from which `run` now sets out: each tool call that was open at its base has a result there.

    What was asked there is declined. None where no call was open. Raises `AnswerFirst` without an `engine`.
    """
    is_first = run.base is None and assistants.get(run.thread.assistant).is_functional
    if not is_first and not index.has_open_calls(run.thread_id, run.base):
        return None
    if engine is None:
        raise AnswerFirst
    # An edit of the first message needs something to set out from as well.
    closed = runs.write_beginning(engine, run) if is_first else runs.write_results(engine, run)
    if closed is None:
        return None
    actions.decline(run.thread_id, run.base, by=by)
    row = index.record(run.thread_id, closed, run_id=run.pk)
    run.base = row.checkpoint_id
    run.save(update_fields=["base"])
    return row


def said_anew(text: str) -> Content:
    """A human message with an id of its own: one id with two texts would confuse every look-up by id."""
    return Content(id=str(uuid.uuid4()), kind="human", text=text)


def name(thread: Thread, text: str) -> None:
    """Let a thread without a title be called what was said."""
    if not thread.title:
        Thread.objects.filter(pk=thread.pk).update(title=_title(text))


def _title(text: str) -> str:
    """The first line, or as many of its words as there is room for."""
    line = text.split("\n")[0].strip()
    if len(line) <= TITLE_MAX:
        return line
    head, _, _ = line[:TITLE_MAX].rpartition(" ")
    # A line without spaces, as in Chinese, is cut where the room ends.
    return (head if len(head) > TITLE_MAX // 2 else line[: TITLE_MAX - 1]).rstrip() + "…"
