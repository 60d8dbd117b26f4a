"""What each button does, before it is pressed; and what a run was to do beside what it did. Reads only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods

from branching import assistants, explain, recovery, transcript
from branching.assistants import Assistant
from branching.exceptions import BranchingError, NotFound
from branching.explain import Explanation, outcome
from branching.models import Thread
from branching.types import Asked, ThreadView, Version
from chatapp import engine
from chatapp.accounts import person_required
from chatapp.http import PersonRequest, answers_errors, sidebar, status_of, thread_or_404
from chatapp.runner import runner
from chatapp.views.explain_press import answers_in, count_in, press

LABELS = {
    "send": _("Send"),
    "replay": _("Regenerate"),
    "again": _("Again from here"),
    "several": _("Several versions at once"),
    "edit": _("Edit"),
    "switch": _("An arrow"),
    "undo": _("Undo"),
    "stop": _("Stop"),
    "resume": _("Generate reply"),
    "answer": _("An answer"),
    "decide": _("Decide again"),
    "go": _("Continue from here"),
    "replay-from": _("Run again from here"),
    "branch-off": _("Begin a conversation with it"),
    "send-from": _("Say something new here"),
}
WRITTEN = ("send", "edit", "send-from")
"""The buttons that carry a text."""

DECISIONS = {"approve": _("Approve"), "reject": _("Reject")}
PRESSES = 20
"""Moves of HEAD that a page tells of."""


@dataclass(frozen=True)
class Button:
    """A button of the chat, and where it is explained."""

    command: str
    """As its address names it."""
    label: str
    url: str


@dataclass(frozen=True)
class Group:
    """The buttons of one place in the chat."""

    title: str
    text: str
    """What stands there."""
    buttons: list[Button]


@require_GET
@never_cache
@person_required
@answers_errors
async def show(request: PersonRequest, thread_id: UUID) -> HttpResponse:
    """All buttons that the chat shows now, each to be unfolded; and what was pressed last."""
    thread = await _settled(request, thread_id)
    view, assistant = await transcript.read(thread_id), assistants.get(thread.assistant)
    messages = [_at(view, version, assistant) for version in view.versions[::-1]]
    context = {
        "thread": thread,
        "assistant": assistant,
        "groups": [_at_head(view, assistant), *(each for each in messages if each.buttons)],
        "pressed": await outcome.pressed(thread, PRESSES),
        **await sidebar(request),
    }
    return render(request, "machine/buttons.html", context)


@require_http_methods(["GET", "POST"])
@never_cache
@person_required
@answers_errors
async def button(
    request: PersonRequest, thread_id: UUID, command: str, pk: int = 0, checkpoint_id: str = ""
) -> HttpResponse:
    """One button, or the part of a page that tells of it; then press it. One that can't be pressed says why."""
    thread = await _settled(request, thread_id)
    asked = request.POST or request.GET
    context: dict[str, Any] = {"thread": thread, "assistant": assistants.get(thread.assistant)}
    context |= {"label": LABELS.get(command, command), "key": f"{command}-{pk or checkpoint_id}"}
    context |= {"typed": asked.get("text", ""), "is_written": command in WRITTEN}
    context |= {"decision": asked.get("decision"), "questions": asked.getlist("question")}
    context |= {"can_press": command not in ("replay-from", "branch-off", "send-from")}  # the time machine has them
    status = 200
    try:
        if request.method == "POST":
            return await press(request, thread, command, pk, checkpoint_id)
        context["explanation"] = await _explained(request, thread, command, pk, checkpoint_id)
    except NotFound:
        raise
    except BranchingError as error:
        context["refused"], status = gettext(str(error)), status_of(error)
    if request.htmx:
        return render(request, "machine/_told.html", context)
    return render(request, "machine/button.html", {**context, **await sidebar(request)}, status=status)


@require_GET
@never_cache
@person_required
@answers_errors
async def run(request: PersonRequest, thread_id: UUID, run_id: UUID) -> HttpResponse:
    """What was to be expected of a run, beside what came of it."""
    thread = await thread_or_404(request, thread_id)
    found = await outcome.compared(engine.get(), thread, run_id)
    context = {"thread": thread, "assistant": assistants.get(thread.assistant), "found": found}
    if request.htmx:
        return render(request, "machine/_outcome.html", context)
    return render(request, "machine/outcome.html", {**context, **await sidebar(request)})


async def _settled(request: PersonRequest, thread_id: UUID) -> Thread:
    """The person's own thread, with what a dead run has left taken in, as each command does first."""
    await thread_or_404(request, thread_id)
    await runner.renew(thread_id)
    await recovery.recover(engine.get(), thread_id)
    return await thread_or_404(request, thread_id)


async def _explained(request: PersonRequest, thread: Thread, command: str, pk: int, checkpoint_id: str) -> Explanation:
    here = (engine.get(), thread.pk)
    text = (request.POST or request.GET).get("text", "").strip() or explain.PLACEHOLDER
    match command, bool(pk), bool(checkpoint_id):
        case "send", False, False:
            return await explain.send(*here, text=text)
        case (("resume" | "undo" | "stop"), False, False):
            return await getattr(explain, command)(*here)
        case (("replay" | "again"), True, False):
            return await explain.replay(*here, message=pk, whole=command == "replay")
        case "several", True, False:
            return await explain.several(*here, message=pk, count=count_in(request))
        case "edit", True, False:
            return await explain.edit(*here, message=pk, text=text)
        case "switch", True, False:
            return await explain.switch(*here, message=pk)
        case "answer", False, True:
            return await explain.answer(*here, checkpoint_id=checkpoint_id, answers=answers_in(request))
        case "decide", False, True:
            return await explain.decide_again(*here, checkpoint_id=checkpoint_id)
        case "go", False, True:
            return await explain.go(*here, checkpoint_id=checkpoint_id)
        case "replay-from", False, True:
            return await explain.replay_from(*here, checkpoint_id=checkpoint_id)
        case "send-from", False, True:
            return await explain.send_from(*here, checkpoint_id=checkpoint_id, text=text)
        case "branch-off", False, True:
            return await explain.branch_off(*here, checkpoint_id=checkpoint_id)
    raise Http404


def _at_head(view: ThreadView, assistant: Assistant) -> Group:
    return Group(gettext("At HEAD"), "", list(_buttons_at_head(view, assistant)))


def _buttons_at_head(view: ThreadView, assistant: Assistant) -> Iterator[Button]:
    if view.run:
        yield _button(view, "stop", gettext("Stop"))
    else:
        yield _button(view, "send", gettext("Send"))
    place = view.open_reply
    if place and place.state in ("failed", "lost", "stopped", "missing"):
        labels = {"failed": gettext("Retry"), "lost": gettext("Resume")}
        yield _button(view, "resume", labels.get(place.state, gettext("Generate reply")))
    yield from _answers(view, assistant)
    if place and place.state == "answered" and view.head:
        yield _button(view, "decide", gettext("Decide again"), at=view.head)
    if view.can_undo:
        yield _button(view, "undo", gettext("Undo"))
    if place and place.previous:
        yield _of(view, "switch", gettext("Previous version"), place.previous)


def _answers(view: ThreadView, assistant: Assistant) -> Iterator[Button]:
    waiting = view.waiting
    groups = [(_asked(each, assistant), [each]) for each in waiting]
    if len(waiting) > 1:
        groups.append((gettext("all"), list(waiting)))
    for decision, label in DECISIONS.items():
        for name, questions in groups:
            given = [("decision", decision), *(("question", each.interrupt_id) for each in questions)]
            here = {"at": waiting[0].checkpoint_id, "query": f"?{urlencode(given)}"}
            yield _button(view, "answer", f"{label} · {name}", **here)


def _asked(asked: Asked, assistant: Assistant) -> str:
    """What a question is about, in a line."""
    card = assistant.card(asked.payload)
    return " · ".join([card.title, *(fact for _name, fact in card.facts[:2])])


def _at(view: ThreadView, version: Version, assistant: Assistant) -> Group:
    """The buttons of a message."""
    called = [version.step.name] if version.step else [call["name"] for call in version.data.get("tool_calls", ())]
    names = ", ".join(str(assistant.tools.get(name, name)) for name in called)
    text = version.text if version.kind != "tool" else ""
    return Group(f"{version.depth}", f"{text} {names}".strip(), list(_buttons_at(view, version, assistant)))


def _buttons_at(view: ThreadView, version: Version, assistant: Assistant) -> Iterator[Button]:
    if version.kind == "human":
        yield _of(view, "edit", gettext("Edit"), version.pk)
    elif version.kind == "ai":
        yield _of(view, "replay", gettext("Regenerate"), version.pk)
    if version.kind == "ai" and not assistant.acts:
        yield _of(view, "several", gettext("Several versions at once"), version.pk)
    if version.kind == "tool" or (version.kind == "ai" and version.is_continued):
        asked = version.step and version.step.asked
        label = gettext("Decide again") if asked else gettext("Again from here")
        yield _of(view, "again", label, version.pk)
    if version.previous:
        yield _of(view, "switch", gettext("Previous version"), version.previous)
    if version.next:
        yield _of(view, "switch", gettext("Next version"), version.next)


def _button(view: ThreadView, command: str, label: str, *, at: str = "", query: str = "") -> Button:
    where = "explain-checkpoint" if at else "explain"
    return Button(command, label, reverse(where, args=[view.id, command, *([at] if at else [])]) + query)


def _of(view: ThreadView, command: str, label: str, pk: int) -> Button:
    return Button(command, label, reverse("explain-message", args=[view.id, command, pk]))
