"""Makes a scenario of what was done in a thread: from the log of HEAD's moves, its runs, and the messages they led to.

What was refused has left no trace, and is not in it. Times are not in it either: what happened while a reply was being
written is told by holding that reply.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from branching import actions, assistants, index
from branching.database import on_database
from branching.exceptions import NotRecordable
from branching.models import Action, HeadMove, IndexedCheckpoint, Message, Run, Thread
from branching.scenarios import writing
from branching.scenarios.form import Expect, Scenario, Script, Step
from branching.scenarios.lines import Lines
from branching.scenarios.reading import SIZE_MAX, STEPS_MAX
from branching.scenarios.screens import Screens

OF_RUNS = ("send", "replay", "edit", "answer")
"""Why HEAD moves that begin with a run."""


async def record(thread: Thread) -> Scenario:
    """The scenario that does again what was done in this thread. Raises `NotRecordable`."""
    scenario = await _told(thread)
    if _is_too_long(scenario):
        scenario = replace(scenario, steps=tuple(replace(step, expect=Expect()) for step in scenario.steps))
    if _is_too_long(scenario):
        raise NotRecordable(gettext("More was done in this conversation than a scenario can tell."))
    return scenario


def _is_too_long(scenario: Scenario) -> bool:
    return len(writing.write(scenario)) > SIZE_MAX


@on_database
def _told(thread: Thread) -> Scenario:
    if thread.moves.count() + thread.runs.count() > STEPS_MAX:
        raise NotRecordable(gettext("More was done in this conversation than a scenario can tell."))
    recorder = _Recorder(thread)
    recorder.check()
    steps = recorder.steps()
    if not steps:
        raise NotRecordable
    title = thread.title or gettext("A conversation")
    return Scenario(title, assistant=thread.assistant, script=Script(recorder.lines.replies), steps=tuple(steps))


@dataclass
class _Event:
    """Something that a person did, or that ended what they had begun."""

    at: datetime
    step: Step
    run: Run | None = None
    head: str | None = None
    """Where HEAD was then, as far as that is certain."""


@dataclass
class _Recorder:
    thread: Thread
    lines: Lines = field(init=False)

    def __post_init__(self) -> None:
        thread = self.thread
        self.moves = list(thread.moves.order_by("id"))
        self.runs = list(thread.runs.order_by("created_at"))
        self.rows = {row.checkpoint_id: row for row in thread.checkpoints.order_by("pk").select_related("message")}
        self.numbers = {checkpoint_id: number for number, checkpoint_id in enumerate(self.rows, 1)}
        self.answered = list(Action.objects.filter(thread=thread, answer__isnull=False).order_by("answered_at", "id"))
        self.said: set[str] = set()
        self.screens = Screens(thread)
        self.lines = Lines(thread, self.rows, self._held())

    def check(self) -> None:
        """Whether all of it can be told. Raises `NotRecordable`."""
        assistant, rows = assistants.get(self.thread.assistant), self.rows
        whys = {move.why for move in self.moves}
        if assistant.speakers:
            raise NotRecordable(gettext("This assistant asks its model within a step, and what that said is not kept."))
        if any(row.run_id is None for row in rows.values()):
            raise NotRecordable(gettext("This conversation began with what another one had led to."))
        if whys & {"delete", "remove", "repair"} or any(run.base and run.base not in rows for run in self.runs):
            raise NotRecordable(gettext("Parts of this conversation were deleted, or had to be put right."))
        if any(run.kind == "fork" for run in self.runs):
            raise NotRecordable(gettext("The state of this conversation was changed by hand."))
        if any(run.beside_id for run in self.runs):
            raise NotRecordable(gettext("Several versions were written at once here: which was first is chance."))
        if any(run.status in Run.ACTIVE and not run.is_lost for run in self.runs):
            raise NotRecordable(gettext("A reply is still being written."))

    def steps(self) -> list[Step]:
        """What was done, in order, each with what it led to where that is certain."""
        events = sorted([*self._of_runs(), *self._of_moves(), *self._of_ends()], key=lambda event: event.at)
        events = list(_joined(events))
        ends = [*(event.at for event in events[1:]), None]
        return [replace(each.step, expect=self._expected(each, ends[at])) for at, each in enumerate(events)]

    # What was done

    def _of_runs(self) -> Iterator[_Event]:
        for at, run in enumerate(self.runs):
            following = self.runs[at + 1].created_at if at + 1 < len(self.runs) else None
            yield _Event(run.created_at, self._step_of(run, self._move_of(run, following), following), run)
            if run.input:
                self.said.add(run.input["id"])

    def _move_of(self, run: Run, following: datetime | None) -> HeadMove | None:
        """The move that this run began with; none, where it went on with another's."""
        for move in self.moves:
            if move.why in OF_RUNS and run.created_at <= move.at and (following is None or move.at < following):
                return move
        return None

    def _step_of(self, run: Run, move: HeadMove | None, following: datetime | None) -> Step:
        if run.kind == "send" and run.input["id"] not in self.said:
            return Step("send", text=run.input["text"], checkpoint=self._spoken_at(run, move))
        if run.kind == "edit":
            base = self.rows[run.base].message
            return Step("edit", text=run.input["text"], message=(base.depth if base else 0) + 1, answer=False)
        if run.kind == "replay":
            return self._replay(self.rows[run.base], move)
        if run.kind == "answer" and (given := self._answers(run, following)):
            return self._answer(run, given)
        return Step("retry")

    def _spoken_at(self, run: Run, move: HeadMove | None) -> int:
        """The number of the checkpoint at which it was said, where that was not at HEAD; else 0."""
        base = self.rows.get(run.base)
        if move is None or base is None:
            return 0
        # It may have made a checkpoint to set out from: where calls were open, one that has closed them.
        place = self.rows.get(base.parent_id) if base.run_id == run.pk else base
        return 0 if place is None or move.origin == place.checkpoint_id else self.numbers[place.checkpoint_id]

    def _replay(self, base: IndexedCheckpoint, move: HeadMove | None) -> Step:
        """Regenerate where that button was on screen; else by the time machine."""
        here = self.rows.get(move.origin) if move else None
        depth = (base.message.depth if base.message else 0) + (2 if base.next == [index.START] else 1)
        shown = here.message if here else None
        path = self.screens.path(shown.pk)[depth - 1 :] if shown else []
        if path and path[0].kind != "human" and index.base_of(path[0]) == base:
            return self._regenerate(path)
        was_asked = here is not None and actions.asked_at(self.thread.pk, here.checkpoint_id).exists()
        if was_asked and here.origin_id == base.checkpoint_id:
            return Step("decide-again")
        return Step("replay", checkpoint=self.numbers[base.checkpoint_id])

    def _regenerate(self, path: Sequence[Message]) -> Step:
        first = path[0]
        if first.parent and first.parent.kind != "human":
            return Step("again", message=first.depth)
        # The button is with the words: a turn may begin with tool calls that say nothing.
        turn = []
        for message in path:
            if message.kind == "human":
                break
            turn.append(message)
        spoken = [message.depth for message in turn if message.kind == "ai" and message.text]
        return Step("regenerate", message=spoken[-1] if spoken else first.depth)

    def _answers(self, run: Run, following: datetime | None) -> list[Action]:
        """The answers with which this run set out: they are given in the transaction that makes it."""
        earlier = [other.created_at for other in self.runs if other.created_at < run.created_at]
        begun = max(earlier, default=None)
        here = [action for action in self.answered if action.checkpoint_id == run.base]
        return [
            action
            for action in here
            if action.answered_at <= run.created_at and (begun is None or action.answered_at > begun)
        ]

    def _answer(self, run: Run, given: Sequence[Action]) -> Step:
        asked = list(actions.asked_at(self.thread.pk, run.base))
        first, answer = given[0], given[0].answer
        open_then = [
            each for each in asked if each in given or each.answered_at is None or each.answered_at > first.answered_at
        ]
        more: dict[str, Any] = {"every": True} if len(given) > 1 else {"question": open_then.index(first) + 1}
        if answer["type"] == "reject":
            return Step("reject", reason=answer.get("reason", ""), **more)
        return Step("approve", changes={k: str(v) for k, v in answer.get("arguments", {}).items()}, **more)

    def _of_moves(self) -> Iterator[_Event]:
        for move in self.moves:
            if move.why == "undo":
                yield _Event(move.at, Step("undo"), head=None if move.run_id else move.target)
            elif move.why == "switch":
                yield _Event(move.at, self._switch(move), head=None if move.run_id else move.target)

    def _switch(self, move: HeadMove) -> Step:
        """An arrow, where it was one; else the page of the checkpoint."""
        if move.chosen and (step := self._arrow(move)):
            return step
        target = move.target
        if move.run_id:  # a run went on from there, and took the move's end along
            target = next((run.base for run in self.runs if run.created_at > move.at), target)
        return Step("show", checkpoint=self.numbers[target])

    def _arrow(self, move: HeadMove) -> Step | None:
        chosen, here = self.screens.messages.get(move.chosen), self.rows.get(move.origin)
        if chosen is None or here is None:
            return None
        siblings = self.screens.siblings(chosen, move.at)
        above = self.screens.path(here.message_id)
        own = above[chosen.depth - 1] if len(above) >= chosen.depth else None
        if own in siblings:
            is_beside = abs(siblings.index(own) - siblings.index(chosen)) == 1
            return Step("previous" if chosen.pk < own.pk else "next", message=chosen.depth) if is_beside else None
        if assistants.get(self.thread.assistant).is_functional:
            return None  # while a whole turn is written its message waits, and no arrow stands beside that
        # From a reply that was not there yet: the log says where its run has got to since.
        is_later = own in self.screens.siblings(chosen)
        is_open = is_later or (here.message_id == chosen.parent_id and here.next not in ([], [index.START]))
        is_beside = is_open and chosen.kind != "human" and siblings[-1] == chosen
        return Step("previous", message=chosen.depth) if is_beside else None

    # What ended what was begun

    def _held(self) -> set[Any]:
        """The runs during which something else was done: their replies are held meanwhile."""
        others = [move for move in self.moves if move.why in ("switch", "undo")]
        return {
            run.pk
            for run in self.runs
            if run.ended_at and any(run.created_at < move.at < run.ended_at for move in others)
        }

    def _of_ends(self) -> Iterator[_Event]:
        for run in self.runs:
            if run.kind == "edit":
                continue
            if run.status == Run.Status.STOPPED:
                yield _Event(run.ended_at, Step("stop"), run)
            elif run.is_lost:
                yield _Event(run.created_at, Step("interrupt"), run)
            elif run.pk in self.lines.held:
                yield _Event(run.ended_at, Step("release"), run)

    # What it led to

    def _expected(self, event: _Event, until: datetime | None) -> Expect:
        head = event.head
        if event.run and event.step.do not in ("interrupt", "release") and event.run.kind != "edit":
            is_certain = event.run.status == Run.Status.DONE and event.run.pk not in self.lines.held
            head = event.run.tip if is_certain else None
        if until is None:
            head = self.thread.head
        row = self.rows.get(head)
        if row is None or row.next or row.message is None:
            return Expect()
        # Whether a reply that is held counts already, nobody has written down.
        is_held = any(run.pk in self.lines.held and run.created_at < event.at < run.ended_at for run in self.runs)
        return self.screens.expect(row.message_id, until, counts=not is_held)


def _joined(events: Sequence[_Event]) -> Iterator[_Event]:
    """An edit and the run that answers it at once are one thing that a person does."""
    waiting: _Event | None = None
    for event in events:
        if waiting and event.step.do == "retry":
            yield replace(waiting, step=replace(waiting.step, answer=True), run=event.run)
            waiting = None
            continue
        if waiting:
            yield waiting
        waiting = event if event.step.do == "edit" else None
        if waiting is None:
            yield event
    if waiting:
        yield waiting
