"""Time travel by hand: to run again from any checkpoint, and to change the state there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from branching import assistants, explain, forecast, forks, importing, index, inspection, travel
from branching.exceptions import BadFork, BranchingError, MayActAgain, NotForkable, NotFound
from branching.forks import Choice, Update
from branching.models import Thread
from chatapp import engine, stream
from chatapp.accounts import person_required
from chatapp.forms.machine import UPDATES, ConsentForm, ForkForm, SayForm, updates_in
from chatapp.http import PersonRequest, answers_errors, sidebar, status_of, thread_or_404
from chatapp.runner import runner
from chatapp.views.machine import state_page

EXAMPLE = '[{"type": "human", "content": "…"}]'
"""What one may write for messages."""


@require_http_methods(["GET", "POST"])
@never_cache
@person_required
@answers_errors
async def replay(request: PersonRequest, thread_id: UUID, checkpoint_id: str) -> HttpResponse:
    """Say what would run again from this checkpoint, then run it."""
    thread = await thread_or_404(request, thread_id)
    ahead = await forecast.of(engine.get(), thread, checkpoint_id)
    if request.method == "GET":
        return await _replay_page(request, thread, checkpoint_id, ahead)
    try:
        command = ConsentForm.read(request.POST)
        if not command.pop("confirmed") and ahead.needs_consent:
            raise MayActAgain
        given = {"checkpoint_id": checkpoint_id, "by": request.user, **command}
        await runner.begin(travel.replay_from, thread_id, **given)
    except NotFound:
        raise
    except BranchingError as error:
        return await _replay_page(request, await thread_or_404(request, thread_id), checkpoint_id, ahead, error)
    # Where nothing runs, the list is where one sees what has come of it.
    return await _done(request, thread_id, "thread" if ahead.next else "checkpoints")


@require_POST
@person_required
@answers_errors
async def send_from(request: PersonRequest, thread_id: UUID, checkpoint_id: str) -> HttpResponse:
    """Say something new at this checkpoint, and have it answered."""
    thread = await thread_or_404(request, thread_id)
    found = await inspection.read(engine.get(), thread, checkpoint_id)
    try:
        command = SayForm.read(request.POST)
        ahead = await forecast.of(engine.get(), thread, checkpoint_id, (index.START,))
        if not command.pop("confirmed") and ahead.needs_consent:
            raise MayActAgain
        given = {"checkpoint_id": checkpoint_id, "text": command.pop("content"), "by": request.user, **command}
        await runner.begin(travel.send_from, thread_id, **given)
    except NotFound:
        raise
    except BranchingError as error:
        now = await thread_or_404(request, thread_id)
        return await state_page(request, now, found, status=status_of(error), **_told(error))
    return await _done(request, thread_id)


@require_POST
@person_required
@answers_errors
async def branch_off(request: PersonRequest, thread_id: UUID, checkpoint_id: str) -> HttpResponse:
    """Begin a thread of its own with the values of this checkpoint."""
    thread = await thread_or_404(request, thread_id)
    made = await importing.branch_off(engine.get(), thread, checkpoint_id)
    await stream.announce_list(request.user.pk)
    return redirect("thread", made.pk)


async def _replay_page(
    request: PersonRequest, thread: Thread, checkpoint_id: str, ahead: forecast.Forecast, error: Any = None
) -> HttpResponse:
    found = await inspection.read(engine.get(), thread, checkpoint_id)
    context = {"thread": thread, "found": found, "forecast": ahead, **_told(error), **await sidebar(request)}
    context |= {"assistant": assistants.get(thread.assistant)}
    context |= {"explanation": await _explanation(explain.replay_from, thread, checkpoint_id=checkpoint_id)}
    return render(request, "machine/replay.html", context, status=status_of(error) if error else 200)


@require_http_methods(["GET", "POST"])
@never_cache
@person_required
@answers_errors
async def fork(request: PersonRequest, thread_id: UUID, checkpoint_id: str) -> HttpResponse:
    """Change the state at this checkpoint: look what would come of it, then do it."""
    thread = await thread_or_404(request, thread_id)
    if assistants.get(thread.assistant).is_functional:
        raise NotForkable
    if request.method == "GET":
        return await _fork_page(request, thread, checkpoint_id)
    looked: Choice | None = None
    updates: list[Update] = []
    try:
        command = ForkForm.read(request.POST)
        updates, confirmed = updates_in(request.POST), command.pop("confirmed")
        looked = await forks.outlook(engine.get(), thread, checkpoint_id, updates, beside=command["beside"])
        if looked.problems:
            raise BadFork(looked.problems)
        if "preview" in request.POST:
            return await _fork_page(request, thread, checkpoint_id, looked, updates)
        ahead = await forecast.of(engine.get(), thread, checkpoint_id, looked.next)
        if ahead.needs_consent and not confirmed:
            raise MayActAgain
        await runner.renew(thread_id)
        given = {"checkpoint_id": checkpoint_id, "updates": updates, "by": request.user, **command}
        await travel.fork(engine.get(), thread_id, **given)
    except NotFound:
        raise
    except BranchingError as error:
        now = await thread_or_404(request, thread_id)
        return await _fork_page(request, now, checkpoint_id, looked, updates, error)
    return await _done(request, thread_id)


async def _fork_page(
    request: PersonRequest,
    thread: Thread,
    checkpoint_id: str,
    looked: Choice | None = None,
    updates: Sequence[Update] = (),
    error: BranchingError | None = None,
) -> HttpResponse:
    found = await inspection.read(engine.get(), thread, checkpoint_id)
    is_good = looked is not None and not looked.problems
    following, beside = looked.next if is_good else None, request.POST.get("where") == "beside"
    written = {"checkpoint_id": checkpoint_id, "updates": updates, "beside": beside}
    problems = dict(getattr(error, "problems", {}))
    fields = forks.fields(engine.get().graph(thread.assistant))
    known = {"as_node", *(field.name for field in fields)}
    choices = await forks.choices(engine.get(), thread, checkpoint_id)
    blocks = [_block(number, fields, found, request.POST) for number in UPDATES]
    if "node-0" not in request.POST:
        blocks[0]["node"] = _likely(choices, found)
    context = {
        "thread": thread,
        "assistant": assistants.get(thread.assistant),
        "found": found,
        "choices": choices,
        "blocks": blocks,
        "looked": looked if is_good else None,
        "beside": beside,
        "explanation": await _explanation(explain.fork, thread, **written) if is_good else None,
        "forecast": await forecast.of(engine.get(), thread, checkpoint_id, following),
        "problems": problems,
        # What the form has no place for: somebody has sent it by other means.
        "strays": {name: problems[name] for name in sorted(problems.keys() - known)},
        **_told(error),
        **await sidebar(request),
    }
    return render(request, "machine/fork.html", context, status=status_of(error) if error else 200)


async def _explanation(
    told: Callable[..., Awaitable[explain.Explanation]], thread: Thread, **given: Any
) -> explain.Explanation | None:
    """What the button on a page does; None where it can't be pressed now, which pressing it says."""
    try:
        return await told(engine.get(), thread.pk, **given)
    except BranchingError:
        return None


def _block(number: int, fields: Any, found: inspection.Inspection, typed: Any) -> dict[str, Any]:
    """One update of the form, with what was typed into it."""
    shown = [
        {
            "field": field,
            "name": f"set-{number}-{field.name}",
            "typed": typed.get(f"set-{number}-{field.name}", ""),
            "example": EXAMPLE if field.name == forks.MESSAGES else "JSON",
            "now": inspection.pretty(found.values[field.name]) if field.name in found.values else "",
        }
        for field in fields
    ]
    return {"number": number, "node": typed.get(f"node-{number}", ""), "fields": shown}


def _likely(choices: Sequence[Choice], found: inspection.Inspection) -> str:
    """The node after which the same comes next as now, or else anything."""
    same = [choice for choice in choices if choice.next == found.next]
    return next((choice.node for choice in [*same, *choices] if choice.next), "")


def _told(error: BranchingError | None) -> dict[str, str]:
    return {"error": gettext(str(error)) if error else ""}


async def _done(request: PersonRequest, thread_id: UUID, page: str = "thread") -> HttpResponse:
    await stream.announce(thread_id)
    await stream.announce_list(request.user.pk)
    return redirect(page, thread_id)
