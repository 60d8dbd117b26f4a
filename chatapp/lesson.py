"""The lesson: a few presses on a thread of Echo's, each with what it is going to store and what it has stored.

What a chapter says will come is compared on its page with the rows that came.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from branching import commands, heads, index, travel
from branching.exceptions import TooEarly
from branching.forks import Update
from branching.models import Message, Thread
from chatapp import engine
from chatapp.runner import runner

ASSISTANT = "echo"

Press = Callable[[Thread, Mapping[str, Any]], Awaitable[Any]]


@dataclass(frozen=True)
class Chapter:
    """One press."""

    name: str
    title: Promise
    before: tuple[Promise, ...]
    """What the button is, told before it is pressed."""
    call: str
    """The call of LangGraph behind it; empty where there is none."""
    button: Promise
    adds: tuple[tuple[str, str], ...]
    """The checkpoints that will come: the source of each, and the node that comes next after it."""
    after: tuple[Promise, ...]
    """What there is to see in them."""
    press: Press


async def _say(thread: Thread, command: Mapping[str, Any]) -> None:
    is_first = not await thread.messages.aexists()
    text = gettext("Where does the path go?") if is_first else gettext("And after the bend?")
    await runner.begin(commands.send, thread.pk, text=text, **command)


async def _regenerate(thread: Thread, command: Mapping[str, Any]) -> None:
    reply = await _found(thread, kind="ai", depth=2)
    await runner.begin(commands.replay, thread.pk, message=reply.pk, **command)


async def _switch(thread: Thread, command: Mapping[str, Any]) -> None:
    reply = await _found(thread, kind="ai", depth=2)
    await heads.switch(thread.pk, message=reply.pk, **command)


async def _edit(thread: Thread, command: Mapping[str, Any]) -> None:
    message = await _found(thread, kind="human", depth=1)
    text = gettext("Where does the other path go?")
    await commands.edit(engine.get(), thread.pk, message=message.pk, text=text, **command)


async def _answer(thread: Thread, command: Mapping[str, Any]) -> None:
    await runner.begin(commands.resume, thread.pk, **command)


async def _dead_end(thread: Thread, command: Mapping[str, Any]) -> None:
    said = [{"type": "human", "content": gettext("Is anybody there?")}]
    await _change(thread, command, next=[index.START], updates=[Update("reply", {"messages": said})])


async def _beside(thread: Thread, command: Mapping[str, Any]) -> None:
    await _change(thread, command, next=["reply"], updates=[], beside=True)


async def _change(thread: Thread, command: Mapping[str, Any], *, next: Sequence[str], **given: Any) -> None:
    """A fork at the first checkpoint after which this comes next."""
    row = await thread.checkpoints.filter(next=next).order_by("pk").afirst()
    if row is None:
        raise TooEarly
    await travel.fork(engine.get(), thread.pk, checkpoint_id=row.checkpoint_id, **given, **command)


async def _found(thread: Thread, **which: Any) -> Message:
    """The first such message of the thread, on whatever branch. Raises `TooEarly`."""
    message = await thread.messages.filter(**which).order_by("pk").afirst()
    if message is None:
        raise TooEarly
    return message


CHAPTERS = (
    Chapter(
        name="send",
        title=_("Say something"),
        before=(
            _("A conversation is a tree of checkpoints. Sending runs the assistant's graph once, from HEAD."),
            _(
                "The graph of Echo has two nodes, booking and reply. LangGraph saves a checkpoint for the input and "
                "one after each step; “next” is the node that is due then."
            ),
        ),
        call='graph.astream({"messages": [HumanMessage("…")]}, config)',
        button=_("Send"),
        adds=(("input", "__start__"), ("loop", "booking"), ("loop", "reply"), ("loop", "")),
        after=(
            _("Four rows, from below: the input, whose message is in no state yet; the message; booking; the reply."),
            _("HEAD is at the last one. The conversation shows what led there, and goes on from there."),
        ),
        press=_say,
    ),
    Chapter(
        name="send-again",
        title=_("Say something more"),
        before=(_("The next turn grows from HEAD. The steps count on."),),
        call='graph.astream({"messages": [HumanMessage("…")]}, config)',
        button=_("Send"),
        adds=(("input", "__start__"), ("loop", "booking"), ("loop", "reply"), ("loop", "")),
        after=(_("Two turns make eight rows in one line, steps −1 to 6."),),
        press=_say,
    ),
    Chapter(
        name="regenerate",
        title=_("Regenerate the first reply"),
        before=(
            _(
                "Nothing is ever overwritten. Regenerate is a replay: the graph runs again from the checkpoint before "
                "the reply, where reply is due."
            ),
        ),
        call="graph.astream(None, config)",
        button=_("Regenerate"),
        adds=(("fork", "reply"), ("loop", "")),
        after=(
            _(
                "LangGraph first made a copy of that checkpoint: source fork, one step on, the same content. Then "
                "reply ran. The node booking stands before it, and did not run again."
            ),
            _(
                "The second turn is still there, on the other branch. Switchback takes the copy for the checkpoint "
                "that it copies: so both replies have the same place, and the arrows show 2 / 2."
            ),
        ),
        press=_regenerate,
    ),
    Chapter(
        name="switch",
        title=_("Press the arrow"),
        before=(
            _("The arrows run nothing and store no checkpoint. They move HEAD, which is a column of Switchback's own."),
        ),
        call="",
        button=_("Previous version"),
        adds=(),
        after=(_("No row. HEAD is at the end of the second turn: one comes back as deep as one was."),),
        press=_switch,
    ),
    Chapter(
        name="edit",
        title=_("Edit, the first request"),
        before=(
            _(
                "Edit is two requests. The first stores the new message at the checkpoint from which the old one was "
                "sent, as __start__. It never runs the graph."
            ),
        ),
        call='graph.aupdate_state(config, {"messages": [HumanMessage("…", id=new)]}, as_node="__start__")',
        button=_("Save"),
        adds=(("update", "booking"),),
        after=(
            _(
                "One row, source update, under the checkpoint that was selected. The message stands there unanswered, "
                "beside the old one: 2 / 2."
            ),
            _("It has an id of its own. With the old id, every search by id would find two texts."),
        ),
        press=_edit,
    ),
    Chapter(
        name="answer",
        title=_("Edit, the second request"),
        before=(
            _("A run from there answers it. The update is the newest checkpoint, so that no copy is needed this time."),
        ),
        call="graph.astream(None, config)",
        button=_("Generate reply"),
        adds=(("loop", "reply"), ("loop", "")),
        after=(
            _("Now booking ran as well, since the update stands before it. In the chat both requests are one press."),
        ),
        press=_answer,
    ),
    Chapter(
        name="dead-end",
        title=_("An update that leads nowhere"),
        before=(
            _("What is due after an update follows from as_node: whatever the graph has after that node."),
            _("Written as reply, the last node, nothing is due, and nobody is told."),
        ),
        call='graph.aupdate_state(config, {"messages": [HumanMessage("…")]}, as_node="reply")',
        button=_("Change the state"),
        adds=(("update", ""),),
        after=(
            _(
                "Next is empty. A run from here would return at once, with no reply and no error. When you change a "
                "state by hand, the time machine says for each node what comes next, before you press."
            ),
        ),
        press=_dead_end,
    ),
    Chapter(
        name="beside",
        title=_("Beside instead of under"),
        before=(
            _("An update grows from the checkpoint that is selected, as you saw twice: it stands under it."),
            _(
                "For as_node there is also the value __copy__, which LangGraph's documentation does not mention. It "
                "makes a copy of the selected checkpoint beside it, under its parent."
            ),
        ),
        call='graph.aupdate_state(config, None, as_node="__copy__")',
        button=_("Copy"),
        adds=(("fork", "reply"),),
        after=(
            _(
                "Source fork, one step on, the same content, as with the copy of a replay. But a replay's copy stands "
                "under the checkpoint that it copies, and this one beside it: look at the lines."
            ),
        ),
        press=_beside,
    ),
)
