"""Two versions of a message beside each other."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from branching import assistants, comparing
from chatapp.accounts import person_required
from chatapp.forms.threads import whole_number
from chatapp.http import PersonRequest, answers_errors, sidebar, thread_or_404


@require_GET
@never_cache
@person_required
@answers_errors
async def show(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """This version beside the one named `with`, or beside its neighbour; `one` picks another one first."""
    thread = await thread_or_404(request, thread_id)
    other = whole_number(request.GET, "with") if request.GET.get("with") else None
    if request.GET.get("one"):
        one = whole_number(request.GET, "one")
        if one == other:  # nothing tells a version from itself
            return redirect(reverse("compare", args=[thread_id, one]))
        pk = one
    found = await comparing.compare(thread_id, pk, other)
    context = {
        "thread": thread,
        "assistant": assistants.get(thread.assistant),
        "comparison": found,
        "sides": [
            {"version": found.old, "parts": found.old_parts},
            {"version": found.new, "parts": found.new_parts},
        ],
        "reads": "reads" in request.GET,
    }
    return render(request, "chat/compare.html", {**context, **await sidebar(request)})
