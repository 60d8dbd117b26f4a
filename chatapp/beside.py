"""What the page of several replies needs to be drawn, for its view and its socket alike."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.utils import translation

from branching import assistants, several, threads
from branching.exceptions import NoSuchThread
from branching.models import Thread
from branching.several import Attempt
from chatapp import stream
from chatapp.following import Following
from chatapp.runner import runner


async def current(thread_id: UUID, first: UUID, *, owner: Any) -> tuple[dict[str, Any], list[Following]]:
    """For the templates: `thread`, `assistant`, `first`, `attempts`, `is_active` and how many are `finished`; and how
    far that goes with each that is being written. Raises `NoSuchThread`, `NoSuchRun`."""
    thread = await threads.find(thread_id, owner=owner)
    if thread is None:
        raise NoSuchThread
    found = await several.attempts(thread_id, first)
    shown = [_shown(thread, each) for each in found]
    active = sum(each.is_active for each in found)
    context = {
        "thread": thread,
        "assistant": assistants.get(thread.assistant),
        "first": first,
        "attempts": shown,
        "is_active": bool(active),
        "finished": len(found) - active,
    }
    return context, [each["following"] for each in shown if each["following"]]


async def rendered(
    thread_id: UUID, first: UUID, *, owner: Any, language: str
) -> tuple[dict[str, Any], list[Following], str]:
    """The same, and the partials that bring a tab there."""
    context, following = await current(thread_id, first, owner=owner)
    with translation.override(language):
        return context, following, stream.several(context)


def _shown(thread: Thread, attempt: Attempt) -> dict[str, Any]:
    live = runner.live(attempt.run.pk) if attempt.is_active else None
    # A live reply has a first block from the beginning: the place where its text begins to grow.
    blocks = (live.reply.blocks() if live else []) or [""]
    following = None
    if live:
        reply = live.reply
        following = Following(live, reply, reply.size, reply.growing, sum(map(len, blocks)))
    is_head = attempt.run.tip is not None and attempt.run.tip == thread.head
    return {"each": attempt, "blocks": blocks, "is_head": is_head, "following": following}
