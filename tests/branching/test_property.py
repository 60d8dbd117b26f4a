"""Random stories on several threads at once, on the saver that ships: after each event everything must agree.

The index with `tree.py` over the real history, the screen with a brute-force view of that history at HEAD, HEAD with
a reader who remembers (`reader.py`), and every old checkpoint with what it was.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import connection
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from langchain_core.messages import BaseMessage
from langchain_core.runnables.config import ensure_config
from pydantic import PrivateAttr

from branching import check, commands, heads, history, index, recovery, threads, tree
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import BranchingError, HeadMoved, NothingToUndo, RunInProgress
from branching.local_model import LocalModel
from branching.models import HeadMove, IndexedCheckpoint, Message, Thread
from branching.saver import DjangoSaver
from branching.types import Checkpoint, CheckpointSaved, RunEnded, ThreadView, Token, Version
from tests.branching.by_hand import ByHand
from tests.branching.conftest import Reply, Story
from tests.branching.models import models_with
from tests.branching.plans import PICKS, PLANS, TAKES, TRACKS, NotHere, Plan, picked
from tests.branching.reader import Journey, Reader

OPERATIONS: Counter[str] = Counter()
IN_FLIGHT: Counter[str] = Counter()
"""Those of them that met a run under way."""
# SQLite hears them all; to PostgreSQL, where each takes three times as long, a part of the same stories is told.
AT_LEAST, STORIES = (350, 11) if connection.vendor == "postgresql" else (2_000, 60)
SIZE = {"max_examples": STORIES, "stateful_step_count": 40}
# Without shrinking, which takes minutes: a failure prints its story as it happened.
PHASES = (Phase.generate,)


class Puppet(LocalModel):
    """Does what was planned for each run, and notes what it was given."""

    model: str = "puppet"
    _plans: dict[str, Plan] = PrivateAttr(default_factory=dict)
    _given: dict[str, list[str]] = PrivateAttr(default_factory=dict)

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        run = ensure_config()["metadata"]["run"]
        self._given[run] = [message.id for message in messages]
        plan = self._plans[run]
        for word in range(plan.words):
            await asyncio.sleep(0)
            yield f"{run[:8]}-{word} "
        if plan.end == "hang":
            await asyncio.Event().wait()
        if plan.end == "fail":
            raise ValueError("as planned")


@dataclass(eq=False)
class Run:
    """A run under way."""

    reply: Reply
    journey: Journey
    plan: Plan | None
    expected: tuple[str, ...] = ()
    """The ids of the messages that the model must be given."""
    words: int = 0

    @property
    def said(self) -> str:
        return self.reply.run.input["id"]

    @property
    def is_hanging(self) -> bool:
        return bool(self.plan and self.plan.end == "hang" and self.words == self.plan.words)


def path_to(node: tree.Node | None) -> tuple[str, ...]:
    return (*path_to(node.parent), node.content.id) if node else ()


@dataclass(eq=False)
class Now:
    """A thread as it is: the view of it, and what its checkpoints say."""

    view: ThreadView
    saved: list[Checkpoint]
    tree: tree.Tree
    nodes: dict[int, tree.Node]
    """The version that each row stands for."""

    @property
    def history(self) -> dict[str, Checkpoint]:
        return self.tree.checkpoints

    def base(self, pk: int) -> Checkpoint:
        return self.history[self.tree.base(self.nodes[pk])]

    def id(self, pk: int | None) -> str | None:
        return self.nodes[pk].content.id if pk else None

    def of_kind(self, kind: str) -> list[int]:
        """The versions on screen that are a person's or a reply."""
        return [version.pk for version in self.view.versions if version.kind == kind]


async def look(story: Story) -> Now:
    """The thread as the index knows it. While a run is under way, the saver is ahead of that."""
    rows = IndexedCheckpoint.objects.filter(thread=story.thread).values_list("checkpoint_id", flat=True)
    known = {checkpoint_id async for checkpoint_id in rows}
    saved = await history.read_all(story.engine.graph(story.thread.assistant), story.thread.pk)
    truth = tree.derive(checkpoint for checkpoint in saved if checkpoint.id in known)
    nodes = {path_to(node): node for node in truth.nodes}
    paths: dict[int | None, tuple[str, ...]] = {None: ()}
    async for row in Message.objects.filter(thread=story.thread).order_by("depth"):
        paths[row.pk] = (*paths[row.parent_id], row.message_id)
    return Now(await story.view(), saved, truth, {pk: nodes[path] for pk, path in paths.items() if pk})


@dataclass(eq=False)
class Track:
    """One thread, and what is expected of it."""

    story: Story
    now: Now
    reader: Reader = field(default_factory=Reader)
    run: Run | None = None
    dead: list[Run] = field(default_factory=list)
    """Runs that died and have not been recovered yet."""
    based: set[int] = field(default_factory=set)
    """The versions whose base has been looked at: it never changes."""
    last: Callable[[], Awaitable[Any]] | None = None
    """The last command, to be given once more with the same key."""

    @property
    def id(self) -> UUID:
        return self.story.thread.pk


class Stories(ByHand, RuleBasedStateMachine):
    """Each rule is one thing that happens to one of three threads; where it does not apply, a message is sent."""

    def __init__(self, loop: asyncio.Runner, engine: Engine, owner: User) -> None:
        super().__init__()
        self.loop, self.engine, self.owner = loop, engine, owner
        self.tracks: list[Track] = []
        self.count = 0

    @initialize()
    def begin(self) -> None:
        for assistant in ("chat", "chat", "echo"):
            story = Story(self.engine, self.loop.run(threads.create(self.owner, assistant=assistant)))
            self.tracks.append(Track(story, self.loop.run(look(story))))

    # What a person does

    @rule(on=TRACKS, plan=PLANS, take=TAKES)
    def send(self, on: int, plan: Plan, take: int | None) -> None:
        self.happens("send", on, self._send, plan, take)

    @rule(on=TRACKS, pick=PICKS, plan=PLANS, take=TAKES)
    def replay(self, on: int, pick: int, plan: Plan, take: int | None) -> None:
        self.happens("replay", on, self._replay, pick, plan, take)

    @rule(on=TRACKS, pick=PICKS, plan=PLANS, take=TAKES, answer=st.booleans())
    def edit(self, on: int, pick: int, plan: Plan, take: int | None, answer: bool) -> None:
        self.happens("edit", on, self._edit, pick, plan, take, answer)

    @rule(on=TRACKS, plan=PLANS, take=TAKES)
    def resume(self, on: int, plan: Plan, take: int | None) -> None:
        self.happens("resume", on, self._resume, plan, take)

    @rule(on=TRACKS, pick=PICKS, where=st.sampled_from(["beside", "beside", "open", "any"]))
    def switch(self, on: int, pick: int, where: str) -> None:
        self.happens("switch", on, self._switch, pick, where)

    @rule(on=TRACKS, pick=PICKS)
    def go(self, on: int, pick: int) -> None:
        self.happens("go", on, self._go, pick)

    @rule(on=TRACKS)
    def undo(self, on: int) -> None:
        self.happens("undo", on, self._undo)

    @rule(on=TRACKS)
    def press_twice(self, on: int) -> None:
        self.happens("press twice", on, self._press_twice)

    @rule(on=TRACKS, command=st.sampled_from(["send", "replay", "edit", "switch", "undo"]))
    def press_on_a_stale_page(self, on: int, command: str) -> None:
        self.happens("press on a stale page", on, self._press_on_a_stale_page, command)

    @rule(on=TRACKS)
    def reload(self, on: int) -> None:
        self.happens("reload", on, self._reload)

    # What happens to runs

    @rule(on=TRACKS, count=st.integers(1, 6))
    def advance(self, on: int, count: int) -> None:
        self.happens("advance", on, self._advance, count)

    @rule(on=TRACKS, plan=PLANS, take=st.integers(0, 6))
    def stop(self, on: int, plan: Plan, take: int) -> None:
        self.happens("stop", on, self._stop, plan, take)

    @rule(on=TRACKS, plan=PLANS, take=st.integers(0, 6), how=st.sampled_from(["crash", "crash", "leave"]))
    def die(self, on: int, plan: Plan, take: int, how: str) -> None:
        self.happens(how, on, self._die, plan, take, how)

    # How

    def happens(self, name: str, on: int, operation: Callable[..., Awaitable[None]], *arguments: Any) -> None:
        """Let it happen and compare everything."""
        track = self.tracks[on]

        async def all_of_it() -> None:
            in_flight, done = bool(track.run), name
            try:
                await operation(track, *arguments)
            except NotHere:
                done = await self._something(track)
            await self.compare(track)
            OPERATIONS[done] += 1
            IN_FLIGHT[done] += in_flight

        self.loop.run(all_of_it())

    async def _something(self, track: Track) -> str:
        """What can always be done."""
        if track.run:
            await self._advance(track, 2)
            return "advance"
        if replies := track.now.of_kind("ai"):
            await self._replay(track, len(replies), Plan(2, "done"), None)
            return "replay"
        await self._send(track, Plan(2, "done"), None)
        return "send"

    def teardown(self) -> None:
        async def finish() -> None:
            for track in self.tracks:
                await self._end_by_stopping(track)
                await self._reload(track)
                await self.compare(track)

        self.loop.run(finish())

    def page(self, track: Track) -> dict[str, Any]:
        """What a page's form carries: the version of HEAD that it shows, and a key of its own."""
        self.count += 1
        return {"head_version": track.now.view.head_version, "key": f"key {self.count}"}

    async def _send(self, track: Track, plan: Plan, take: int | None) -> None:
        """Something new; now and then what stands there unanswered is typed again, which is a resume."""
        await self._arrive(track)
        unanswered, here = self._unanswered(track.now.view), track.reader.here
        retyped = bool(unanswered and plan.words % 2)
        text = unanswered if retyped else f"text {self.count}"
        if begun := await self._begin(track, commands.send, plan, text=text):
            if retyped:
                self._goes_on(track, begun)
            else:
                begun.expected = (*here, begun.said)
                track.reader.says(begun.journey)
            await self._play(track, take)

    def _unanswered(self, view: ThreadView) -> str:
        if view.pending:
            return view.pending.text
        return view.versions[-1].text if view.open_reply and view.versions[-1].kind == "human" else ""

    async def _replay(self, track: Track, pick: int, plan: Plan, take: int | None) -> None:
        await self._arrive(track)
        chosen = picked(track.now.of_kind("ai"), pick)
        base = track.now.base(chosen)
        if begun := await self._begin(track, commands.replay, plan, message=chosen):
            track.reader.moves(base, begun.journey)
            begun.expected = track.reader.here
            await self._play(track, take)

    async def _edit(self, track: Track, pick: int, plan: Plan, take: int | None, answer: bool) -> None:
        chosen, text, page = picked(track.now.of_kind("human"), pick), f"text {self.count}", self.page(track)
        give = partial(commands.edit, self.engine, track.id, message=chosen, text=text, **page)
        if track.run:
            return await self.is_refused(track, RunInProgress, give)
        base = track.now.base(chosen)
        await self._writes(track, give, text, base.id)
        if answer:
            await self._resume(track, plan, take)

    async def _writes(self, track: Track, give: Callable[[], Awaitable[Any]], text: str, base: str) -> None:
        """What the command writes without a run grows from `base`, and HEAD moves there."""
        if track.run:
            raise NotHere
        await self._reload(track)
        assert await give()
        track.last, before = give, track.now
        track.now = await look(track.story)
        [update] = [each for each in track.now.history.values() if each.messages and each.messages[-1].text == text]
        assert track.now.tree.origin(update.parent_id) == track.now.tree.origin(base)
        assert update.id not in before.history
        track.reader.moves(update)

    async def _resume(self, track: Track, plan: Plan, take: int | None) -> None:
        await self._arrive(track)
        if track.now.view.open_reply is None:
            raise NotHere
        if begun := await self._begin(track, commands.resume, plan):
            self._goes_on(track, begun)
            await self._play(track, take)

    def _goes_on(self, track: Track, begun: Run) -> None:
        pending = track.now.view.pending
        begun.expected = (*track.reader.here, *([pending.message_id] if pending else []))
        track.reader.tries_again(begun.journey)

    async def _begin(self, track: Track, command: Any, plan: Plan, **arguments: Any) -> Run | None:
        """The run that the command leads to; None where it is refused, since another is under way."""
        give = partial(command, track.id, **self.page(track), **arguments)
        if track.run:
            return await self.is_refused(track, RunInProgress, give)
        run, track.last = await give(), give
        self.engine.models.chat._plans[str(run.pk)] = plan
        is_chat = track.story.thread.assistant == "chat"
        track.run = Run(Reply(self.engine, run), Journey(run.base), plan if is_chat else None)
        track.reader.journeys.append(track.run.journey)
        return track.run

    async def _switch(self, track: Track, pick: int, where: str) -> None:
        now = track.now
        beside = [pk for version in now.view.versions for pk in (version.previous, version.next) if pk]
        ends = [now.view.later, now.view.open_reply and now.view.open_reply.previous]
        choices = {"beside": beside, "open": [pk for pk in ends if pk]}
        chosen = picked(choices.get(where) or list(now.nodes), pick)
        await self._press(track, partial(heads.switch, track.id, message=chosen, **self.page(track)))
        end = track.reader.returns(path_to(now.nodes[chosen]))
        [landing] = [node for node in now.tree.nodes if path_to(node) == end]
        track.reader.moves(now.history[now.tree.tip(landing)])

    async def _press(self, track: Track, give: Callable[[], Awaitable[Any]]) -> None:
        await give()
        track.last = give

    async def _go(self, track: Track, pick: int) -> None:
        view = track.now.view
        running = [view.run.tip] if view.run and view.run.tip else []
        target = picked([version.checkpoint_id for version in view.versions] + running, pick)
        await self._press(track, partial(heads.go, track.id, checkpoint_id=target, **self.page(track)))
        track.reader.moves(track.now.history[target])

    async def _undo(self, track: Track) -> None:
        assert track.now.view.can_undo == bool(track.reader.last_step())
        if not track.now.view.can_undo:
            return await self.is_refused(track, NothingToUndo, partial(heads.undo, track.id, **self.page(track)))
        await self._press(track, partial(heads.undo, track.id, **self.page(track)))
        track.reader.undoes(track.now.tree)

    async def _press_twice(self, track: Track) -> None:
        if track.last is None:
            raise NotHere
        before = await self.everything(track)
        assert not await track.last()
        assert await self.everything(track) == before

    async def _press_on_a_stale_page(self, track: Track, command: str) -> None:
        now = track.now
        if track.run or not (now.of_kind("ai") and now.of_kind("human") and now.view.can_undo):
            raise NotHere
        human, ai = now.of_kind("human")[0], now.of_kind("ai")[0]
        page = {"head_version": now.view.head_version - 1}
        give = {
            "send": partial(commands.send, track.id, text="stale", **page),
            "replay": partial(commands.replay, track.id, message=ai, **page),
            "edit": partial(commands.edit, self.engine, track.id, message=human, text="stale", **page),
            "switch": partial(heads.switch, track.id, message=human, **page),
            "undo": partial(heads.undo, track.id, **page),
        }[command]
        await self._reload(track)
        await self.is_refused(track, HeadMoved, give)

    async def is_refused(self, track: Track, error: type[BranchingError], give: Callable[[], Awaitable[Any]]) -> None:
        before = await self.everything(track)
        with pytest.raises(error):
            await give()
        assert await self.everything(track) == before

    async def everything(self, track: Track) -> tuple[Any, ...]:
        """All that what is refused must leave as it was."""
        thread = await Thread.objects.values("head", "head_version", "revision", "title").aget(pk=track.id)
        runs = track.story.thread.runs.values_list("pk", "status", "tip").order_by("created_at")
        saved = IndexedCheckpoint.objects.filter(thread=track.id)
        return thread, [run async for run in runs], await saved.acount(), await HeadMove.objects.acount()

    async def _reload(self, track: Track) -> None:
        """The page is opened afresh. That closes the books of a dead run: what it has saved is found."""
        assert await recovery.recover(self.engine, track.id) == bool(track.dead)
        dead, track.dead = track.dead, []
        now = await look(track.story) if dead else track.now
        for run in dead:
            rows = IndexedCheckpoint.objects.filter(run=run.reply.run.pk).order_by("id")
            for found in [row.checkpoint_id async for row in rows if row.checkpoint_id not in track.now.history]:
                track.reader.hears(run.journey, now.history[found], may_follow=not track.reader.has_undone(run.journey))
            track.reader.journeys.remove(run.journey)

    async def _arrive(self, track: Track) -> None:
        """What a command does first."""
        if not track.run:
            await self._reload(track)
            track.now = await look(track.story)

    async def _play(self, track: Track, take: int | None) -> None:
        """Let the run go so many events further; with None to its end, which is a stop where it hangs."""
        await self._advance(track, 99 if take is None else take)
        if take is None:
            await self._end_by_stopping(track)

    async def _advance(self, track: Track, count: int) -> None:
        if track.run is None:
            raise NotHere
        for _ in range(count):
            if track.run and not track.run.is_hanging:
                await self._hear(track)

    async def _hear(self, track: Track) -> None:
        """One event of the run, and what it means to the reader."""
        run = track.run
        await run.reply.take()
        match run.reply.heard[-1]:
            case Token():
                run.words += 1
            case CheckpointSaved(checkpoint, head_followed):
                expected = track.reader.hears(run.journey, checkpoint)
                assert head_followed == expected, "HEAD follows a reader who stays, and only such a one"
            case RunEnded(status):
                track.run = None
                track.reader.journeys.remove(run.journey)
                self._ended_well(run, status)

    def _ended_well(self, run: Run, status: str) -> None:
        given = self.engine.models.chat._given.get(str(run.reply.run.pk))
        assert given is None or tuple(given) == run.expected, "the model is given what is on screen"
        planned = run.plan.end if run.plan else "done"
        assert status in {"done": ("done", "stopped"), "fail": ("failed", "stopped"), "hang": ("stopped",)}[planned]

    async def _stop(self, track: Track, plan: Plan, take: int) -> None:
        await self._in_flight(track, plan, take)
        await self._end_by_stopping(track)

    async def _end_by_stopping(self, track: Track) -> None:
        if track.run:
            track.run.reply.ask_to_stop()
        while track.run:
            await self._hear(track)

    async def _die(self, track: Track, plan: Plan, take: int, how: str) -> None:
        await self._in_flight(track, plan, take)
        run, track.run = track.run, None
        if run:
            await getattr(run.reply, how)()
            track.dead.append(run)

    async def _in_flight(self, track: Track, plan: Plan, take: int) -> None:
        """See to it that a run is under way: another try where that is possible, else a new version of a reply."""
        if track.run is None:
            try:
                await self._resume(track, plan, take)
            except NotHere:
                replies = track.now.of_kind("ai")
                await (self._replay(track, take, plan, take) if replies else self._send(track, plan, take))

    # What must hold

    async def compare(self, track: Track) -> None:
        before, now = track.now, await look(track.story)
        track.now = now
        if not (track.run or track.dead):
            assert await check.compare(track.id, now.saved) == []
        for past in before.history.values():
            assert replace(now.history[past.id], created_at=None) == replace(past, created_at=None)
        assert (now.view.head, now.view.notice) == (track.reader.head, "")
        path = now.tree.path(now.view.head) if now.view.head else []
        assert path_to(path[-1] if path else None) == track.reader.here
        assert [seen(version, now) for version in now.view.versions] == [true(node, now.tree) for node in path]
        fresh = [version.pk for version in now.view.versions if version.pk not in track.based]
        assert await bases(fresh) == [now.tree.base(now.nodes[pk]) for pk in fresh]
        track.based.update(fresh)
        self._the_open_place_agrees(now)

    def _the_open_place_agrees(self, now: Now) -> None:
        """A place for a reply is open exactly where the graph has something left to do, or something is unsaid."""
        view, at = now.view, now.history.get(now.view.head)
        below = now.tree.roots if at is None or not at.messages else now.tree.node_of(at.id).children
        newest = below[-1].content.id if below else None
        if view.pending:
            assert view.open_reply and view.open_reply.total == 1
            assert view.pending.message_id not in [version.message_id for version in view.versions]
        elif at and at.messages and at.next not in ((), ("__start__",)):
            assert (view.open_reply.position, view.open_reply.total) == (len(below) + 1,) * 2
            assert now.id(view.open_reply.previous) == newest
        else:
            assert view.open_reply is None and now.id(view.later) == newest


def seen(version: Version, now: Now) -> tuple[Any, ...]:
    """A version as the view has it."""
    place = version.position, version.total, version.checkpoint_id
    return version.message_id, version.text, version.kind, *place, now.id(version.previous), now.id(version.next)


def true(node: tree.Node, truth: tree.Tree) -> tuple[Any, ...]:
    """The same version as the history has it."""
    siblings = truth.siblings(node)
    at = siblings.index(node)
    beside = [siblings[to].content.id if 0 <= to < len(siblings) else None for to in (at - 1, at + 1)]
    return node.content.id, node.content.text, node.content.kind, at + 1, len(siblings), truth.tip(node), *beside


@on_database
def bases(versions: list[int]) -> list[str]:
    """From where each would be edited or replayed."""
    return [index.base_of(Message.objects.get(pk=pk)).checkpoint_id for pk in versions]


@pytest.fixture
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture
def engine(db: None) -> Engine:
    return Engine(DjangoSaver(), models_with(Puppet()))


@pytest.mark.django_db(transaction=True)
def test_whatever_happens_all_agrees(
    loop: asyncio.Runner, engine: Engine, alice: User, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    """The same stories each time; `--hypothesis-seed` tells others."""
    caplog.set_level("CRITICAL", logger="branching.runs")
    bounds = settings(
        **SIZE,
        phases=PHASES,
        derandomize=request.config.getoption("hypothesis_seed", None) is None,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(lambda: Stories(loop, engine, alice), settings=bounds)
    print(f"\n{OPERATIONS.total()} operations: {dict(OPERATIONS)}\nwhile a run was under way: {dict(+IN_FLIGHT)}")
    assert OPERATIONS.total() >= AT_LEAST
