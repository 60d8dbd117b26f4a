"""The model of a thread, and what it is told beforehand."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from branching import assistants, threads
from branching.exceptions import BranchingError
from branching.limits import INSTRUCTIONS_MAX
from branching.models import Thread
from chatapp import engine, stream
from chatapp.accounts import person_required
from chatapp.http import PersonRequest, answers_errors, sidebar, status_of, thread_or_404


@require_http_methods(["GET", "POST"])
@never_cache
@person_required
@answers_errors
async def change(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """What is chosen for the thread; a POST chooses."""
    thread = await thread_or_404(request, thread_id)
    if not assistants.get(thread.assistant).takes_choices:
        raise Http404
    if request.method == "GET":
        return await _page(request, thread)
    chosen = {name: request.POST.get(name, "") for name in ("model", "instructions")}
    try:
        await threads.choose(thread_id, engine.get().models, **chosen)
    except BranchingError as error:
        thread.model, thread.instructions = chosen["model"], chosen["instructions"]
        return await _page(request, thread, error)
    await stream.announce(thread_id)
    return redirect("thread", thread_id)


async def _page(request: PersonRequest, thread: Thread, error: BranchingError | None = None) -> HttpResponse:
    models = engine.get().models
    # One that is offered no more stands in the list for as long as it is chosen.
    names = dict.fromkeys((*models.names, thread.model))
    context = {
        "thread": thread,
        "models": [(name, models.of(name).label) for name in names],
        "chosen": thread.model,
        "told": thread.instructions,
        "limit": INSTRUCTIONS_MAX,
        "error": gettext(str(error)) if error else "",
        **await sidebar(request),
    }
    return render(request, "chat/choices.html", context, status=status_of(error) if error else 200)
