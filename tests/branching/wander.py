"""A person who does this and that on one thread, the same each time for the same seed; and what is offered then."""

from __future__ import annotations

import random
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from branching import heads, index, recovery, several, transcript, travel
from branching.database import on_database
from branching.exceptions import BranchingError
from branching.forks import Update
from branching.models import IndexedCheckpoint, Message, Piece, Run, StoredCheckpoint, StoredWrites, Thread
from branching.types import ThreadView
from tests.branching.conftest import Reply, Story, answers, is_token
from tests.branching.models import HANG, Scripted

DOINGS = ["send"] * 5 + ["replay"] * 5 + ["edit"] * 4 + ["switch"] * 4 + ["undo"] * 2 + ["resume"] * 2
DOINGS += ["go", "copy", "run_again", "send_from", "several", "several"]


def moody(chance: random.Random, count: int) -> Scripted:
    """A model that answers a1, a2, ..., but at times fails in the middle or hangs."""
    kinds = chance.choices(["good", "fails", "hangs"], [7, 1, 2], k=count)
    ends = {"fails": ValueError("as planned"), "hangs": HANG}
    replies = [f"a{n}." if kind == "good" else (f"a{n}.", ends[kind]) for n, kind in enumerate(kinds, 1)]
    return Scripted(replies=(*replies, "enough."))


@dataclass
class Wanderer:
    story: Story
    seed: int
    steps: int = 25
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.model = answers(self.story, moody(self.chance, self.steps * 2))
        self.said = 0

    async def wander(self) -> None:
        await self._send()
        for _ in range(self.steps):
            with suppress(BranchingError):  # what can't be done here is not done
                await getattr(self, f"_{self.chance.choice(DOINGS)}")()
        await recovery.recover(self.story.engine, self.story.thread.pk)

    async def _send(self) -> None:
        await self._play(await self.story.begin("send", text=self._text()))

    async def _replay(self) -> None:
        if replies := [each for each in (await self.story.view()).versions if each.kind == "ai"]:
            await self._play(await self.story.begin("replay", message=self.chance.choice(replies).pk))

    async def _several(self) -> None:
        view = await self.story.view()
        if replies := [each for each in view.versions if each.kind == "ai"]:
            given = {"message": self.chance.choice(replies).pk, "count": self.chance.randint(2, 4)}
            runs = await several.begin(self.story.engine, self.story.thread.pk, head_version=view.head_version, **given)
            for run in self.chance.sample(runs, len(runs)):
                with suppress(BranchingError):
                    await self._play(Reply(self.story.engine, run))
                    if self.chance.random() < 0.3:
                        await (self._switch() if self.chance.random() < 0.7 else self._undo())

    async def _edit(self) -> None:
        if mine := [each for each in (await self.story.view()).versions if each.kind == "human"]:
            await self.story.edit(self.chance.choice(mine), self._text(), answer=False)
            if self.chance.random() < 0.8:
                await self._resume()

    async def _resume(self) -> None:
        await self._play(await self.story.begin("resume"))

    async def _switch(self) -> None:
        messages = await on_database(lambda: list(self.story.thread.messages.values_list("pk", flat=True)))()
        await self.story.switch(self.chance.choice(messages))

    async def _go(self) -> None:
        await self.story.go(await self._anywhere())

    async def _copy(self) -> None:
        here, text = await self._anywhere(), self._text()
        said = [Update("__start__", {"messages": [{"type": "human", "content": text}]})]
        page = {"head_version": (await self.story.view()).head_version}
        updates = said if self.chance.random() < 0.5 else []
        story = self.story
        await travel.fork(story.engine, story.thread.pk, checkpoint_id=here, updates=updates, beside=True, **page)
        if self.chance.random() < 0.8:
            await self._resume()

    async def _run_again(self) -> None:
        here = await self._anywhere()
        reply = await self.story.begin(travel.replay_from, checkpoint_id=here)
        has_ended = not (await self.story.thread.checkpoints.aget(checkpoint_id=here)).next
        await (reply.finish() if has_ended else self._play(reply))

    async def _send_from(self) -> None:
        here = await self._anywhere()
        await self._play(await self.story.begin(travel.send_from, checkpoint_id=here, text=self._text()))

    async def _anywhere(self) -> str:
        rows = self.story.thread.checkpoints.order_by("pk").values_list("checkpoint_id", flat=True)
        return self.chance.choice(await on_database(list)(rows))

    async def _undo(self) -> None:
        await self.story.undo()

    async def _play(self, reply: Reply) -> None:
        planned = self.model.replies[min(len(self.model.calls), len(self.model.replies) - 1)]
        if planned[-1] is not HANG:
            await reply.finish()
            return
        await reply.take_until(is_token)
        if self.chance.random() < 0.3:
            await self._switch()
        await getattr(reply, self.chance.choice(["stop", "stop", "crash", "leave"]))()

    def _text(self) -> str:
        self.said += 1
        return f"q{self.said}."


@on_database
def landings(thread_id: UUID) -> dict[int, str]:
    """Where a switch to each message goes."""
    rows = Message.objects.filter(thread=thread_id)
    return {row.pk: heads._landing(thread_id, row.pk).checkpoint_id for row in rows}


@on_database
def bases(thread_id: UUID) -> dict[int, tuple[Any, Any]]:
    """From where each message is edited or regenerated: after which message, and for a reply what comes next there."""
    rows = {row.pk: (row, index.base_of(row)) for row in Message.objects.filter(thread=thread_id)}
    return {pk: (base.message_id, None if row.kind == "human" else base.next) for pk, (row, base) in rows.items()}


@on_database
def undoes(thread_id: UUID) -> list[str]:
    """Where Undo leads, pressed again and again."""
    first = IndexedCheckpoint.objects.filter(thread=thread_id, parent_id=None).order_by("id").first()
    return [move.origin or first.checkpoint_id for move in heads.undoable(thread_id)]


def said(view: ThreadView) -> list[str]:
    """What is on screen, with the numbers of versions, and whether a reply is missing."""
    shown = [f"{each.text} {each.position}/{each.total}" for each in view.versions]
    return [*shown, *([view.pending.text] if view.pending else []), *(["..."] if view.open_reply else [])]


@dataclass(frozen=True)
class Offered:
    """All that a person can do on a thread, by what it leads to."""

    here: list[str]
    can_undo: bool
    arrows: Mapping[int, list[str]]
    bases: Mapping[int, tuple[Any, Any]]
    undoes: list[list[str]]

    @classmethod
    async def on(cls, thread: Thread) -> Offered:
        async def look(checkpoint_id: str) -> list[str]:
            return said(await transcript.read_at(thread.pk, checkpoint_id))

        view = await transcript.read(thread.pk)
        assert not view.notice
        arrows = {pk: await look(place) for pk, place in (await landings(thread.pk)).items()}
        back = [await look(place) for place in await undoes(thread.pk)]
        return cls(said(view), view.can_undo, arrows, await bases(thread.pk), back)


@on_database
def places(thread_id: UUID) -> set[str]:
    """Every checkpoint that a row about the thread names."""
    thread = Thread.objects.get(pk=thread_id)
    runs = thread.runs.values_list("base", "tip")
    moves = thread.moves.values_list("origin", "target")
    rows = thread.checkpoints.values_list("parent_id", "origin_id")
    return {place for pair in [*runs, *moves, *rows, (thread.head, None)] for place in pair if place}


@on_database
def is_anywhere(text: str) -> bool:
    """Whether the database still holds these words."""
    sought = text.encode()
    bodies = (model.objects.values_list("body", flat=True) for model in (StoredCheckpoint, StoredWrites))
    stored = [*Piece.objects.values_list("data", flat=True), *(body for rows in bodies for body in rows)]
    ours = Message.objects.filter(text__contains=text).exists() or Run.objects.filter(partial__contains=text).exists()
    said = [given["text"] for given in Run.objects.exclude(input=None).values_list("input", flat=True)]
    return ours or text in said or any(sought in bytes(data) for data in stored)
