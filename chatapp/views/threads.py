"""Threads as a person has them: the welcome page, and to open, make, rename and delete one."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from branching import deleting, threads
from branching.exceptions import BadRequest, UnknownAssistant
from branching.search import find
from chatapp import engine, pages, stream
from chatapp.accounts import person_required
from chatapp.forms.threads import KeepForm, whole_number
from chatapp.http import PersonRequest, answers_errors, changed, sidebar, thread_or_404, thread_page
from chatapp.runner import runner

QUERY_MAX = 200


@require_GET
@person_required
async def home(request: PersonRequest) -> HttpResponse:
    """Welcome, with a way to begin."""
    return await _welcome(request)


@require_POST
@person_required
async def create(request: PersonRequest) -> HttpResponse:
    """Begin a thread with the chosen assistant."""
    try:
        thread = await threads.create(request.user, assistant=request.POST.get("assistant", ""))
    except UnknownAssistant as error:
        return await _welcome(request, status=422, error=gettext(str(error)))
    return redirect("thread", thread.pk)


async def _welcome(request: PersonRequest, *, status: int = 200, error: str = "") -> HttpResponse:
    context = {**await sidebar(request), "model": engine.get().models, "error": error}
    return render(request, "chat/home.html", context, status=status)


@require_GET
@never_cache
@person_required
async def show(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """A thread, where its HEAD is. What was deleted in it long enough ago goes now."""
    await thread_or_404(request, thread_id)
    if await deleting.clear(thread_id):
        await stream.announce(thread_id)
    return await thread_page(request, thread_id)


@require_GET
@person_required
@answers_errors
async def checkpoint(request: PersonRequest, thread_id: UUID, checkpoint_id: str) -> HttpResponse:
    """A version for ever: the transcript that ends in this checkpoint, wherever HEAD is."""
    thread = await thread_or_404(request, thread_id)
    message = whole_number(request.GET, "message") if "message" in request.GET else None
    page = await pages.at(thread_id, checkpoint_id, message)
    context = {"checkpoint_id": checkpoint_id, "is_head": thread.head == checkpoint_id, "landing": message}
    return render(request, "chat/version.html", {**page.context, **await sidebar(request), **context})


@require_POST
@person_required
@answers_errors
async def rename(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """Give the thread another title."""
    await thread_or_404(request, thread_id)
    await threads.rename(thread_id, title=request.POST.get("title", ""))
    return await changed(request, thread_id)


@require_POST
@person_required
@answers_errors
async def keep(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """Pin or put away the thread, or the reverse."""
    await thread_or_404(request, thread_id)
    await threads.keep(thread_id, **KeepForm.read(request.POST))
    if request.htmx:
        return await changed(request, thread_id)
    await stream.announce_list(request.user.pk)
    return redirect("thread", thread_id)


@require_GET
@never_cache
@person_required
async def search(request: PersonRequest) -> HttpResponse:
    """What was said somewhere, on any version; and the conversations that were put away."""
    query = request.GET.get("q", "").strip()[:QUERY_MAX].replace("\0", "")
    try:
        before = whole_number(request.GET, "before") if "before" in request.GET else None
    except BadRequest as error:
        raise Http404 from error
    found = await find(request.user, query, before=before)
    archived = [] if query else await threads.of(request.user, archived=True)
    context = {"query": query, "found": found, "archived": archived, **await sidebar(request)}
    return render(request, "chat/search.html", context)


@require_http_methods(["GET", "POST"])
@person_required
async def delete(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """Ask, then remove the thread with all its versions."""
    thread = await thread_or_404(request, thread_id)
    if request.method == "GET":
        return render(request, "chat/delete.html", {"thread": thread, **await sidebar(request)})
    await runner.stop_thread(thread_id)
    await threads.delete(thread_id)
    await stream.announce(thread_id)
    await stream.announce_list(request.user.pk)
    return redirect("home")
