"""Explains each command before it is given: what it calls, adds, runs and sends, and where HEAD goes.

A command is rehearsed: it is carried out up to its run, in a transaction that is taken back. So what is said of it is
what `commands.py` and `heads.py` do, and nothing is stored. The run itself is not begun: see `expect.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from branching import commands, heads, travel
from branching import several as several_
from branching.database import in_place, on_database
from branching.engine import Engine
from branching.exceptions import NoSuchRun
from branching.explain.rehearsal import Rehearsal
from branching.explain.told import Added, Expected, Explanation, Line, Move, Part, Sent
from branching.forks import Update
from branching.models import Run
from branching.saying import said_anew
from branching.words import checked

__all__ = ["Added", "Expected", "Explanation", "Line", "Move", "Part", "Sent"]

PLACEHOLDER = "…"
"""What is said where a person has not said it yet."""


async def send(engine: Engine, thread_id: UUID, *, text: str = PLACEHOLDER) -> Explanation:
    """What it is to say `text` at HEAD. Raises what `commands.send` raises, as all of these do for theirs."""
    return await _explained(engine, thread_id, "send", partial(in_place(commands.send), text=text, engine=engine))


async def replay(engine: Engine, thread_id: UUID, *, message: int, whole: bool = True) -> Explanation:
    """What it is to answer the turn of this reply anew; not `whole`, from the step on that brought it."""
    command = partial(in_place(commands.replay), message=message, whole=whole)
    return await _explained(engine, thread_id, "replay" if whole else "again", command)


async def several(engine: Engine, thread_id: UUID, *, message: int, count: int) -> Explanation:
    """What it is to have the turn of this reply answered anew so many times at once."""
    command = partial(in_place(several_.replay), message=message, count=count)
    return await _explained(engine, thread_id, "several", command)


async def replay_from(engine: Engine, thread_id: UUID, *, checkpoint_id: str) -> Explanation:
    """What it is to go on from any checkpoint once more."""
    command = partial(in_place(travel.replay_from), checkpoint_id=checkpoint_id, engine=engine)
    return await _explained(engine, thread_id, "replay_from", command)


async def edit(engine: Engine, thread_id: UUID, *, message: int, text: str = PLACEHOLDER) -> Explanation:
    """What it is to say `text` instead of this message, both requests."""
    said = said_anew(checked(text))
    first = partial(in_place(commands.edit_at_once), engine, message=message, said=said)
    return await _explained(engine, thread_id, "edit", first, in_place(commands.resume))


async def resume(engine: Engine, thread_id: UUID) -> Explanation:
    """What it is to go on from HEAD: Retry, Resume, Generate reply."""
    return await _explained(engine, thread_id, "resume", in_place(commands.resume))


async def answer(engine: Engine, thread_id: UUID, *, checkpoint_id: str, answers: Mapping[str, Any]) -> Explanation:
    """What it is to answer these questions of a checkpoint."""
    command = partial(in_place(commands.answer), checkpoint_id=checkpoint_id, answers=answers)
    return await _explained(engine, thread_id, "answer", command)


async def decide_again(engine: Engine, thread_id: UUID, *, checkpoint_id: str) -> Explanation:
    """What it is to be asked anew what was asked at this checkpoint."""
    command = partial(in_place(commands.decide_again), checkpoint_id=checkpoint_id)
    return await _explained(engine, thread_id, "decide_again", command)


async def send_from(engine: Engine, thread_id: UUID, *, checkpoint_id: str, text: str = PLACEHOLDER) -> Explanation:
    """What it is to say `text` at any checkpoint."""
    command = partial(in_place(travel.send_from), checkpoint_id=checkpoint_id, text=text, engine=engine)
    return await _explained(engine, thread_id, "send_from", command, at=checkpoint_id)


async def fork(
    engine: Engine, thread_id: UUID, *, checkpoint_id: str, updates: Sequence[Update], beside: bool = False
) -> Explanation:
    """What it is to change the state at this checkpoint, or with `beside` that of a copy, and to run from there."""
    given = {"checkpoint_id": checkpoint_id, "updates": updates, "beside": beside}
    change = partial(in_place(travel.fork_at_once), engine, **given)
    return await _explained(engine, thread_id, "fork", change, in_place(commands.resume), updates=updates)


async def switch(engine: Engine, thread_id: UUID, *, message: int) -> Explanation:
    """What an arrow does that leads to this message."""
    return await _explained(engine, thread_id, "switch", partial(in_place(heads.switch), message=message))


async def go(engine: Engine, thread_id: UUID, *, checkpoint_id: str) -> Explanation:
    """What it is to show the branch that ends in this checkpoint."""
    return await _explained(engine, thread_id, "go", partial(in_place(heads.go), checkpoint_id=checkpoint_id))


async def undo(engine: Engine, thread_id: UUID) -> Explanation:
    """What it is to take the last move of HEAD back."""
    return await _explained(engine, thread_id, "undo", in_place(heads.undo))


@on_database
def branch_off(engine: Engine, thread_id: UUID, *, checkpoint_id: str) -> Explanation:
    """What it is to begin a thread of its own with the values of this checkpoint."""
    with transaction.atomic():
        try:
            return Rehearsal(engine, thread_id).of_branch_off(checkpoint_id)
        finally:
            transaction.set_rollback(True)


@on_database
def stop(engine: Engine, thread_id: UUID) -> Explanation:
    """What it is to stop the run that is under way. Raises `NoSuchRun` where none is."""
    run = Run.objects.filter(thread=thread_id, status__in=Run.ACTIVE).order_by("created_at").first()
    if run is None:
        raise NoSuchRun
    return Rehearsal(engine, thread_id).of_stop(run)


@on_database
def _explained(
    engine: Engine,
    thread_id: UUID,
    name: str,
    *steps: Callable[..., Any],
    updates: Sequence[Update] = (),
    at: str | None = None,
) -> Explanation:
    """What these commands, given one after the other, come to. They are taken back, whatever happens."""
    with transaction.atomic():
        try:
            return Rehearsal(engine, thread_id, updates, at).of(name, steps)
        finally:
            transaction.set_rollback(True)
