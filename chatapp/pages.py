"""What a thread's page needs to be drawn, for views and sockets alike: the view, with a live reply's text so far."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from branching import assistants, transcript
from branching.types import ThreadView
from chatapp import engine
from chatapp.runner import runner


@dataclass(frozen=True)
class Page:
    """A thread as it is at one moment."""

    context: dict[str, Any]
    """For the templates: `view`, `assistant`, `model`."""
    seen: tuple[str, int]
    """The live run on it and the number of its last frame that is in the view already."""


async def current(thread_id: UUID) -> Page:
    """The thread as it is now. Raises `NoSuchThread`."""
    return await _page(await transcript.read(thread_id))


async def at(thread_id: UUID, checkpoint_id: str) -> Page:
    """The thread as it was at a checkpoint. Raises `NoSuchThread`, `NoSuchCheckpoint`."""
    return await _page(await transcript.read_at(thread_id, checkpoint_id))


async def _page(view: ThreadView) -> Page:
    assistant = assistants.get(view.assistant)
    models = (await engine.get()).models if assistant.uses_model else None
    reply = view.open_reply
    live = runner.live(reply.run_id) if reply and reply.run_id else None
    if reply and live:
        view = replace(view, open_reply=replace(reply, text=live.text))
    context = {"view": view, "assistant": assistant, "model": models}
    return Page(context, (str(live.run.pk), live.seq) if live else ("", 0))
