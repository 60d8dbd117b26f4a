"""What a person does with messages: send, edit, regenerate, and move between their versions."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from branching import assistants, commands, heads, window
from branching.exceptions import BadRequest, BranchingError, Conflict, Invalid, NoSuchCheckpoint, NoSuchMessage
from branching.models import Thread
from branching.types import Stretch
from chatapp import engine, pages
from chatapp.accounts import person_required
from chatapp.forms.threads import CommandForm, ContentForm, SwitchForm, whole_number
from chatapp.http import PersonRequest, answers_errors, changed, status_of, thread_or_404, thread_page
from chatapp.runner import runner


@require_GET
@never_cache
@person_required
@answers_errors
async def show(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """The thread with this message in sight; if another version is shown, the one that holds it, to look at."""
    await thread_or_404(request, thread_id)
    try:
        return await thread_page(request, thread_id, message=pk, landing=pk)
    except NoSuchMessage:
        version = reverse("checkpoint", args=[thread_id, await heads.landing(thread_id, pk)])
        return redirect(f"{version}?message={pk}")


@require_GET
@person_required
@answers_errors
async def earlier(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """The messages up to this one, for a page that has what comes after it."""
    thread = await thread_or_404(request, thread_id)
    return await _stretch(request, thread, await window.earlier(thread_id, pk), to=pk)


@require_GET
@person_required
@answers_errors
async def later(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """The messages after this one, for a page that has what comes before it, and what comes after `to`."""
    thread = await thread_or_404(request, thread_id)
    to = whole_number(request.GET, "to")
    return await _stretch(request, thread, await window.later(thread_id, pk, to=to), to=to)


async def _stretch(request: PersonRequest, thread: Thread, stretch: Stretch, *, to: int) -> HttpResponse:
    # From the page of a version, which is there to be looked at.
    checkpoint_id = request.GET.get("checkpoint")
    if checkpoint_id and not await thread.checkpoints.filter(checkpoint_id=checkpoint_id).aexists():
        raise NoSuchCheckpoint
    context = {
        "stretch": stretch,
        "thread_id": thread.pk,
        "head_version": thread.head_version,
        "to": to,
        "assistant": assistants.get(thread.assistant),
        "checkpoint_id": checkpoint_id,
        "readonly": bool(checkpoint_id),
    }
    return render(request, "chat/_stretch.html", context)


@require_POST
@person_required
@answers_errors
async def send(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """Say something at HEAD, and have it answered."""
    await thread_or_404(request, thread_id)
    command = ContentForm.read(request.POST)
    await runner.begin(commands.send, thread_id, text=command.pop("content"), by=request.user, **command)
    return await changed(request, thread_id, "stream/sent.html")


@require_POST
@person_required
@answers_errors
async def replay(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """Regenerate the reply."""
    await thread_or_404(request, thread_id)
    await runner.begin(commands.replay, thread_id, message=pk, by=request.user, **CommandForm.read(request.POST))
    return await changed(request, thread_id)


@require_POST
@person_required
@answers_errors
async def again(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """Do the turn anew from the step on that brought this message."""
    await thread_or_404(request, thread_id)
    command = CommandForm.read(request.POST)
    await runner.begin(commands.replay, thread_id, message=pk, whole=False, by=request.user, **command)
    return await changed(request, thread_id)


@require_http_methods(["GET", "POST"])
@person_required
@answers_errors
async def edit(request: PersonRequest, thread_id: UUID, pk: int) -> HttpResponse:
    """The edit box of a message; then the first half of an edit, which the page follows up with a run."""
    await thread_or_404(request, thread_id)
    if request.method == "GET":
        return await _edit_box(request, thread_id, pk)
    command = ContentForm.read(request.POST)
    text = command.pop("content")
    await runner.renew(thread_id)
    try:
        edited = await commands.edit(engine.get(), thread_id, message=pk, text=text, by=request.user, **command)
    except (Invalid, Conflict) as error:
        return await _edit_box(request, thread_id, pk, text=text, error=error)
    return await changed(request, thread_id, "stream/edited.html" if edited else "stream/changed.html")


@require_POST
@person_required
@answers_errors
async def switch(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """Show another version. Runs nothing."""
    await thread_or_404(request, thread_id)
    command = SwitchForm.read(request.POST)
    message, checkpoint = command.pop("message"), command.pop("checkpoint")
    if message:
        await heads.switch(thread_id, message=message, by=request.user, **command)
    elif checkpoint:
        await heads.go(thread_id, checkpoint_id=checkpoint, by=request.user, **command)
    else:
        raise BadRequest
    return await changed(request, thread_id, message=message)


@require_POST
@person_required
@answers_errors
async def undo(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """Take the last move of HEAD back."""
    await thread_or_404(request, thread_id)
    await heads.undo(thread_id, by=request.user, **CommandForm.read(request.POST))
    return await changed(request, thread_id)


async def _edit_box(
    request: PersonRequest, thread_id: UUID, pk: int, *, text: str | None = None, error: BranchingError | None = None
) -> HttpResponse:
    """The message opened for editing, with what was typed and what is wrong with it, if anything is.

    A message that has left the screen meanwhile has no place for a box: then the error goes its usual way.
    """
    try:
        page = await pages.current(thread_id, pk)
    except NoSuchMessage as missing:
        raise error or missing from None
    version = await window.only(thread_id, pk)
    typed = version.text if text is None else text
    said = gettext(str(error)) if error else ""
    status = status_of(error) if error else 200
    if not request.htmx:
        editing = {"editing": pk, "edit_text": typed, "edit_error": said}
        return await thread_page(request, thread_id, status=status, message=pk, **editing)
    box = {"thread_id": thread_id, "version": version, "text": typed, "error": said}
    # What is above the window is on the page, the message among it.
    return render(request, "stream/edit.html", {**page.context, **box, "landed": None}, status=status)
