"""Presses a button of the chat from the page that explains it, and leads to what came of that."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import redirect

from branching import commands, heads
from branching.models import Run, Thread
from chatapp import engine, stream
from chatapp.forms.threads import CommandForm, whole_number
from chatapp.http import PersonRequest
from chatapp.runner import runner

DECISIONS = ("approve", "reject")

SEVERAL = 3
"""Versions at once, where an address does not say how many."""

Given = dict[str, Any]


async def press(request: PersonRequest, thread: Thread, command: str, pk: int, checkpoint_id: str) -> HttpResponse:
    """Do what the button does; then show the run that it led to, or the moves of HEAD."""
    given = {**CommandForm.read(request.POST), "by": request.user}
    await runner.renew(thread.pk)
    await _pressed(request, thread, command, pk, checkpoint_id)(given)
    await stream.announce(thread.pk)
    await stream.announce_list(request.user.pk)
    led_to = thread.runs.filter(key__in=(given["key"], _second(given["key"]))).order_by("-created_at")
    run = await led_to.afirst()
    return redirect("outcome", thread.pk, run.pk) if run else redirect("buttons", thread.pk)


def answers_in(request: PersonRequest) -> dict[str, dict[str, str]]:
    """The answer that an address or a form gives to the questions that it names."""
    data = request.POST if request.method == "POST" else request.GET
    decision = data.get("decision")
    kind = decision if decision in DECISIONS else "approve"
    return {question: {"type": kind} for question in data.getlist("question")}


def count_in(request: PersonRequest) -> int:
    """How many versions an address asks for at once."""
    return whole_number(request.GET, "count") if "count" in request.GET else SEVERAL


def _pressed(
    request: PersonRequest, thread: Thread, command: str, pk: int, checkpoint_id: str
) -> Callable[[Given], Awaitable[Any]]:
    """The command behind a button, which wants to know what every command carries."""
    text = request.POST.get("text", "")
    match command:
        case "send":
            return _run(thread, commands.send, text=text)
        case "replay" | "again":
            return _run(thread, commands.replay, message=pk, whole=command == "replay")
        case "several":
            return lambda given: runner.begin_several(thread.pk, message=pk, count=count_in(request), **given)
        case "resume":
            return _run(thread, commands.resume)
        case "answer":
            return _run(thread, commands.answer, checkpoint_id=checkpoint_id, answers=answers_in(request))
        case "decide":
            return _run(thread, commands.decide_again, checkpoint_id=checkpoint_id)
        case "edit":
            return partial(_edit, thread, pk, text)
        case "switch":
            return lambda given: heads.switch(thread.pk, message=pk, **given)
        case "go":
            return lambda given: heads.go(thread.pk, checkpoint_id=checkpoint_id, **given)
        case "undo":
            return lambda given: heads.undo(thread.pk, **given)
        case "stop":
            return partial(_stop, thread)
    raise Http404


def _run(thread: Thread, command: Any, **arguments: Any) -> Callable[[Given], Awaitable[Any]]:
    return lambda given: runner.begin(command, thread.pk, **arguments, **given)


async def _edit(thread: Thread, pk: int, text: str, given: Given) -> None:
    """Both requests of an edit."""
    if await commands.edit(engine.get(), thread.pk, message=pk, text=text, **given):
        await thread.arefresh_from_db()
        again = {**given, "head_version": thread.head_version, "key": _second(given["key"])}
        await runner.begin(commands.resume, thread.pk, **again)


def _second(key: str) -> str:
    """The idempotency key of the second request."""
    return f"{key[:62]}-2"


async def _stop(thread: Thread, given: Given) -> None:
    run = await thread.runs.filter(status__in=Run.ACTIVE).afirst()
    if run:
        await runner.stop(run.pk)
