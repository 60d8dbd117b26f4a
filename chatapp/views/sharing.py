"""Links to one version: to make them and take them back, and what anybody sees who has one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from branching import assistants, sharing, transcript
from branching.exceptions import NotFound
from chatapp.accounts import person_required
from chatapp.forms.threads import whole_number
from chatapp.http import PersonRequest, answers_errors, sidebar, thread_or_404


@require_http_methods(["GET", "POST"])
@never_cache
@person_required
@answers_errors
async def manage(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """The links into the thread, and to make one of what it shows; a POST makes one that ends in `message`."""
    thread = await thread_or_404(request, thread_id)
    if request.method == "POST":
        await sharing.share(thread_id, message=whole_number(request.POST, "message"))
        return redirect("share", thread_id)
    view = await transcript.read(thread_id)
    links = [(link, _address(request, link.token)) for link in await sharing.links(thread_id)]
    context = {"thread": thread, "view": view, "links": links, **await sidebar(request)}
    return render(request, "chat/share.html", context)


@require_POST
@person_required
@answers_errors
async def revoke(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """Take a link back."""
    await thread_or_404(request, thread_id)
    await sharing.revoke(thread_id, pk)
    return redirect("share", thread_id)


@require_GET
@never_cache
async def show(request: HttpRequest, token: str) -> HttpResponse:
    """The version that a link shows, for everybody who has it."""
    try:
        shared = await sharing.read(token)
    except NotFound as error:
        raise Http404 from error
    return _public(request, "chat/shared.html", token, shared.assistant, {"shared": shared})


@require_GET
@never_cache
async def earlier(request: HttpRequest, token: str, pk: int) -> HttpResponse:
    """The messages of it up to this one: for a page that has what comes after it, and as a page of its own."""
    try:
        shared, stretch = await sharing.read(token), await sharing.earlier(token, pk)
    except NotFound as error:
        raise Http404 from error
    template = "chat/_stretch.html" if request.htmx else "chat/shared.html"
    return _public(request, template, token, shared.assistant, {"shared": shared, "stretch": stretch})


def _public(request: HttpRequest, template: str, token: str, assistant: str, more: Mapping[str, Any]) -> HttpResponse:
    context = {"token": token, "readonly": True, "assistant": assistants.get(assistant), **more}
    response = render(request, template, context)
    # Whoever has the link may read it; that is no reason for everybody else to find it.
    response["X-Robots-Tag"] = "noindex, nofollow"
    response["Referrer-Policy"] = "no-referrer"
    return response


def _address(request: HttpRequest, token: str) -> str:
    return request.build_absolute_uri(reverse("shared", args=[token]))
