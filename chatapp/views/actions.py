"""What an assistant does to the world: answers to what it asks, the record of it, and bookings to cancel."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from branching import assistants, bookings, commands, ledger
from branching.exceptions import AlreadyCancelled
from branching.models import Thread
from chatapp import stream
from chatapp.accounts import person_required
from chatapp.forms.threads import AnswerForm, CommandForm
from chatapp.http import PersonRequest, answers_errors, changed, sidebar, status_of, thread_or_404
from chatapp.runner import runner

ON_A_PAGE = 50


@require_POST
@person_required
@answers_errors
async def answer(request: PersonRequest, thread_id: UUID, checkpoint_id: str) -> HttpResponse:
    """Answer what waits at the checkpoint that asked, and go on."""
    await thread_or_404(request, thread_id)
    command = AnswerForm.read(request.POST)
    await runner.begin(commands.answer, thread_id, checkpoint_id=checkpoint_id, by=request.user, **command)
    return await changed(request, thread_id)


@require_POST
@person_required
@answers_errors
async def decide_again(request: PersonRequest, thread_id: UUID, checkpoint_id: str) -> HttpResponse:
    """Be asked anew, on a branch of its own, what was asked at this checkpoint."""
    await thread_or_404(request, thread_id)
    command = CommandForm.read(request.POST)
    await runner.begin(commands.decide_again, thread_id, checkpoint_id=checkpoint_id, by=request.user, **command)
    return await changed(request, thread_id)


@require_GET
@never_cache
@person_required
@answers_errors
async def show(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """All that the assistant has done or wanted to do, on all branches."""
    return await _page(request, await thread_or_404(request, thread_id))


@require_POST
@person_required
@answers_errors
async def cancel(request: PersonRequest, thread_id: UUID, order: str) -> HttpResponse:
    """Cancel a booking by hand, whichever branch it was made on."""
    thread = await thread_or_404(request, thread_id)
    try:
        await bookings.cancel_by_hand(thread_id, order=order, by=request.user)
    except AlreadyCancelled as error:
        return await _page(request, thread, error=gettext(str(error)), status=status_of(error))
    await stream.announce(thread_id)
    return redirect("actions", thread_id)


async def _page(request: PersonRequest, thread: Thread, *, status: int = 200, **more: Any) -> HttpResponse:
    lines = (await ledger.read(thread.pk))[::-1]
    page = Paginator(lines, ON_A_PAGE).get_page(request.GET.get("page"))
    context = {"thread": thread, "assistant": assistants.get(thread.assistant), "page": page, **more}
    return render(request, "chat/actions.html", {**context, **await sidebar(request)}, status=status)
