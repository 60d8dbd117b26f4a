"""What a thread's page needs to be drawn, for views and sockets alike: the view, with a live reply's text so far."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext

from branching import assistants, deleting, transcript, window
from branching.llm import Models
from branching.scenarios import plays
from branching.types import ThreadView
from chatapp import engine, stream
from chatapp.markdown import Growing
from chatapp.runner import Live, runner

SHARED_FOR = 5.0
"""Seconds for which a rendering is kept for tabs that are slow to ask for it."""


@dataclass(frozen=True)
class Page:
    """A thread as it is at one moment."""

    context: dict[str, Any]
    """For the templates: `view`, `assistant`, `model`, `blocks` of a live reply, and `landed`: a stretch above it."""
    live: Live | None
    """The run whose reply is being written on it."""
    reply: Growing | None
    """That reply: a run may write several, one after another."""
    size: int
    """How many characters of it are on the page."""
    settled: int
    """How many blocks of it are there for good, the last one aside: new ones come after that."""
    change: int
    """The number of the newest change that is certain to be in it."""


async def current(thread_id: UUID, message: int | None = None) -> Page:
    """The thread as it is now, so that this message of it is shown. Raises `NoSuchThread`, `NoSuchMessage`."""
    change = stream.changes
    return await _page(await transcript.read(thread_id), change, message)


async def at(thread_id: UUID, checkpoint_id: str, message: int | None = None) -> Page:
    """The thread as it was at a checkpoint. Raises `NoSuchThread`, `NoSuchCheckpoint`, `NoSuchMessage`."""
    change = stream.changes
    return await _page(await transcript.read_at(thread_id, checkpoint_id), change, message)


async def _page(view: ThreadView, change: int, message: int | None) -> Page:
    landed = await window.around(view, message) if message else None
    assistant = assistants.get(view.assistant)
    configured = engine.get().models.of(view.choices.model) if assistant.uses_model else None
    models = await _models(view.id) or configured
    place = view.open_reply
    live = runner.live(place.run_id) if place and place.run_id and place.state == "streaming" else None
    reply = live.reply if live else None
    # A live reply has a first block from the beginning: the place where its text begins to grow.
    blocks = (reply.blocks() if reply else []) or [""]
    context = {"view": view, "assistant": assistant, "model": models, "blocks": blocks}
    context["landed"] = landed
    context["deleted"] = await deleting.pending(view.id)
    return Page(context, live, reply, reply.size if reply else 0, reply.growing if reply else 0, change)


async def _models(thread_id: UUID) -> Models | None:
    """What answers in a thread that plays a scenario, as its page names it."""
    if not settings.QA_SCENARIOS or await plays.of(thread_id) is None:
        return None
    return replace(engine.get().models, label=gettext("Scenario"), is_demo=False, is_scripted=True, problem="")


_renderings: dict[tuple[UUID, str, int], asyncio.Task[tuple[Page, str]]] = {}
"""Renderings of changes that many tabs ask for at the same time."""


async def rendered(thread_id: UUID, language: str, change: int | None) -> tuple[Page, str]:
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
