"""What a thread's page needs to be drawn, for views and sockets alike: the view, with a live reply's text so far."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import translation

from branching import assistants, transcript
from branching.types import ThreadView
from chatapp import engine, stream
from chatapp.runner import Live, runner

SHARED_FOR = 5.0
"""Seconds for which a rendering is kept for tabs that are slow to ask for it."""


@dataclass(frozen=True)
class Page:
    """A thread as it is at one moment."""

    context: dict[str, Any]
    """For the templates: `view`, `assistant`, `model`, and `blocks` of a live reply."""
    live: Live | None
    """The run whose reply is being written on it."""
    settled: int
    """How many blocks of that reply are in the page for good."""


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
    live = runner.live(reply.run_id) if reply and reply.run_id and reply.state == "streaming" else None
    # A live reply has a first block from the beginning: the place where its text begins to grow.
    blocks = (live.reply.blocks() if live else []) or [""]
    context = {"view": view, "assistant": assistant, "model": models, "blocks": list(enumerate(blocks))}
    return Page(context, live, len(live.reply.settled) if live else 0)


_renderings: dict[tuple[UUID, str, str], asyncio.Task[tuple[Page, str]]] = {}
"""Renderings of changes that many tabs ask for at the same time."""


async def rendered(thread_id: UUID, language: str, change: str | None) -> tuple[Page, str]:
    """The thread as it is now, and as the partials that show it. Tabs that heard of one `change` share the work."""
    if change is None:
        return await _render(thread_id, language)
    key = (thread_id, language, change)
    if key not in _renderings:
        _renderings[key] = asyncio.create_task(_render(thread_id, language))
        asyncio.get_running_loop().call_later(SHARED_FOR, _renderings.pop, key, None)
    return await asyncio.shield(_renderings[key])


async def _render(thread_id: UUID, language: str) -> tuple[Page, str]:
    page = await current(thread_id)
    with translation.override(language):
        return page, stream.transcript(page.context)
