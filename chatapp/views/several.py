"""Several versions of a reply at once, beside each other while they are written."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from branching import assistants, several
from branching.models import Thread
from branching.several import Attempt
from chatapp import stream
from chatapp.accounts import person_required
from chatapp.forms.threads import CommandForm, whole_number
from chatapp.http import PersonRequest, answers_errors, sidebar, thread_or_404
from chatapp.runner import runner


@require_POST
@person_required
@answers_errors
async def begin(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """Have the reply written anew so many times at once, and look at them."""
    await thread_or_404(request, thread_id)
    given = {"message": pk, "count": whole_number(request.POST, "count"), "by": request.user}
    first = await runner.begin_several(thread_id, **given, **CommandForm.read(request.POST))
    await stream.announce(thread_id)
    address = reverse("several", args=[thread_id, first.pk]) if first else reverse("thread", args=[thread_id])
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)


@require_http_methods(["GET", "POST"])
@never_cache
@person_required
@answers_errors
async def show(request: PersonRequest, thread_id: UUID, run_id: UUID) -> HttpResponse:
    """The replies that were begun together; a POST stops the one that it names as `run`.

    A page that is open asks again and again while one is being written.
    """
    thread = await thread_or_404(request, thread_id)
    found = await several.attempts(thread_id, run_id)
    if request.method == "POST":
        for each in found:
            if str(each.run.pk) == request.POST.get("run"):
                await runner.stop(each.run.pk)
        return redirect("several", thread_id, run_id)
    context = {
        "thread": thread,
        "assistant": assistants.get(thread.assistant),
        "first": run_id,
        "attempts": [_shown(thread, each) for each in found],
        "is_active": any(each.is_active for each in found),
    }
    if request.htmx:
        return render(request, "chat/_several.html", context)
    return render(request, "chat/several.html", {**context, **await sidebar(request)})


def _shown(thread: Thread, attempt: Attempt) -> dict[str, Any]:
    live = runner.live(attempt.run.pk)
    is_head = attempt.run.tip is not None and attempt.run.tip == thread.head
    return {"each": attempt, "blocks": live.reply.blocks() if live else [], "is_head": is_head}
