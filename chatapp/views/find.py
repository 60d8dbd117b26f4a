"""To find the step where it went wrong, and the checkpoint before it."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from branching import assistants, finding, forks
from branching.finding import Condition, Found
from branching.models import Thread
from chatapp import engine
from chatapp.accounts import person_required
from chatapp.forms.machine import FindForm
from chatapp.http import PersonRequest, answers_errors, sidebar, thread_or_404

ON_A_PAGE = 50

OPERATORS = (
    ("contains", _("contains")),
    ("is", _("is")),
    ("is-not", _("is not")),
    ("greater", _("is more than")),
    ("less", _("is less than")),
)


@require_GET
@never_cache
@person_required
@answers_errors
async def find(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """The form, and what it has found. Reads only."""
    thread = await thread_or_404(request, thread_id)
    asked = FindForm.read(request.GET)
    graph = engine.get().graph(thread.assistant)
    found = await _found(thread, asked)
    context = {
        "thread": thread,
        "assistant": assistants.get(thread.assistant),
        "asked": asked,
        "nodes": forks.nodes(graph),
        "fields": forks.fields(graph),
        "operators": OPERATORS,
        "found": found,
        "more": f"?{urlencode({**asked, 'before': found.more})}" if found and found.more else "",
    }
    return render(request, "machine/find.html", {**context, **await sidebar(request)})


async def _found(thread: Thread, asked: dict[str, Any]) -> Found | None:
    before = asked["before"] or None
    match asked["by"]:
        case "node":
            return await finding.by_node(thread.pk, asked["node"], before=before, limit=ON_A_PAGE)
        case "error":
            return await finding.by_error(engine.get(), thread.pk, asked["text"], before=before)
        case "state":
            value = finding.value_of(asked["value"])
            condition = Condition(asked["field"], asked["operator"] or "contains", value)
            return await finding.by_state(engine.get(), thread.pk, condition, before=before)
    return None
