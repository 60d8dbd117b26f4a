"""What a person does by hand at any checkpoint, as rules of the random stories in `test_property.py`."""

from __future__ import annotations

from functools import partial
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from branching import travel
from branching.forks import Update
from tests.branching.plans import PICKS, PLANS, TAKES, TRACKS, NotHere, Plan, picked
from tests.branching.reader import path_of

START = "__start__"


class ByHand:
    """A part of `Stories`, whose methods it uses: it is here for its length."""

    @rule(on=TRACKS, pick=PICKS, plan=PLANS, take=TAKES)
    def fork(self, on: int, pick: int, plan: Plan, take: int | None) -> None:
        self.happens("fork", on, self._fork, pick, plan, take)

    @rule(on=TRACKS, pick=PICKS, plan=PLANS, take=TAKES, write=st.booleans())
    def copy(self, on: int, pick: int, plan: Plan, take: int | None, write: bool) -> None:
        self.happens("copy", on, self._copy, pick, plan, take, write)

    @rule(on=TRACKS, pick=PICKS, plan=PLANS, take=TAKES)
    def run_again(self, on: int, pick: int, plan: Plan, take: int | None) -> None:
        self.happens("run again", on, self._run_again, pick, plan, take)

    @rule(on=TRACKS, pick=PICKS, plan=PLANS, take=TAKES)
    def send_from(self, on: int, pick: int, plan: Plan, take: int | None) -> None:
        self.happens("send from", on, self._send_from, pick, plan, take)

    async def _fork(self, track: Any, pick: int, plan: Plan, take: int | None) -> None:
        here, page = picked(list(track.now.history), pick), self.page(track)
        said = {"type": "human", "content": f"text {self.count}"}
        given = {"checkpoint_id": here, "updates": [Update("__start__", {"messages": [said]})], **page}
        await self._writes(track, partial(travel.fork, self.engine, track.id, **given), said["content"], here)
        await self._resume(track, plan, take)

    async def _copy(self, track: Any, pick: int, plan: Plan, take: int | None, write: bool) -> None:
        """A copy grows from the parent of what it copies, and stands for itself; what is written grows from it."""
        if track.run:
            raise NotHere
        chosen, page = picked(list(track.now.history), pick), self.page(track)
        said = {"type": "human", "content": f"text {self.count}"}
        updates = [Update(START, {"messages": [said]})] if write else []
        await self._arrive(track)
        before = track.now.history
        give = partial(travel.fork, self.engine, track.id, checkpoint_id=chosen, updates=updates, beside=True, **page)
        assert await give()
        track.last = give
        await self._arrive(track)
        copy, *written = [each for id, each in track.now.history.items() if id not in before]
        original = before[chosen]
        assert (copy.parent_id, copy.source, copy.step) == (original.parent_id, "fork", original.step + 1)
        assert (copy.next, copy.messages) == (original.next, original.messages)
        assert track.now.tree.origin(copy.id) == copy.id
        assert [each.parent_id for each in written] == [copy.id] * len(updates)
        track.reader.moves((written or [copy])[0])
        await self._resume(track, plan, take)

    async def _run_again(self, track: Any, pick: int, plan: Plan, take: int | None) -> None:
        """From any checkpoint, be it the end of a turn: then nothing runs, and a copy is added at most."""
        await self._arrive(track)
        chosen = picked(list(track.now.history), pick)
        if begun := await self._begin(track, travel.replay_from, plan, checkpoint_id=chosen, engine=self.engine):
            base = track.now.history[track.now.tree.origin(chosen)]
            track.reader.moves(base, begun.journey)
            waiting = (await track.story.view()).pending
            assert bool(waiting) == (base.next == (START,))
            begun.expected = (*track.reader.here, *([waiting.message_id] if waiting else []))
            begun.plan = begun.plan if base.next else None  # nobody asks the model
            await self._play(track, take)

    async def _send_from(self, track: Any, pick: int, plan: Plan, take: int | None) -> None:
        await self._arrive(track)
        given = {"checkpoint_id": picked(list(track.now.history), pick), "text": f"text {self.count}"}
        if begun := await self._begin(track, travel.send_from, plan, **given, engine=self.engine):
            base = track.now.history[given["checkpoint_id"]]
            track.reader.moves(base, begun.journey)
            begun.expected = (*path_of(base), begun.said)
            await self._play(track, take)
