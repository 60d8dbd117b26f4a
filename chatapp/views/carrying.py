"""To take conversations along: as Markdown, as a file with all versions, and back from such a file."""

from __future__ import annotations

from uuid import UUID

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import slugify
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from branching import carrying, chatgpt, importing, window
from branching.exceptions import BadFile, BranchingError
from branching.models import Thread
from chatapp import engine, stream
from chatapp.accounts import person_required
from chatapp.http import PersonRequest, sidebar, status_of, thread_or_404

FILE_MAX = 20 * 2**20
"""Bytes of a file that is taken in."""


@require_GET
@never_cache
@person_required
async def as_json(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """The thread with all its versions, in the format of docs/format.md."""
    thread = await thread_or_404(request, thread_id)
    text = carrying.write([await carrying.take(thread_id)])
    return _file(text, thread, "json", "application/json; charset=utf-8")


@require_GET
@never_cache
@person_required
async def as_markdown(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """The version that is shown, as Markdown."""
    thread = await thread_or_404(request, thread_id)
    parts = [f"# {thread.title}\n"] if thread.title else []
    async for version in window.whole(thread):
        if version.kind != "tool" and version.text:
            parts.append(f"**{gettext('You') if version.kind == 'human' else gettext('Reply')}**\n\n{version.text}\n")
    return _file("\n".join(parts), thread, "md", "text/markdown; charset=utf-8")


def _file(text: str, thread: Thread, ending: str, kind: str) -> HttpResponse:
    name = slugify(thread.title) or "conversation"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    return HttpResponse(text.encode("utf-8", "replace"), content_type=kind, headers=headers)


@require_http_methods(["GET", "POST"])
@person_required
async def bring(request: PersonRequest) -> HttpResponse:
    """Ask for a file; make threads of what is in it, all or none."""
    if request.method == "GET":
        return await _page(request)
    try:
        carried = _read(request.FILES.get("file"))
        made = await importing.bring(engine.get(), request.user, carried)
    except BranchingError as error:
        return await _page(request, status=status_of(error), error=gettext(str(error)))
    await stream.announce_list(request.user.pk)
    return redirect("thread", made[0].pk) if len(made) == 1 else redirect("home")


def _read(file: UploadedFile | None) -> list[carrying.Carried]:
    if file is None:
        raise BadFile(gettext("Choose a file first."))
    if file.size > FILE_MAX:
        text = gettext("The file is larger than %(most)d MB.") % {"most": FILE_MAX // 2**20}
        raise BadFile(text)
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadFile(gettext("The file is no JSON, or it is broken.")) from None
    return chatgpt.read(text) if chatgpt.looks_like(text) else carrying.read(text)


async def _page(request: PersonRequest, *, status: int = 200, error: str = "") -> HttpResponse:
    context = {**await sidebar(request), "error": error, "megabytes": FILE_MAX // 2**20}
    return render(request, "chat/import.html", context, status=status)
