"""The time machine: all checkpoints of a thread, each of them whole, and what tells two apart. Reads only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.conf import settings
from django.http import HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from branching import assistants, check, forecast, forks, index, inspection, leases, listing, turns
from branching.database import on_database
from branching.exceptions import NoSuchCheckpoint
from branching.lanes import Place
from branching.models import Thread
from branching.types import ListedCheckpoint
from chatapp import engine
from chatapp.accounts import person_required
from chatapp.forms.machine import SOURCES, ListForm
from chatapp.http import PersonRequest, answers_errors, sidebar, thread_or_404

ON_A_PAGE = 50

KEPT = ("source", "node", "run", "path", "tip", "turns", "open", "compare")
"""What the address of a page of the list says, and those of the next and of its news too."""

LANES = 12
"""Branches that are drawn beside each other; what stands further out is drawn in the last one."""

MESSAGES_SHOWN = 50
"""Messages of a state that its page shows, the last ones; the JSON has all."""


@require_GET
@never_cache
@person_required
@answers_errors
async def show(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """The checkpoints of the thread, newest first. A page that is open asks again and again, and hears of news only."""
    thread = await thread_or_404(request, thread_id)
    asked = ListForm.read(request.GET)
    if request.htmx and asked["seen"] == thread.revision:
        return HttpResponse(status=204)
    if asked["compare"]:
        await _there(thread, asked["compare"])
    context = await _list(thread, asked)
    if request.htmx:
        return render(request, "machine/_list.html", context)
    return render(request, "machine/list.html", {**context, **await sidebar(request)})


async def _list(thread: Thread, asked: dict[str, Any]) -> dict[str, Any]:
    found, places = await _found(thread, asked)
    rows = found[:ON_A_PAGE]
    drawn = [places.get(row.id) for row in rows]
    kept = {key: asked[key] for key in KEPT if asked[key]}
    folds = asked["turns"] and not asked["sieve"].leaves_gaps
    return {
        "thread": thread,
        "assistant": assistants.get(thread.assistant),
        "lines": list(zip(rows, drawn, strict=True)),
        "lanes": min(max((place.width for place in drawn if place), default=0), LANES),
        "asked": asked,
        "sources": SOURCES,
        "nodes": forks.nodes(engine.get().graph(thread.assistant)),
        "is_running": await leases.is_active(thread.pk),
        "is_folded": folds,
        "here": _address(thread, kept),
        "branch": _query(asked, "source", "node", "path", "turns", "compare"),
        "unfold": _query(asked, "path", "tip", "turns", "before", "compare"),
        "older": _address(thread, {**kept, "before": rows[-1].id}) if len(found) > ON_A_PAGE else "",
        "plays": settings.QA_SCENARIOS,
        "poll": "" if asked["before"] else _address(thread, {**kept, "seen": thread.revision}),
    }


async def _found(thread: Thread, asked: dict[str, Any]) -> tuple[list[ListedCheckpoint], Mapping[str, Place]]:
    """What the list shows and one line more, and where it stands in the drawing."""
    part: dict[str, Any] = {"before": asked["before"] or None, "limit": ON_A_PAGE + 1}
    sieve = asked["sieve"]
    if asked["turns"] and not sieve.leaves_gaps:
        folded = await turns.fold(thread.pk, sieve=sieve, opened=asked["open"], **part)
        return folded.rows, folded.places
    rows = await listing.checkpoints(thread.pk, sieve=sieve, **part)
    # Of a list with gaps the lines would lead nowhere.
    return rows, {} if sieve.leaves_gaps else await listing.places(thread.pk, rows[:ON_A_PAGE], sieve)


def _query(asked: dict[str, Any], *names: str) -> str:
    """These of the fields, to be followed by another one."""
    return "".join(f"{urlencode({name: asked[name]})}&" for name in names if asked[name])


def _address(thread: Thread, fields: dict[str, Any]) -> str:
    path = reverse("checkpoints", args=[thread.pk])
    return f"{path}?{urlencode(fields)}" if fields else path


@require_GET
@never_cache
@person_required
@answers_errors
async def state(request: PersonRequest, thread_id: UUID, checkpoint_id: str) -> HttpResponse:
    """One checkpoint with everything in it, for ever at this address; with `?raw`, as JSON."""
    thread = await thread_or_404(request, thread_id)
    found = await inspection.read(engine.get(), thread, checkpoint_id)
    if "raw" in request.GET:
        return JsonResponse(found.raw, json_dumps_params={"ensure_ascii": False, "indent": 2})
    return await state_page(request, thread, found)


async def state_page(
    request: PersonRequest, thread: Thread, found: inspection.Inspection, *, status: int = 200, **told: Any
) -> HttpResponse:
    """The page of one checkpoint; `told` may be the `error` of a command that was given there."""
    messages = found.values.get(forks.MESSAGES) or []
    context = {
        "thread": thread,
        "assistant": assistants.get(thread.assistant),
        "found": found,
        "messages": messages[-MESSAGES_SHOWN:],
        "left_out": max(len(messages) - MESSAGES_SHOWN, 0),
        "others": {name: value for name, value in found.values.items() if name != forks.MESSAGES},
        "forecast": await forecast.of(engine.get(), thread, found.row.id),
        "saying": await _saying(request, thread, found),
        **told,
    }
    return render(request, "machine/state.html", {**context, **await sidebar(request)}, status=status)


async def _saying(request: PersonRequest, thread: Thread, found: inspection.Inspection) -> dict[str, Any]:
    """What it comes to if something new is said at the checkpoint, and what was typed already."""
    return {
        "typed": request.POST.get("content", ""),
        "forecast": await forecast.of(engine.get(), thread, found.row.id, (index.START,)),
        "replaces": index.START in found.row.next,
        "closes": await on_database(index.has_open_calls)(thread.pk, found.row.id),
    }


@require_GET
@never_cache
@person_required
@answers_errors
async def consistency(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """Whether what the pages know of the thread agrees with its checkpoints. Reads all of them."""
    thread = await thread_or_404(request, thread_id)
    found = await check.check(engine.get(), thread)
    context = {"thread": thread, "findings": found, "assistant": assistants.get(thread.assistant)}
    return render(request, "machine/consistency.html", {**context, **await sidebar(request)})


@require_GET
@never_cache
@person_required
@answers_errors
async def difference(request: PersonRequest, thread_id: UUID, checkpoint_id: str) -> HttpResponse:
    """What tells another checkpoint, `with`, from this one. Without it one is picked from the list."""
    thread = await thread_or_404(request, thread_id)
    other = request.GET.get("with")
    if not other:
        await _there(thread, checkpoint_id)
        return redirect(_address(thread, {"compare": checkpoint_id}))
    old = await inspection.read(engine.get(), thread, checkpoint_id)
    new = await inspection.read(engine.get(), thread, other)
    context = {"thread": thread, "assistant": assistants.get(thread.assistant), "old": old, "new": new}
    context["differences"] = inspection.differences(old, new)
    return render(request, "machine/difference.html", {**context, **await sidebar(request)})


async def _there(thread: Thread, checkpoint_id: str) -> None:
    """Raises `NoSuchCheckpoint` unless the thread has it."""
    if not await thread.checkpoints.filter(checkpoint_id=checkpoint_id).aexists():
        raise NoSuchCheckpoint
