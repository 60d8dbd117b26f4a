"""Scenarios: the starting set, threads that play one, and what was done in any thread as a scenario."""

from __future__ import annotations

from dataclasses import asdict
from functools import wraps
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from branching import assistants
from branching.database import on_database
from branching.exceptions import BadScenario, NotRecordable
from branching.models import Play, Thread
from branching.scenarios import plays, reading, recording, writing
from chatapp import stage, stream
from chatapp.accounts import person_required
from chatapp.http import AsyncView, PersonRequest, answers_errors, sidebar, status_of, thread_or_404

RECORDED = """\
# What was done in a conversation, with what its model answered. docs/scenarios.md tells how to play it.

"""


def where_scenarios_are_played(view: AsyncView) -> AsyncView:
    """The page is there only where `QA_SCENARIOS` is on."""

    @wraps(view)
    async def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not settings.QA_SCENARIOS:
            raise Http404
        return await view(request, *args, **kwargs)

    return guarded


@require_http_methods(["GET", "POST"])
@never_cache
@where_scenarios_are_played
@person_required
async def index(request: PersonRequest) -> HttpResponse:
    """The starting set, and a place for a scenario of one's own; begins one in a new thread."""
    if request.method == "GET":
        return await _index(request)
    source = request.POST.get("source", "")
    try:
        source, name = _given(request, source)
        thread = await plays.begin(request.user, source, name)
    except BadScenario as error:
        return await _index(request, status=status_of(error), error=str(error), source=source)
    await stream.announce_list(request.user.pk)
    if request.POST.get("then") == "chat":
        return redirect("thread", thread.pk)
    if request.POST.get("then") == "play":
        stage.performances.play(thread, await plays.of(thread.pk), by=request.user)
    return redirect("scenario", thread.pk)


def _given(request: PersonRequest, source: str) -> tuple[str, str]:
    """The scenario that one has chosen, sent as a file, or written; and what it is called."""
    if name := request.POST.get("name"):
        return stage.listed(name).source, f"{name}.toml"
    file: UploadedFile | None = request.FILES.get("file")
    if file is None:
        return source, "scenario.toml"
    if file.size > 4 * reading.SIZE_MAX:
        raise BadScenario(f"The file is longer than {reading.SIZE_MAX} characters.")
    return file.read().decode("utf-8", "replace"), file.name or "scenario.toml"


async def _index(request: PersonRequest, *, status: int = 200, error: str = "", source: str = "") -> HttpResponse:
    shown = {"listed": stage.starting_set(), "error": error, "source": source}
    return render(request, "scenarios/index.html", {**shown, **await sidebar(request)}, status=status)


@require_GET
@never_cache
@where_scenarios_are_played
@person_required
@answers_errors
async def show(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """The scenario that a thread plays: each step, and what came of it."""
    thread, play = await _play_or_404(request, thread_id)
    context = await _steps(thread, play)
    if request.htmx:
        return render(request, "scenarios/_steps.html", context)
    return render(request, "scenarios/play.html", {**context, **await sidebar(request)})


@require_POST
@where_scenarios_are_played
@person_required
@answers_errors
async def play(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """Play the next step, or all that are left."""
    thread, play = await _play_or_404(request, thread_id)
    stage.performances.play(thread, play, by=request.user, steps=1 if request.POST.get("steps") == "1" else None)
    if request.htmx:
        return render(request, "scenarios/_steps.html", await _steps(thread, play))
    return redirect("scenario", thread_id)


@require_POST
@where_scenarios_are_played
@person_required
async def release(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """Let the reply that is held go on."""
    await _play_or_404(request, thread_id)
    await plays.release(thread_id)
    return HttpResponse(status=204) if request.htmx else redirect("thread", thread_id)


@require_GET
@never_cache
@where_scenarios_are_played
@person_required
async def facts(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """What the server knows of the thread, for whoever plays a scenario from outside."""
    thread, _play = await _play_or_404(request, thread_id)
    known = asdict(await plays.facts(thread_id))
    return JsonResponse({**known, "ids": await _checkpoints(thread)})


@on_database
def _checkpoints(thread: Thread) -> list[str]:
    return list(thread.checkpoints.order_by("pk").values_list("checkpoint_id", flat=True))


@require_GET
@never_cache
@person_required
@answers_errors
async def record(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """What was done in the thread, as a scenario that does it again."""
    thread = await thread_or_404(request, thread_id)
    try:
        source = RECORDED + writing.write(await recording.record(thread))
    except NotRecordable as error:
        context = {"thread": thread, "assistant": assistants.get(thread.assistant), "error": gettext(str(error))}
        return render(request, "scenarios/refused.html", {**context, **await sidebar(request)}, status=status_of(error))
    name = slugify(thread.title) or "conversation"
    headers = {"Content-Disposition": f'attachment; filename="{name}.toml"'}
    return HttpResponse(source, content_type="application/toml; charset=utf-8", headers=headers)


async def _play_or_404(request: PersonRequest, thread_id: UUID) -> tuple[Thread, Play]:
    thread = await thread_or_404(request, thread_id)
    play = await plays.of(thread_id)
    if play is None:
        raise Http404
    return thread, play


async def _steps(thread: Thread, play: Play) -> dict[str, Any]:
    scenario, outcomes = plays.scenario_of(play), stage.outcomes_of(play)
    told = {outcome.at: outcome for outcome in outcomes}
    steps = [(number, step, told.get(number - 1)) for number, step in enumerate(scenario.steps, 1)]
    return {
        "thread": thread,
        "assistant": assistants.get(thread.assistant),
        "play": play,
        "scenario": scenario,
        "steps": steps,
        "end": told.get(len(steps)),
        "goes_on": stage.performances.goes_on(thread.pk),
        "at": len(outcomes) + 1,
        "is_over": len(outcomes) > len(steps) or any(outcome.stuck for outcome in outcomes),
        "held_back": [outcome for outcome in outcomes if not outcome.holds],
        "facts": await plays.facts(thread.pk),
    }
