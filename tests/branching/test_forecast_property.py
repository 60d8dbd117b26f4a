"""What is said of a command before it, compared with what comes of it, over random histories: see `branching/explain`.

With Echo every word must agree: the checkpoints that are added, the nodes that run, what the model is sent, and where
HEAD goes. With models that call tools and ask, what comes must be within what was said.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from langchain_core.messages import BaseMessage

from branching import explain, forks, recovery, several, threads, travel
from branching.assistants.concierge import clock
from branching.assistants.concierge.rules import RulesModel
from branching.assistants.echo import EchoModel
from branching.assistants.planner.rules import MADE, PlannerModel
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import BranchingError
from branching.explain import outcome
from branching.explain.outcome import Comparison
from branching.explain.told import Expected, Explanation, Sent
from branching.forks import Update
from branching.models import (
    Action,
    HeadMove,
    IndexedCheckpoint,
    Message,
    Piece,
    Run,
    StoredCheckpoint,
    StoredWrites,
    Thread,
)
from branching.saver import DjangoSaver
from tests.branching.conftest import Reply, Story
from tests.branching.desk import BOTH, NO, SUITE, TODAY, YES
from tests.branching.models import Scripted, models_with

pytestmark = pytest.mark.django_db(transaction=True)

PRESSES: Counter[str] = Counter()
COMMON = (
    ["send"] * 4
    + ["replay"] * 4
    + ["again"] * 2
    + ["edit"] * 3
    + ["replay_from"] * 3
    + ["send_from"] * 2
    + ["switch"] * 3
)
COMMON += ["undo"] * 2 + ["resume", "go", "several"]
RULES = {"concierge": RulesModel, "planner": PlannerModel}
ENDS = ["ends"] * 6 + ["stops", "dies"]


@dataclass
class Presser:
    """A person who has each button explained, presses it, and looks whether it was true."""

    story: Story
    chance: random.Random
    heard: list[list[BaseMessage]]
    """What the model was really sent, request by request."""
    doings: list[str] = field(default_factory=lambda: COMMON)
    texts: tuple[str, ...] = ("one", "two", "three")
    is_exact: bool = True
    """Whether nothing is left to the work of the graph's nodes."""

    async def wander(self, presses: int) -> None:
        await self._send()
        for _ in range(presses):
            doing = self.chance.choice(self.doings)
            try:
                await getattr(self, f"_{doing}")()
                PRESSES[doing] += 1
            except NothingThere:
                PRESSES[f"{doing}: nothing there"] += 1
            except BranchingError as error:
                PRESSES[f"{doing}: {type(error).__name__}"] += 1

    async def _send(self) -> None:
        await self._press("send", text=self.chance.choice(self.texts))

    async def _replay(self) -> None:
        await self._press("replay", message=await self._some("ai"))

    async def _again(self) -> None:
        message = await self._some("ai", "tool")
        await self._press("replay", message=message, whole=False)

    async def _several(self) -> None:
        """Two at once. Where they may go on in place, the second may find that the first was there before."""
        await recovery.recover(self.story.engine, self.story.thread.pk)
        given = {"message": await self._some("ai"), "count": 2}
        page = {"head_version": (await self.story.view()).head_version}
        press = partial(several.begin, self.story.engine, self.story.thread.pk, **given, **page)
        told = await self._explained(partial(explain.several, **given), press)
        begun = await press()
        await self._moved(told)
        assert [part.times for part in told.parts] == [len(begun)]
        for run in begun:
            asked = len(self.heard)
            await Reply(self.story.engine, run).finish()
            found = await outcome.compared(self.story.engine, self.story.thread, run.pk)
            assert found.agrees and (run.beside_id or found.expected == told.parts[0].expected), shown(found)
            self._was_sent(found, self.heard[asked:])

    async def _replay_from(self) -> None:
        await self._press("replay_from", checkpoint_id=await self._checkpoint())

    async def _send_from(self) -> None:
        await self._press("send_from", checkpoint_id=await self._checkpoint(), text=self.chance.choice(self.texts))

    async def _resume(self) -> None:
        await self._press("resume")

    async def _answer(self) -> None:
        waiting = (await self.story.view()).waiting
        if not waiting:
            return await self._send()
        some = waiting[: self.chance.randint(1, len(waiting))]
        given = {each.interrupt_id: self.chance.choice([YES, YES, NO]) for each in some}
        await self._press("answer", checkpoint_id=waiting[0].checkpoint_id, answers=given)

    async def _decide_again(self) -> None:
        questions = (await self.story.view()).questions
        where = questions[0].checkpoint_id if questions else await self._checkpoint()
        await self._press("decide_again", checkpoint_id=where)

    async def _edit(self) -> None:
        message, text = await self._some("human"), f"{self.chance.choice(self.texts)} or so"
        press = partial(self.story.edit, message, text, answer=False)
        await self._in_two(partial(explain.edit, message=message, text=text), press)

    async def _fork(self) -> None:
        """A change of the state by hand, and a run from there if it leads anywhere."""
        node = self.chance.choice(forks.nodes(self.story.engine.graph(self.story.thread.assistant)))
        updates = [Update(node, {"messages": [{"type": "human", "content": self.chance.choice(self.texts)}]})]
        beside = self.chance.random() < 0.3
        updates = updates if not beside or self.chance.random() < 0.7 else []
        given = {"checkpoint_id": await self._checkpoint(), "updates": updates, "beside": beside}
        page = {"head_version": (await self.story.view()).head_version}
        press = partial(travel.fork, self.story.engine, self.story.thread.pk, **given, **page)
        await self._in_two(partial(explain.fork, **given), press)

    async def _in_two(self, tell: Callable[..., Any], press: Callable[[], Awaitable[Any]]) -> None:
        """A button that changes the state first, and then runs from there."""
        await recovery.recover(self.story.engine, self.story.thread.pk)
        told, before = await self._explained(tell, press), await self._rows()
        await press()
        if told.notes == ("same",):
            assert await self._rows() == before
            return
        await self._moved(told)
        if "waits" not in told.notes:
            await self._is_written(told.parts[0].expected, before)
        if "dead-end" in told.notes:
            assert (await self.story.view()).open_reply is None
            return
        reply = await self.story.begin("resume")
        await self._run(reply, replace(told.parts[-1].expected, base=reply.run.base))

    async def _switch(self) -> None:
        messages = await on_database(lambda: list(self.story.thread.messages.values_list("pk", flat=True)))()
        chosen = self._any(messages)
        await self._only_moves(partial(explain.switch, message=chosen), partial(self.story.switch, chosen))

    async def _go(self) -> None:
        there = await self._checkpoint()
        await self._only_moves(partial(explain.go, checkpoint_id=there), partial(self.story.go, there))

    async def _undo(self) -> None:
        await self._only_moves(explain.undo, self.story.undo)

    # How

    async def _some(self, *kinds: str) -> int:
        shown = [each.pk for each in (await self.story.view()).versions if each.kind in kinds]
        return self._any(shown)

    async def _checkpoint(self) -> str:
        return self._any(await self._rows())

    def _any(self, these: Sequence[Any]) -> Any:
        if not these:
            raise NothingThere
        return self.chance.choice(these)

    @on_database
    def _rows(self) -> list[str]:
        return list(self.story.thread.checkpoints.order_by("pk").values_list("checkpoint_id", flat=True))

    async def _explained(self, tell: Callable[..., Any], press: Callable[[], Awaitable[Any]]) -> Explanation:
        """What is said. What is refused to say is refused to do, for the same reason. Nothing is changed by asking."""
        before = await self._counts()
        try:
            return await tell(self.story.engine, self.story.thread.pk)
        except BranchingError as error:
            with pytest.raises(type(error)):
                await press()
            raise
        finally:
            assert before == await self._counts(), "to explain stores nothing"

    @on_database
    def _counts(self) -> list[Any]:
        kept = (IndexedCheckpoint, Run, HeadMove, Message, Action, StoredCheckpoint, StoredWrites, Piece)
        return [Thread.objects.values().get(pk=self.story.thread.pk), *(model.objects.count() for model in kept)]

    async def _is_written(self, expected: Expected, before: list[str]) -> None:
        """One checkpoint, or two with a copy, to the letter."""
        parent = expected.base
        for row, made in zip(expected.rows, (await self._rows())[len(before) :], strict=True):
            found = await IndexedCheckpoint.objects.aget(thread=self.story.thread, checkpoint_id=made)
            assert (found.source, found.step, found.parent_id) == (row.source, row.step, parent)
            assert tuple(found.next) == row.next and not row.is_open
            parent = made
        assert (await outcome.compared(self.story.engine, self.story.thread, found.run_id)).agrees

    async def _press(self, command: str, **given: Any) -> None:
        await recovery.recover(self.story.engine, self.story.thread.pk)
        press = partial(self.story.begin, getattr(travel, command, command), **given)
        told = await self._explained(partial(getattr(explain, command), **given), press)
        reply = await press()
        await self._moved(told)
        [part] = told.parts
        await self._run(reply, part.expected)

    async def _only_moves(
        self, tell: Callable[..., Awaitable[Explanation]], press: Callable[[], Awaitable[Any]]
    ) -> None:
        await recovery.recover(self.story.engine, self.story.thread.pk)
        told, before = await self._explained(tell, press), await self._rows()
        await press()
        assert (told.parts, told.python, told.requests) == ((), "", ())
        assert await self._rows() == before
        await self._moved(told)

    async def _moved(self, told: Explanation) -> None:
        head = (await Thread.objects.aget(pk=self.story.thread.pk)).head
        assert told.move.is_made or told.move.target == head
        if told.move.why:
            last = await HeadMove.objects.filter(thread=self.story.thread).order_by("-id").afirst()
            assert (last.why, last.origin, last.target) == (told.move.why, told.move.origin, head)

    async def _run(self, reply: Reply, expected: Expected) -> None:
        """Let it run, mostly to its end."""
        asked = len(self.heard)
        end = self.chance.choice(ENDS) if expected.runs else "ends"
        if end == "ends":
            await reply.finish()
        else:
            await reply.take(self.chance.randint(1, 3))
            await (reply.stop() if end == "stops" else reply.crash())
            await recovery.recover(self.story.engine, self.story.thread.pk)
        await self._is_true(expected, reply.run, self.heard[asked:])

    async def _is_true(self, expected: Expected, run: Run, heard: list[list[BaseMessage]]) -> None:
        found = await outcome.compared(self.story.engine, self.story.thread, run.pk)
        assert found.agrees, shown(found)
        assert found.expected == expected, "afterwards it is said as it was before"
        self._was_sent(found, heard)
        assert found.head == "same" or not found.outcome.moves, "HEAD has gone along"
        if self.is_exact and not found.outcome.is_cut:
            assert {pair.verdict for pair in found.pairs} | {found.nodes, found.sent} <= {"same"}, shown(found)
            assert not expected.is_open and len(expected.rows) == len(found.outcome.rows)
            assert set(expected.runs) == set(found.outcome.ran)

    def _was_sent(self, found: Comparison, heard: list[list[BaseMessage]]) -> None:
        told, real = [said(each) for each in found.outcome.sent], [texts(each) for each in heard if not is_second(each)]
        # One that was cut off may not have come to ask.
        assert real == told or (found.outcome.is_cut and real == told[: len(real)]), (told, real)
        first = found.expected.sent
        if real and first and first.is_exact:
            assert real[0] == said(first)


class NothingThere(Exception):
    """There is no such button now."""


def said(sent: Sent) -> list[tuple[str, str]]:
    return [(line.kind, line.text) for line in sent.lines]


def texts(messages: list[BaseMessage]) -> list[tuple[str, str]]:
    return [(message.type, str(message.text)) for message in messages]


def is_second(messages: list[BaseMessage]) -> bool:
    """Whether the planner asks for the second time within its step, of which one is told in words."""
    return MADE in messages[0].text


def shown(found: Comparison) -> str:
    return "\n".join(map(str, [found.expected, found.outcome, *found.pairs, found.nodes, found.sent]))


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[list[BaseMessage]]:
    """What any model is sent."""
    found: list[list[BaseMessage]] = []
    for kind in (EchoModel, RulesModel, PlannerModel, Scripted):
        write = kind.write

        def listening(model: Any, messages: list[BaseMessage], write: Any = write) -> Any:
            found.append(list(messages))
            return write(model, messages)

        monkeypatch.setattr(kind, "write", listening)
    monkeypatch.setattr(clock, "today", lambda: TODAY)
    return found


async def a_story(owner: User, assistant: str) -> Story:
    engine = Engine(DjangoSaver(), models_with(Scripted(replies=("a1", "a2", "a3"))))
    if assistant in RULES:
        engine.models = models_with(RULES[assistant]())
    return Story(engine, await threads.create(owner, assistant=assistant))


async def test_what_is_said_of_echo_comes_true_to_the_letter(alice: User, heard: list[list[BaseMessage]]) -> None:
    for seed in range(3):
        story = await a_story(alice, "echo")
        await Presser(story, random.Random(seed), heard, [*COMMON, *["fork"] * 3]).wander(20)
    print(PRESSES)


@pytest.mark.parametrize("assistant", ["chat", "guide"])
async def test_so_it_does_where_one_node_asks_a_model(
    alice: User, heard: list[list[BaseMessage]], assistant: str
) -> None:
    story = await a_story(alice, assistant)
    await Presser(story, random.Random(assistant), heard).wander(14)


async def test_with_steps_side_by_side_it_stays_within_what_was_said(
    alice: User, heard: list[list[BaseMessage]]
) -> None:
    asks = ("Plan a trip from 2026-12-05 for 1 night", "Plan a trip")
    story = await a_story(alice, "planner")
    await Presser(story, random.Random(1), heard, texts=asks, is_exact=False).wander(8)


async def test_with_tools_and_questions_it_stays_within_what_was_said(
    alice: User, heard: list[list[BaseMessage]]
) -> None:
    asks = (SUITE, BOTH, "Hotels from 2026-12-05 for 2 nights", "Cancel my booking", "thanks")
    doings = [*COMMON, *["answer"] * 10, *["decide_again"] * 3]
    for seed in range(2):
        story = await a_story(alice, "concierge")
        presser = Presser(story, random.Random(seed), heard, doings, asks, is_exact=False)
        await presser.wander(16)
