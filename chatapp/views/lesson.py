"""The lesson: what each button stores, seen on a thread of one's own as one presses them."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from branching import leases, listing, threads, transcript
from branching.exceptions import BranchingError, NotFound
from branching.models import Thread
from branching.types import ListedCheckpoint
from chatapp import stream
from chatapp.accounts import person_required
from chatapp.forms.threads import CommandForm
from chatapp.http import PersonRequest, answers_errors, sidebar, status_of, thread_or_404
from chatapp.lesson import ASSISTANT, CHAPTERS, Chapter

ROWS = 60
"""Checkpoints that a page shows, the newest ones: a lesson makes less than half of them."""


@require_POST
@person_required
async def begin(request: PersonRequest) -> HttpResponse:
    """Make a thread to learn on, and open the first chapter."""
    thread = await threads.create(request.user, assistant=ASSISTANT)
    await threads.rename(thread.pk, title=gettext("The lesson"))
    await stream.announce_list(request.user.pk)
    return redirect("lesson-chapter", thread.pk, CHAPTERS[0].name)


@require_http_methods(["GET", "POST"])
@never_cache
@person_required
@answers_errors
async def chapter(request: PersonRequest, thread_id: UUID, name: str) -> HttpResponse:
    """A chapter of the lesson; with `after`, a checkpoint's id, what its press has added to that. A POST presses.

    A page that is open asks again and again, and hears of news only.
    """
    thread = await thread_or_404(request, thread_id)
    number = next((at for at, each in enumerate(CHAPTERS) if each.name == name), None)
    if number is None or thread.assistant != ASSISTANT:
        raise Http404
    if request.method == "POST":
        return await _press(request, thread, number)
    if request.htmx and request.GET.get("seen") == str(thread.revision):
        return HttpResponse(status=204)
    context = await _shown(thread, number, request.GET.get("after"))
    if request.htmx:
        return render(request, "lesson/_chapter.html", context)
    return render(request, "lesson/chapter.html", {**context, **await sidebar(request)})


async def _press(request: PersonRequest, thread: Thread, number: int) -> HttpResponse:
    newest = await thread.checkpoints.order_by("-pk").values_list("checkpoint_id", flat=True).afirst()
    try:
        await CHAPTERS[number].press(thread, {"by": request.user, **CommandForm.read(request.POST)})
    except NotFound:
        raise
    except BranchingError as error:
        context = await _shown(await thread_or_404(request, thread.pk), number, None)
        told = {"error": gettext(str(error)), **await sidebar(request)}
        return render(request, "lesson/chapter.html", {**context, **told}, status=status_of(error))
    await stream.announce(thread.pk)
    return redirect(_address(thread, CHAPTERS[number], after=newest or ""))


async def _shown(thread: Thread, number: int, after: str | None) -> dict[str, Any]:
    rows = await listing.checkpoints(thread.pk, limit=ROWS)
    places = await listing.places(thread.pk, rows)
    came = _since(rows, after) if after is not None else []
    chapter = CHAPTERS[number]
    is_running = await leases.is_active(thread.pk)
    known = {} if after is None else {"after": after}
    return {
        "thread": thread,
        "view": await transcript.read(thread.pk),
        "chapter": chapter,
        "number": number + 1,
        "chapters": CHAPTERS,
        "back": _address(thread, CHAPTERS[number - 1]) if number else "",
        "on": _address(thread, CHAPTERS[number + 1]) if number + 1 < len(CHAPTERS) else "",
        "is_pressed": after is not None,
        "is_running": is_running,
        "is_as_said": [(row.source, ",".join(row.next)) for row in came] == list(chapter.adds),
        "came": came,
        "fresh": {row.id for row in came},
        "lines": [(row, places[row.id]) for row in rows],
        "lanes": max((place.width for place in places.values()), default=0),
        "asked": {},
        "poll": _address(thread, chapter, **known, seen=thread.revision),
    }


def _since(rows: list[ListedCheckpoint], after: str) -> list[ListedCheckpoint]:
    """Those of the rows, newest first, that came later than that checkpoint; oldest first."""
    known = [row.id for row in rows]
    return rows[: known.index(after) if after in known else None][::-1]


def _address(thread: Thread, chapter: Chapter, **fields: Any) -> str:
    path = reverse("lesson-chapter", args=[thread.pk, chapter.name])
    return f"{path}?{urlencode(fields)}" if fields else path
