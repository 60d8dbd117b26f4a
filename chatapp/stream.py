"""From what happens on a thread to the HTML partials that show it, and the word to all its tabs that it happened.

A tab is told that there is news and fetches what it lacks: so a slow one skips what it would be late for, and nothing
that a channel layer drops is lost for good.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from channels.layers import get_channel_layer
from django.template.loader import render_to_string

from branching.models import Run


def thread_group(thread_id: UUID) -> str:
    """The channel-layer group of all sockets that show the thread."""
    return f"thread.{thread_id}"


def person_group(user_id: int) -> str:
    """The group of all sockets of a person."""
    return f"person.{user_id}"


def session_group(session_key: str) -> str:
    """The group of all sockets of one log-in. The key itself opens the session, so it goes nowhere."""
    return f"session.{hashlib.sha256(session_key.encode()).hexdigest()}"


changes = 0
"""How many changes this process has announced. What is read from the database now shows them all."""


async def announce(thread_id: UUID) -> None:
    """Tell all tabs that the thread looks different now. Each reads how for itself, in its own language."""
    global changes
    # Its number lets tabs of one language share one rendering, and pass over what they have seen already.
    changes += 1
    await _send(thread_group(thread_id), {"type": "thread.changed", "change": changes})


async def tell(run: Run) -> None:
    """Tell all tabs of the run's thread that there is more of its reply."""
    await _send(thread_group(run.thread_id), {"type": "run.news", "run": str(run.pk)})


async def announce_list(user_id: int) -> None:
    """Tell all tabs of a person that the list of threads is another now."""
    await _send(person_group(user_id), {"type": "threads.changed"})


async def end_session(session_key: str | None) -> None:
    """Close all sockets of a log-in that is over."""
    if session_key:
        await _send(session_group(session_key), {"type": "session.ended"})


async def _send(group: str, event: dict[str, Any]) -> None:
    await get_channel_layer().group_send(group, event)


def transcript(context: dict[str, Any]) -> str:
    """The partials that bring a tab to the `view` in a page's context."""
    return render_to_string("stream/transcript.html", context)


def threads(context: dict[str, Any]) -> str:
    """The partial with the list of threads."""
    return render_to_string("stream/threads.html", context)


def live(run_id: UUID, start: int, blocks: Sequence[str]) -> str:
    """The partial that brings a live reply from its block `start` on to `blocks`."""
    context = {"run_id": run_id, "start": start, "blocks": blocks}
    return render_to_string("stream/live.html", context)


def several(context: dict[str, Any]) -> str:
    """The partials that bring a tab to several replies as they are."""
    return render_to_string("stream/several.html", context)


def gone() -> str:
    """The partial that says that the thread was deleted elsewhere."""
    return render_to_string("stream/gone.html")
