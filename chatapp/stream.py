"""From what happens on a thread to the HTML partials that show it, and out to all its tabs."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from channels.layers import get_channel_layer
from django.template.loader import render_to_string
from django.utils.safestring import mark_safe

from branching.types import ThreadView
from chatapp import markdown


def group(thread_id: UUID) -> str:
    """The channel-layer group of all sockets that show the thread."""
    return f"thread.{thread_id}"


async def announce(thread_id: UUID) -> None:
    """Tell all tabs that the thread looks different now. Each reads how for itself, in its own language."""
    await get_channel_layer().group_send(group(thread_id), {"type": "thread.changed"})


async def publish(thread_id: UUID, run_id: UUID, seq: int, text: str) -> None:
    """Send a frame of a live reply, rendered once, to all tabs."""
    frame = {"type": "run.frame", "run": str(run_id), "seq": seq, "html": live(run_id, text)}
    await get_channel_layer().group_send(group(thread_id), frame)


def transcript(view: ThreadView, **context: Any) -> str:
    """The partials that bring a tab to `view`."""
    return render_to_string("stream/transcript.html", {"view": view, **context})


def live(run_id: UUID, text: str) -> str:
    """The partial that brings a live reply to `text`."""
    # By block, which is cached by block; the whole text would be a new one with each frame.
    html = mark_safe("".join(markdown.blocks(text)))
    return render_to_string("stream/live.html", {"run_id": run_id, "html": html})
