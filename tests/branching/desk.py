"""A guest at the concierge's desk: a story with questions and answers, and a model that no bad sequence gets past."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import date
from typing import Any

import pytest
from django.contrib.auth.models import User
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage

from branching import threads
from branching.assistants.concierge import clock
from branching.assistants.concierge.rules import RulesModel
from branching.engine import Engine
from branching.models import Action, Booking
from branching.saver import DjangoSaver
from branching.types import Asked, RunEvent
from tests.branching.conftest import Story
from tests.branching.models import models_with

TODAY = date(2026, 11, 30)
SUITE = "Book the suite in Bell Tower Hotel for 2 nights from 2026-12-05"
STANDARD = "Book the standard room in Bell Tower Hotel for 2 nights from 2026-12-05"
BOTH = f"{SUITE} and the standard room in City Wall Inn"
YES, NO = {"type": "approve"}, {"type": "reject", "reason": "not today"}


def refuse_a_bad_sequence(messages: Sequence[BaseMessage]) -> None:
    """What a strict provider does: each call is followed by its result, before anything else, and is known by its id
    alone."""
    waiting: list[str] = []
    seen: set[str] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            assert message.tool_call_id in waiting, f"a result for {message.tool_call_id}, which nobody has called"
            waiting.remove(message.tool_call_id)
            continue
        assert not waiting, f"no result for {waiting}"
        waiting = [call["id"] for call in message.tool_calls] if isinstance(message, AIMessage) else []
        assert not seen & set(waiting), "an id of a call comes twice"
        seen |= set(waiting)
    assert not waiting, f"no result for {waiting}"


class Strict(RulesModel):
    """The rules, behind a provider that refuses whatever is out of order."""

    model: str = "strict"

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str | AIMessageChunk]:
        refuse_a_bad_sequence(messages)
        async for piece in super().write(messages):
            yield piece


def strict_engine() -> Engine:
    return Engine(DjangoSaver(), models_with(Strict()))


class Guest(Story):
    """A thread with the concierge."""

    async def waiting(self) -> tuple[Asked, ...]:
        return (await self.view()).waiting

    async def answer(self, *answers: dict[str, Any], **more: Any) -> list[RunEvent]:
        """Answer the first questions that wait, one after the other in the same command."""
        waiting = await self.waiting()
        given = {each.interrupt_id: answer for each, answer in zip(waiting, answers, strict=False)}
        arguments = {"checkpoint_id": waiting[0].checkpoint_id, "answers": given, **more}
        return await (await self.begin("answer", **arguments)).finish()

    async def decide_again(self, checkpoint_id: str, **more: Any) -> list[RunEvent]:
        return await (await self.begin("decide_again", checkpoint_id=checkpoint_id, **more)).finish()

    async def bookings(self) -> list[str]:
        """All that was booked in this thread, with a mark where it was cancelled."""
        rows = [row async for row in Booking.objects.filter(thread=self.thread).order_by("id")]
        return [f"{row.room} {row.hotel_id} {row.nights}" + (" cancelled" if row.cancelled_at else "") for row in rows]

    async def actions(self) -> list[Action]:
        return [row async for row in Action.objects.filter(thread=self.thread).order_by("id")]

    async def state(self) -> dict[str, Any]:
        """The graph's values at HEAD."""
        names = {"thread_id": str(self.thread.pk), "checkpoint_ns": "", "checkpoint_id": (await self.view()).head}
        return (await self.engine.graph("concierge").aget_state({"configurable": names})).values


async def guest_of(owner: User, engine: Engine) -> Guest:
    """A new thread with the concierge."""
    return Guest(engine, await threads.create(owner, assistant="concierge"))


@pytest.fixture
async def guest(alice: User, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Guest]:
    """Alice at the desk, on a day that stays. Test modules import it."""
    monkeypatch.setattr(clock, "today", lambda: TODAY)
    guest = await guest_of(alice, strict_engine())
    yield guest
    assert not (guest.is_sound and await guest.findings())
