"""The map of a thread, and the names of its versions."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from branching import chart, deleting, labels, window
from branching.chart import Chart
from branching.exceptions import BranchingError, NotFound
from branching.limits import LABEL_MAX
from chatapp import stream
from chatapp.accounts import person_required
from chatapp.http import PersonRequest, answers_errors, sidebar, status_of, thread_or_404

ON_A_PAGE = 400

LANES = 12
"""Branches that are drawn beside each other; what stands further out is drawn in the last one."""

QUERY_MAX = 200

HITS = 30
"""Of what was found so many are listed, to step through."""


@require_GET
@never_cache
@person_required
@answers_errors
async def show(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """All versions as a tree. Pressing one shows it."""
    thread = await thread_or_404(request, thread_id)
    query = request.GET.get("q", "").strip()[:QUERY_MAX].replace("\0", "")
    unfolded = [int(each) for each in request.GET.getlist("open") if each.isascii() and each.isdigit()]
    found = await chart.draw(thread_id, query=query, unfolded=unfolded)
    kept = {"q": query} if query else {}
    here = "?" + urlencode({**kept, "open": unfolded}, doseq=True)
    at = {spot.pk: number // ON_A_PAGE + 1 for number, spot in enumerate(found.spots)}
    context = {
        "thread": thread,
        "chart": found,
        "page": Paginator(found.spots, ON_A_PAGE).get_page(request.GET.get("page") or at.get(_wanted(request, found))),
        "hits": [(pk, f"{here}&page={at[pk]}#spot-{pk}") for pk in found.hits[:HITS]],
        "deleted": await deleting.pending(thread_id),
        "lanes": min(found.width, LANES),
        "query": query,
        "here": here,
        **await sidebar(request),
    }
    return render(request, "chat/map.html", context)


def _wanted(request: PersonRequest, found: Chart) -> int | None:
    """The spot that one wants to see first: the one named, the first that says it, or the one that is shown."""
    named = request.GET.get("at", "") or (request.GET.getlist("open") or [""])[-1]
    if named.isascii() and named.isdigit():
        return int(named)
    shown = (spot.pk for spot in found.spots if spot.is_head)
    return next(iter(found.hits), None) or next(shown, None)


@require_http_methods(["GET", "POST"])
@never_cache
@person_required
@answers_errors
async def label(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """Name a version; `from` says where one came from."""
    thread = await thread_or_404(request, thread_id)
    came_from = request.POST.get("from") or request.GET.get("from", "")
    context = {"thread": thread, "version": await window.only(thread_id, pk), "limit": LABEL_MAX, "from": came_from}
    if request.method == "GET":
        return render(request, "chat/label.html", context)
    typed = request.POST.get("label", "")
    try:
        await labels.name(thread_id, message=pk, label=typed)
    except NotFound:
        raise
    except BranchingError as error:
        told = {"typed": typed, "error": gettext(str(error))}
        return render(request, "chat/label.html", context | told, status=status_of(error))
    await stream.announce(thread_id)
    if came_from == "map":
        return redirect(f"{reverse('map', args=[thread_id])}?at={pk}#spot-{pk}")
    return redirect("message", thread_id, pk)
