"""How much room a thread takes, by its branches, and to delete one of them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from branching import branches, sizes
from branching.exceptions import BranchingError, NotFound
from branching.models import Thread
from chatapp import engine, stream
from chatapp.accounts import person_required
from chatapp.forms.threads import CommandForm
from chatapp.http import PersonRequest, answers_errors, sidebar, status_of, thread_or_404
from chatapp.runner import runner

ON_A_PAGE = 50


@require_GET
@never_cache
@person_required
@answers_errors
async def show(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """What the thread takes, and which of its branches takes it."""
    return await _page(request, await thread_or_404(request, thread_id))


@require_http_methods(["GET", "POST"])
@never_cache
@person_required
@answers_errors
async def delete(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """Ask, then delete the branch that ends in this message."""
    thread = await thread_or_404(request, thread_id)
    if request.method == "GET":
        return await _question(request, thread, pk)
    await runner.renew(thread_id)
    try:
        command = CommandForm.read(request.POST)
        await branches.delete(engine.get(), thread_id, message=pk, by=request.user, **command)
    except NotFound:
        raise
    except BranchingError as error:
        thread = await thread_or_404(request, thread_id)
        return await _page(request, thread, error=gettext(str(error)), status=status_of(error))
    await stream.announce(thread_id)
    await stream.announce_list(request.user.pk)
    return redirect("storage", thread_id)


async def _page(request: PersonRequest, thread: Thread, *, status: int = 200, **more: Any) -> HttpResponse:
    storage = await sizes.storage(thread)
    page = Paginator(storage.branches, ON_A_PAGE).get_page(request.GET.get("page"))
    context = {"thread": thread, "storage": storage, "page": page, **await sidebar(request), **more}
    return render(request, "chat/storage.html", context, status=status)


async def _question(request: PersonRequest, thread: Thread, pk: int) -> HttpResponse:
    found = (await sizes.storage(thread)).branches
    branch = next((each for each in found if each.end == pk and not each.is_shown), None)
    if branch is None:
        raise Http404
    return render(request, "chat/branch_delete.html", {"thread": thread, "branch": branch})
