"""Several versions of a reply at once, beside each other while they are written."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from branching import heads, several
from branching.exceptions import Conflict, Invalid, NoSuchRun
from chatapp import beside, stream
from chatapp.accounts import person_required
from chatapp.forms.threads import CommandForm, whole_number
from chatapp.http import PersonRequest, answers_errors, sidebar, status_of, thread_or_404
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
    return _lead(request, address)


@require_http_methods(["GET", "POST"])
@never_cache
@person_required
@answers_errors
async def show(request: PersonRequest, thread_id: UUID, run_id: UUID) -> HttpResponse:
    """The replies that were begun together. A POST stops the run named `stop`, goes on with the one named `resume`, or
    takes the `message` to go on from."""
    await thread_or_404(request, thread_id)
    notice, status = None, 200
    if request.method == "POST":
        try:
            return await _carry_out(request, thread_id, run_id)
        except (Conflict, Invalid) as error:
            notice, status = {"text": gettext(str(error)), "kind": "error"}, status_of(error)
    context, _ = await beside.current(thread_id, run_id, owner=request.user)
    context["notice"] = notice
    if request.htmx:
        return render(request, "stream/several.html", context, status=status)
    context["socket_url"] = f"/ws/threads/{thread_id}/several/{run_id}/"
    return render(request, "chat/several.html", {**context, **await sidebar(request)}, status=status)


async def _carry_out(request: PersonRequest, thread_id: UUID, first: UUID) -> HttpResponse:
    if "stop" in request.POST:
        await runner.stop(await _named(request, "stop", thread_id, first))
        return HttpResponse(status=204) if request.htmx else redirect("several", thread_id, first)
    command = {**CommandForm.read(request.POST), "by": request.user}
    if "resume" in request.POST:
        await runner.begin(several.go_on, thread_id, run=await _named(request, "resume", thread_id, first), **command)
    else:
        await heads.switch(thread_id, message=whole_number(request.POST, "message"), **command)
    await stream.announce(thread_id)
    return _lead(request, reverse("thread", args=[thread_id]))


async def _named(request: PersonRequest, field: str, thread_id: UUID, first: UUID) -> UUID:
    """The one of them that the field names. Raises `NoSuchRun`."""
    for each in await several.attempts(thread_id, first):
        if str(each.run.pk) == request.POST[field]:
            return each.run.pk
    raise NoSuchRun


def _lead(request: PersonRequest, address: str) -> HttpResponse:
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)
