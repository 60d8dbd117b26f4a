"""Runs as a person steers them: have a message answered, try again, stop."""

from __future__ import annotations

from uuid import UUID

from django.http import Http404, HttpResponse
from django.views.decorators.http import require_POST

from branching import commands
from chatapp.accounts import person_required
from chatapp.forms.threads import CommandForm
from chatapp.http import PersonRequest, answers_errors, changed, thread_or_404
from chatapp.runner import runner


@require_POST
@person_required
@answers_errors
async def resume(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """Go on from HEAD: the second half of an edit, and another try after a failure or a stop."""
    await thread_or_404(request, thread_id)
    await runner.begin(commands.resume, thread_id, by=request.user, **CommandForm.read(request.POST))
    return await changed(request, thread_id)


@require_POST
@person_required
@answers_errors
async def stop(request: PersonRequest, thread_id: UUID, run_id: UUID) -> HttpResponse:
    """Stop the reply; what it had said is kept. Stopping what has ended changes nothing."""
    thread = await thread_or_404(request, thread_id)
    if not await thread.runs.filter(pk=run_id).aexists():
        raise Http404
    await runner.stop(run_id)
    return await changed(request, thread_id)
