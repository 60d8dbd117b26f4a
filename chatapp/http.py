"""Between requests and the domain: owner checks, and what a person sees after a command or an error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from inspect import iscoroutinefunction
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import sync_and_async_middleware
from django.utils.translation import gettext
from django_htmx.middleware import HtmxDetails

from branching import assistants, threads
from branching.exceptions import BranchingError, Conflict, NoSuchMessage, NotFound
from branching.models import Thread
from chatapp import pages, stream

AsyncView = Callable[..., Coroutine[Any, Any, HttpResponse]]


class PersonRequest(HttpRequest):
    """A request whose person is known: see `accounts.person_required`."""

    htmx: HtmxDetails
    user: User


async def thread_or_404(request: PersonRequest, thread_id: UUID) -> Thread:
    """The person's own thread. One that is someone else's answers as if it did not exist."""
    thread = await threads.find(thread_id, owner=request.user)
    if thread is None:
        raise Http404
    return thread


@sync_and_async_middleware
def leads_back(get_response: Callable[..., Any]) -> Callable[..., Any]:
    """Middleware: the address of a command, opened by a bookmark or the browser's history, leads to its page."""
    if iscoroutinefunction(get_response):

        async def led_back(request: HttpRequest) -> HttpResponse:
            return _led_back(request, await get_response(request))

    else:

        def led_back(request: HttpRequest) -> HttpResponse:
            return _led_back(request, get_response(request))

    return led_back


def _led_back(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    if response.status_code != 405 or request.method != "GET" or request.headers.get("HX-Request"):
        return response
    thread_id = request.resolver_match.kwargs.get("thread_id")
    return redirect("thread", thread_id) if thread_id else redirect("home")


def answers_errors(view: AsyncView) -> AsyncView:
    """Let a command on a thread raise domain errors: the person gets a notice, the thread as it is now, and the text
    back. 404 for what is not there, 409 where the thread does not allow it, 422 for bad input."""

    @wraps(view)
    async def guarded(request: PersonRequest, thread_id: UUID, **kwargs: Any) -> HttpResponse:
        try:
            return await _whole(view(request, thread_id, **kwargs))
        except NotFound as error:
            raise Http404 from error
        except BranchingError as error:
            return await _refusal(request, thread_id, error)

    return guarded


async def _whole(command: Coroutine[Any, Any, HttpResponse]) -> HttpResponse:
    """What `command` returns. Whoever hangs up meanwhile cancels the request, but not this.

    Cut off in the middle, a command could leave a run that the thread waits for and nobody executes.
    """
    task = asyncio.create_task(command)
    try:
        return await asyncio.shield(task)
    finally:
        await asyncio.wait({task})


async def _refusal(request: PersonRequest, thread_id: UUID, error: BranchingError) -> HttpResponse:
    notice = {"text": gettext(str(error)), "kind": "error"}
    status, typed = status_of(error), request.POST.get("content", "")
    if not request.htmx:
        return await thread_page(request, thread_id, status=status, notice=notice, draft=typed)
    page = await pages.current(thread_id)
    return render(request, "stream/refused.html", {**page.context, "notice": notice}, status=status)


def status_of(error: BranchingError) -> int:
    """The HTTP status that tells what kind of refusal this is."""
    return 409 if isinstance(error, Conflict) else 422


async def thread_page(
    request: PersonRequest, thread_id: UUID, *, status: int = 200, message: int | None = None, **more: Any
) -> HttpResponse:
    """The whole page of a thread, with this message of it in sight. Raises `NoSuchMessage`."""
    page = await pages.current(thread_id, message)
    context = {**page.context, **await sidebar(request), "socket_url": f"/ws/threads/{thread_id}/", **more}
    return render(request, "chat/thread.html", context, status=status)


async def sidebar(request: PersonRequest) -> dict[str, Any]:
    """What every page shows beside its own matter."""
    return {"threads": await threads.of(request.user), "assistants": assistants.ASSISTANTS.values()}


async def changed(
    request: PersonRequest, thread_id: UUID, template: str = "stream/changed.html", *, message: int | None = None
) -> HttpResponse:
    """The answer to a command that was carried out: the thread as it is now, here and in all other tabs.

    With `message`, the one on which the command was given, it stays in sight here, however long the thread.
    """
    await stream.announce(thread_id)
    await stream.announce_list(request.user.pk)
    if not request.htmx:
        return redirect("message", thread_id, message) if message else redirect("thread", thread_id)
    try:
        page = await pages.current(thread_id, message)
    except NoSuchMessage:  # somebody has moved on already
        page = await pages.current(thread_id)
    return render(request, template, {**page.context, **await sidebar(request)})
