"""To delete one version with what follows it, and to bring it back."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from branching import deleting
from chatapp import engine, stream
from chatapp.accounts import person_required
from chatapp.forms.threads import CommandForm
from chatapp.http import PersonRequest, answers_errors, changed, thread_or_404
from chatapp.runner import runner


@require_http_methods(["GET", "POST"])
@never_cache
@person_required
@answers_errors
async def delete(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """Say what would go, then delete it; `from` says where one came from."""
    thread = await thread_or_404(request, thread_id)
    if request.method == "GET":
        going = await deleting.preview(thread_id, message=pk)
        context = {"thread": thread, "going": going, "from": request.GET.get("from", "")}
        return render(request, "chat/version_delete.html", context)
    await runner.renew(thread_id)
    command = CommandForm.read(request.POST)
    await deleting.delete(engine.get(), thread_id, message=pk, by=request.user, **command)
    return await _done(request, thread_id)


@require_POST
@person_required
@answers_errors
async def restore(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """Bring back what was deleted."""
    await thread_or_404(request, thread_id)
    await deleting.restore(thread_id, deletion=pk, by=request.user, **CommandForm.read(request.POST))
    return await _done(request, thread_id)


@require_POST
@person_required
@answers_errors
async def remove(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """Remove for good what was deleted, without waiting."""
    await thread_or_404(request, thread_id)
    CommandForm.read(request.POST)
    await runner.renew(thread_id)
    await deleting.remove_now(thread_id, deletion=pk)
    return await _done(request, thread_id)


async def _done(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    if request.POST.get("from") != "map":
        return await changed(request, thread_id)
    await stream.announce(thread_id)
    await stream.announce_list(request.user.pk)
    return redirect("map", thread_id)
