"""Random stories at the concierge's desk: whatever happens, no tool acts without a yes of its own on its own branch.

Bookings are compared with a count of our own: each is made by one answer, for the question that this answer was given
to. The model behind the desk refuses any sequence with a call left open, and a check of the thread finds nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from branching import commands, recovery
from branching.assistants.concierge import clock
from branching.engine import Engine
from branching.exceptions import BranchingError
from branching.models import Action, Booking, Run
from branching.types import Asked
from tests.branching.conftest import Reply
from tests.branching.desk import BOTH, NO, STANDARD, SUITE, TODAY, YES, Guest, guest_of, strict_engine

SAID = (SUITE, STANDARD, BOTH, BOTH, "never mind", "Weather and hotels on 2026-12-05", "Cancel my booking")
EDIT = {"type": "edit", "arguments": {"nights": 1}}
PICKS = st.integers(0, 99)
# How many events of a run are heard before it dies; mostly it lives.
DEATHS = st.sampled_from([None, None, None, None, 0, 1, 2, 3, 4])
OPERATIONS: Counter[str] = Counter()


class Desk(RuleBasedStateMachine):
    """One guest, whose page may be old, and whose server may die."""

    def __init__(self, loop: asyncio.Runner, engine: Engine, owner: User) -> None:
        super().__init__()
        self.loop, self.engine, self.owner = loop, engine, owner
        self.asked: dict[str, Asked] = {}
        """All questions that were ever on screen, by their ids."""
        self.answered: dict[str, str] = {}
        """The answers that were taken."""

    @initialize()
    def begin(self) -> None:
        self.guest: Guest = self.loop.run(guest_of(self.owner, self.engine))

    @rule(text=st.sampled_from(SAID), dies=DEATHS)
    def send(self, text: str, dies: int | None) -> None:
        self.happens("send", lambda: self.play("send", dies, text=text))

    @rule(kinds=st.lists(st.sampled_from([YES, YES, NO, EDIT]), min_size=1, max_size=2), dies=DEATHS)
    def answer(self, kinds: list[dict[str, Any]], dies: int | None) -> None:
        self.happens("answer", lambda: self._answer(kinds, dies))

    async def _answer(self, kinds: list[dict[str, Any]], dies: int | None) -> None:
        if not (waiting := await self.guest.waiting()):
            return await self.something()
        given = {each.interrupt_id: kind for each, kind in zip(waiting, kinds, strict=False)}
        await self.give(waiting[0].checkpoint_id, given, dies)

    @rule(pick=PICKS, kind=st.sampled_from([YES, NO]), dies=DEATHS)
    def answer_an_old_card(self, pick: int, kind: dict[str, Any], dies: int | None) -> None:
        """Late, twice, or in the wrong tab: of any question that there ever was."""
        self.happens("answer an old card", lambda: self._answer_an_old_card(pick, kind, dies))

    async def _answer_an_old_card(self, pick: int, kind: dict[str, Any], dies: int | None) -> None:
        if not self.asked:
            await self.something()
        if self.asked:
            old = list(self.asked.values())[pick % len(self.asked)]
            await self.give(old.checkpoint_id, {old.interrupt_id: kind}, dies)

    @rule(pick=PICKS, kind=st.sampled_from([YES, NO]))
    def go_back_and_answer(self, pick: int, kind: dict[str, Any]) -> None:
        self.happens("go back and answer", lambda: self._go_back_and_answer(pick, kind))

    async def _go_back_and_answer(self, pick: int, kind: dict[str, Any]) -> None:
        if not self.asked:
            await self.something()
        if self.asked:
            old = list(self.asked.values())[pick % len(self.asked)]
            await self.guest.go(old.checkpoint_id)
            await self.give(old.checkpoint_id, {old.interrupt_id: kind}, None)

    @rule(pick=PICKS, dies=DEATHS)
    def decide_again(self, pick: int, dies: int | None) -> None:
        self.happens("decide again", lambda: self._decide_again(pick, dies))

    async def _decide_again(self, pick: int, dies: int | None) -> None:
        if not self.asked:
            await self.something()
        if self.asked:
            old = list(self.asked.values())[pick % len(self.asked)]
            await self.play("decide_again", dies, checkpoint_id=old.checkpoint_id)

    @rule(pick=PICKS, dies=DEATHS)
    def replay(self, pick: int, dies: int | None) -> None:
        self.happens("replay", lambda: self._replay(pick, dies, "ai"))

    @rule(pick=PICKS, dies=DEATHS)
    def again_from_a_step(self, pick: int, dies: int | None) -> None:
        self.happens("again from a step", lambda: self._replay(pick, dies, "ai", "tool", whole=False))

    @rule(pick=PICKS)
    def edit(self, pick: int) -> None:
        self.happens("edit", lambda: self._edit(pick))

    async def _edit(self, pick: int) -> None:
        versions = [version for version in (await self.guest.view()).versions if version.kind == "human"]
        if not versions:
            await self.something()
        if versions:
            await self.guest.edit(versions[pick % len(versions)], SAID[pick % len(SAID)])

    @rule(dies=DEATHS)
    def resume(self, dies: int | None) -> None:
        self.happens("resume", lambda: self.play("resume", dies))

    @rule(pick=PICKS)
    def switch(self, pick: int) -> None:
        self.happens("switch", lambda: self._switch(pick))

    async def _switch(self, pick: int) -> None:
        versions = (await self.guest.view()).versions
        beside = [pk for version in versions for pk in (version.previous, version.next) if pk]
        if not beside:
            return await self.something()
        await self.guest.switch(beside[pick % len(beside)])

    @rule()
    def undo(self) -> None:
        self.happens("undo", self._undo)

    async def _undo(self) -> None:
        await (self.guest.undo() if (await self.guest.view()).can_undo else self.something())

    # How

    def happens(self, name: str, operation: Callable[[], Awaitable[Any]]) -> None:
        async def all_of_it() -> None:
            try:
                await operation()
            except BranchingError as error:
                OPERATIONS[f"{name}: {type(error).__name__}"] += 1
            else:
                OPERATIONS[name] += 1
            await self.compare()

        self.loop.run(all_of_it())

    async def something(self) -> None:
        """What can always be done: a yes to what waits, or else something to say yes to."""
        waiting = await self.guest.waiting()
        if waiting:
            return await self.give(waiting[0].checkpoint_id, {each.interrupt_id: YES for each in waiting}, None)
        await self.play("send", None, text=BOTH)

    async def _replay(self, pick: int, dies: int | None, *kinds: str, **more: Any) -> None:
        replies = [version for version in (await self.guest.view()).versions if version.kind in kinds]
        if not replies:
            return await self.something()
        await self.play("replay", dies, message=replies[pick % len(replies)].pk, **more)

    async def give(self, checkpoint_id: str, given: dict[str, dict[str, Any]], dies: int | None) -> None:
        """Answer, and note what was taken."""
        page = {"head_version": (await self.guest.view()).head_version}
        arguments = {"checkpoint_id": checkpoint_id, "answers": given, **page}
        run = await commands.begin(self.engine, commands.answer, self.guest.thread.pk, **arguments)
        assert not given.keys() & self.answered.keys(), "no question is answered twice"
        self.answered |= {name: answer["type"] for name, answer in given.items()}
        await self.run(run, dies)

    async def play(self, command: str, dies: int | None, **arguments: Any) -> None:
        reply = await self.guest.begin(command, **arguments)
        await self.run(reply.run, dies)

    async def run(self, run: Run, dies: int | None) -> None:
        """Let the run end, or its process die after so many events; then the page is opened again."""
        reply = Reply(self.engine, run)
        if dies is None:
            await reply.finish()
        else:
            await (await reply.take(dies)).crash()
            await recovery.recover(self.engine, self.guest.thread.pk)

    async def compare(self) -> None:
        for each in await self.guest.waiting():
            assert each.interrupt_id not in self.answered, "what was answered does not wait"
            self.asked[each.interrupt_id] = each
        yes = {name for name, kind in self.answered.items() if kind != "reject"}
        thread = self.guest.thread
        made = [row.action async for row in Booking.objects.filter(thread=thread).select_related("action")]
        ended = [row.cancelled_by async for row in Booking.objects.filter(thread=thread).select_related("cancelled_by")]
        acted = [row.interrupt_id for row in [*made, *filter(None, ended)]]
        assert set(acted) <= yes, "nothing is done without a yes of its own"
        assert max(Counter(acted).values(), default=0) <= 1, "nothing is done twice"
        failed = [run.error async for run in Run.objects.filter(thread=thread, status="failed")]
        assert not failed, "the model had nothing to complain of"
        assert not await self.guest.findings()

    def teardown(self) -> None:
        """Every yes that was given comes about, once its run has been resumed."""
        self.loop.run(self._finish())

    async def _finish(self) -> None:
        due = Action.objects.filter(thread=self.guest.thread, answer__type__in=["approve", "edit"])
        rows = [row async for row in due]
        OPERATIONS["a yes"] += len(rows)
        OPERATIONS["done"] += len([row for row in rows if row.result])
        OPERATIONS["booked"] += await Booking.objects.filter(thread=self.guest.thread).acount()


@pytest.fixture
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.mark.django_db(transaction=True)
def test_whatever_happens_nothing_is_done_without_a_yes_of_its_own(
    loop: asyncio.Runner, alice: User, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """The same stories each time; `--hypothesis-seed` tells others. Cases 59, 61 and 62."""
    monkeypatch.setattr(clock, "today", lambda: TODAY)
    engine = strict_engine()
    bounds = settings(
        max_examples=12,
        stateful_step_count=25,
        phases=(Phase.generate,),
        derandomize=request.config.getoption("hypothesis_seed", None) is None,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: Desk(loop, engine, alice), settings=bounds)
    print(f"\n{OPERATIONS.total()} operations: {dict(OPERATIONS)}")
    assert OPERATIONS["booked"] >= 10
