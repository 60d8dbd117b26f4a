"""Plays a scenario in the server, step by step: with the commands that the views give, and what a page would show.

What only a browser can tell (the socket, focus, what is drawn) is not looked at here.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from django.utils import translation

from branching import ancestry, check, commands, heads, transcript, travel, window
from branching.database import on_database
from branching.exceptions import BranchingError
from branching.models import IndexedCheckpoint, Message, Thread
from branching.scenarios import plays
from branching.scenarios.form import Scenario, Step
from branching.scenarios.judging import Outcome, Row, Seen, Verdict, judge, remember
from branching.scenarios.plays import Facts
from branching.scenarios.stage import Stage
from branching.types import OpenReply, ThreadView, Version

PATIENCE = 10.0
"""Seconds that what is expected may take to come about."""

LONGEST = 60.0
"""Seconds that a step may take to come to rest."""

LOOK = 0.02


class Stuck(Exception):
    """A step that can't be done: what it is about is not there."""


class Player:
    """Plays one scenario on one thread."""

    def __init__(self, stage: Stage, thread: Thread, scenario: Scenario, *, by: Any = None) -> None:
        self.stage, self.thread, self.scenario, self.by = stage, thread, scenario, by
        self.known: dict[str, str] = {}
        self._deaf: dict[int, ThreadView] = {}
        """Tabs that hear nothing any more, with what they still show."""

    async def play(self) -> list[Outcome]:
        """All steps, and at the end whether the books are in order. Ends at the first that could not be done."""
        outcomes: list[Outcome] = []
        for at in range(len(self.scenario.steps)):
            outcomes.append(await self.step(at))
            if outcomes[-1].stuck:
                break
        else:
            outcomes.append(await self.close())
        return outcomes

    async def step(self, at: int) -> Outcome:
        """What came of this step."""
        step, before, started = self.scenario.steps[at], await plays.facts(self.thread.pk), time.monotonic()
        try:
            notice = await self._do(step)
            await self._rest(step)
        except Stuck as stuck:
            return Outcome(at, time.monotonic() - started, stuck=str(stuck))
        finally:
            await self.stage.changed(self.thread.pk)
        seconds = time.monotonic() - started
        seen, verdicts = await self._look(step, before, notice, seconds)
        remember(self.known, seen)
        return Outcome(at, seconds, verdicts, shown=tuple(row.text for row in seen.rows))

    async def close(self) -> Outcome:
        """Whether the index and HEAD agree with the checkpoints at the end."""
        started = time.monotonic()
        findings = [str(each) for each in await check.check(self.stage.engine, self.thread)]
        verdict = Verdict("consistency", "", "\n".join(findings), not findings)
        return Outcome(len(self.scenario.steps), time.monotonic() - started, (verdict,))

    async def _do(self, step: Step) -> str:
        """Do it; what a person is told who may not."""
        for _ in range(step.times):
            try:
                await getattr(self, f"_{step.do.replace('-', '_')}")(step)
            except BranchingError as error:
                with translation.override("en"):
                    return str(error)
        return ""

    async def _rest(self, step: Step) -> None:
        """Wait until nothing goes on by itself."""
        until = time.monotonic() + LONGEST
        while step.wait and not (await plays.facts(self.thread.pk)).is_at_rest:
            if time.monotonic() > until:
                raise Stuck(f"After {LONGEST:g} seconds the reply is still being written.")
            await asyncio.sleep(LOOK)

    async def _look(self, step: Step, before: Facts, notice: str, seconds: float) -> tuple[Seen, tuple[Verdict, ...]]:
        """What there is to see, as soon as it is as expected, or after a while."""
        until = time.monotonic() + (PATIENCE if not notice else 0)
        while True:
            seen = await self._see(notice)
            verdicts = judge(step.expect, before, seen, seconds=seconds, known=self.known, in_browser=False)
            is_final = not seen.facts.running or time.monotonic() > until
            if is_final or all(verdict.holds for verdict in verdicts):
                return seen, verdicts
            await asyncio.sleep(LOOK)

    async def _see(self, notice: str) -> Seen:
        view, facts = await self._view(), await plays.facts(self.thread.pk)
        return Seen(
            rows=tuple(self._rows(view)),
            open=view.open_reply.state if view.open_reply else "",
            run_state=view.run_state,
            notice=notice,
            facts=facts,
        )

    def _rows(self, view: ThreadView) -> Iterator[Row]:
        for version in view.versions:
            yield Row(version.message_id, version.text, version.state, _count(version))
        if view.pending:
            yield Row(view.pending.message_id, view.pending.text, "done")
        if (reply := view.open_reply) and reply.state != "missing":
            text = self.stage.said(reply.run_id) if reply.state == "streaming" and reply.run_id else reply.text
            state = {"lost": "failed", "answered": "waiting"}.get(reply.state, reply.state)
            yield Row(f"live-{reply.run_id}", text, state, _count(reply))

    # What one does

    async def _send(self, step: Step) -> None:
        if step.checkpoint:
            here = await _nth(self.thread, step.checkpoint)
            return await self._begin(travel.send_from, step, checkpoint_id=here, text=step.text)
        await self._begin(commands.send, step, text=step.text)

    async def _regenerate(self, step: Step) -> None:
        await self._begin(commands.replay, step, message=await self._message(step))

    async def _again(self, step: Step) -> None:
        await self._begin(commands.replay, step, message=await self._message(step), whole=False)

    async def _edit(self, step: Step) -> None:
        given = {**await self._page(step), "message": await self._message(step), "text": step.text, "by": self.by}
        edited = await commands.edit(self.stage.engine, self.thread.pk, **given)
        if edited and step.answer:
            await self._begin(commands.resume, step)

    async def _retry(self, step: Step) -> None:
        await self._begin(commands.resume, step)

    async def _previous(self, step: Step) -> None:
        await self._press(step, "previous")

    async def _next(self, step: Step) -> None:
        await self._press(step, "next")

    async def _press(self, step: Step, way: str) -> None:
        there = await self._on_screen(step)
        target = getattr(there, way, None)
        if target is None:
            raise Stuck(f"Message {step.message} has no {way} version.")
        await heads.switch(self.thread.pk, message=target, by=self.by, **await self._page(step))

    async def _show(self, step: Step) -> None:
        checkpoint_id = await _nth(self.thread, step.checkpoint)
        await heads.go(self.thread.pk, checkpoint_id=checkpoint_id, by=self.by, **await self._page(step))

    async def _replay(self, step: Step) -> None:
        await self._begin(travel.replay_from, step, checkpoint_id=await _nth(self.thread, step.checkpoint))

    async def _undo(self, step: Step) -> None:
        await heads.undo(self.thread.pk, by=self.by, **await self._page(step))

    async def _stop(self, step: Step) -> None:
        await self.stage.stop(await self._run())

    async def _interrupt(self, step: Step) -> None:
        await self.stage.interrupt(await self._run())

    async def _approve(self, step: Step) -> None:
        answer = {"type": "edit", "arguments": dict(step.changes)} if step.changes else {"type": "approve"}
        await self._answer(step, answer)

    async def _reject(self, step: Step) -> None:
        await self._answer(step, {"type": "reject", "reason": step.reason})

    async def _answer(self, step: Step, answer: dict[str, Any]) -> None:
        waiting = (await self._page_of(step)).waiting
        asked = waiting if step.every else waiting[step.question - 1 : step.question]
        if not asked:
            raise Stuck(f"There is no question {step.question} here.")
        answers = {each.interrupt_id: answer for each in asked}
        await self._begin(commands.answer, step, checkpoint_id=asked[0].checkpoint_id, answers=answers)

    async def _decide_again(self, step: Step) -> None:
        view = await self._view()
        if view.open_reply and view.open_reply.state == "answered":
            await self._begin(commands.decide_again, step, checkpoint_id=view.head)
        else:
            await self._again(step)

    async def _release(self, step: Step) -> None:
        await plays.release(self.thread.pk)

    async def _wait(self, step: Step) -> None:
        """Nothing: resting is what every step ends with."""

    async def _reload(self, step: Step) -> None:
        """What a page would show is read anew after each step."""

    async def _deafen(self, step: Step) -> None:
        self._deaf[step.tab] = await self._view()

    async def _hear(self, step: Step) -> None:
        self._deaf.pop(step.tab, None)

    # With what

    async def _begin(self, command: Callable[..., Awaitable[Any]], step: Step, **arguments: Any) -> None:
        given = {**await self._page(step), "by": self.by, **arguments}
        presses = [self.stage.begin(command, self.thread.pk, **given) for _ in range(1 + step.double)]
        for pressed in await asyncio.gather(*presses, return_exceptions=True):
            if isinstance(pressed, BaseException):
                raise pressed

    async def _page(self, step: Step) -> dict[str, Any]:
        """What every command carries."""
        return {"head_version": (await self._page_of(step)).head_version, "key": uuid.uuid4().hex}

    async def _page_of(self, step: Step) -> ThreadView:
        """What the tab shows in which the step is done."""
        return self._deaf.get(step.tab) or await self._view()

    async def _view(self) -> ThreadView:
        return await transcript.read(self.thread.pk)

    async def _run(self) -> uuid.UUID:
        run = (await self._view()).run
        if run is None:
            raise Stuck("No reply is being written.")
        return run.id

    async def _on_screen(self, step: Step) -> Version | OpenReply:
        """The message that the step is about."""
        view = await self._page_of(step)
        places: list[Any] = [*view.versions, *([view.pending] if view.pending else [])]
        places += [view.open_reply] if view.open_reply and view.open_reply.state != "missing" else []
        if step.message < 0 and len(places) >= -step.message:
            return places[step.message]
        first = view.versions[0].depth if view.versions else 1
        if step.message >= first and step.message - first < len(places):
            return places[step.message - first]
        if 0 < step.message < first:
            return await window.only(self.thread.pk, await _above(view.versions[0].pk, step.message))
        raise Stuck(f"There is no message {step.message} on screen.")

    async def _message(self, step: Step) -> int:
        there = await self._on_screen(step)
        if not isinstance(there, Version):
            raise Stuck(f"Message {step.message} is not finished.")
        return there.pk


def _count(place: Version | OpenReply) -> str:
    return f"{place.position}/{place.total}" if place.has_siblings else ""


@on_database
def _nth(thread: Thread, number: int) -> str:
    rows = IndexedCheckpoint.objects.filter(thread=thread).order_by("pk").values_list("checkpoint_id", flat=True)
    found = rows[number - 1 : number]
    if not found:
        raise Stuck(f"There is no checkpoint {number}.")
    return found[0]


@on_database
def _above(message: int, depth: int) -> int:
    return ancestry.ancestor(Message.objects.get(pk=message), depth)
