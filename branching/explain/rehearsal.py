"""Carries a command out as far as its run, and looks at what it did. Inside a transaction that is taken back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from branching import actions, assistants, heads, history, importing, index, results
from branching.database import in_place
from branching.engine import Engine
from branching.exceptions import NothingToRun
from branching.explain import calls, expect
from branching.explain.told import START, Added, Expected, Explanation, Move, Part
from branching.forks import Update
from branching.models import HeadMove, IndexedCheckpoint, Run, Thread

Text = tuple[str, tuple[str, ...]]
"""Python, and the same as requests."""


@dataclass
class Rehearsal:
    """One thread, and what is done to it for the sake of an explanation."""

    engine: Engine
    thread_id: UUID
    updates: Sequence[Update] = ()
    """What a fork among the commands writes."""
    at: str | None = None
    """The checkpoint where something new is said, where that is not at HEAD."""
    closing: Sequence[Any] = ()
    """What takes the place of the tool calls that are open there."""
    runs: set[UUID] = field(default_factory=set)
    """Those that the commands have made, and that are told of already."""
    began: datetime = field(default_factory=timezone.now)

    def of(self, command: str, steps: Sequence[Callable[..., Any]]) -> Explanation:
        """What these commands come to, the second given after the first."""
        thread = heads.locked(self.thread_id)
        self.closing = self._closing(thread)
        rows, moves = _newest(IndexedCheckpoint, thread), _newest(HeadMove, thread)
        parts: list[Part] = []
        for step in steps:
            try:
                done = step(self.thread_id, head_version=self._thread().head_version)
            except NothingToRun:
                if not parts:
                    raise
                break  # a change of the state that leads nowhere
            if done is False:
                return Explanation(command, notes=("same",))
            parts += self._part(rows)
        made = HeadMove.objects.filter(thread=thread, pk__gt=moves).order_by("pk").first()
        return Explanation(command, tuple(parts), _move(thread, made, rows), tuple(self._notes(command, parts)))

    def of_stop(self, run: Run) -> Explanation:
        """What it is to stop this run, if it has come no further until then than now."""
        tip = IndexedCheckpoint.objects.filter(thread=self.thread_id, checkpoint_id=run.tip).first()
        known, here = assistants.get(run.thread.assistant), expect.ground(self.engine, run.thread.assistant)
        node = here.named(tuple(tip.next))[:1] if tip else ()
        if tip is None or not node or node[0] not in known.reply_nodes:
            return Explanation("stop", notes=("stop",))
        values = {"messages": [{"type": "ai", "content": "…", "additional_kwargs": {"stopped": True}}]}
        written = calls.fork(run.thread, tip.checkpoint_id, [Update(node[0], values)])
        row = Added("update", tip.step + 1, here.after(node), is_open=bool(here.decides.intersection(node)))
        part = Part(*written, Expected(tip.checkpoint_id, "stop", (row,), rests=here.nodes))
        return Explanation("stop", (part,), notes=("stop",))

    def of_branch_off(self, checkpoint_id: str) -> Explanation:
        """What it is to begin a thread of its own with the values of this checkpoint."""
        thread = self._thread()
        made = in_place(importing.branch_off)(self.engine, thread, checkpoint_id)
        known = assistants.get(thread.assistant)
        tool = known.acts[0] if known.acts else known.reply_nodes[0]
        nodes = {"human": START, "ai": known.reply_nodes[0], "tool": tool}
        every = made.checkpoints.order_by("pk")
        first, last = list(every[:2]), every.last()
        told = [*first, *([last] if last not in first else [])]
        rows = tuple(Added(row.source, row.step, tuple(row.next)) for row in told)
        rests = expect.ground(self.engine, thread.assistant).nodes
        expected = Expected(None, "thread", rows, rests=rests, more=every.count() - len(told))
        part = Part(*calls.branch_off(thread, checkpoint_id, nodes), expected)
        return Explanation("branch_off", (part,), notes=("thread",))

    def _thread(self) -> Thread:
        return Thread.objects.get(pk=self.thread_id)

    def _closing(self, thread: Thread) -> Sequence[Any]:
        here = self.at or thread.head
        if here is None or not index.has_open_calls(thread.pk, here):
            return ()
        snapshot = self.engine.graph(thread.assistant).get_state(history.config_for(thread.pk, here))
        return results.closing(snapshot, actions.outcomes(thread.pk, here), results.UNKNOWN)

    def _part(self, rows: int) -> list[Part]:
        """What the newest run comes to, if there is a new one. The others had `rows` checkpoints before them."""
        made = Run.objects.filter(thread=self.thread_id, created_at__gte=self.began).exclude(pk__in=self.runs)
        new = list(made.select_related("thread").order_by("created_at"))
        run = next((each for each in new if each.beside_id is None), None)
        if run is None:
            return []
        self.runs.update(each.pk for each in new)
        expected = expect.of_run(self.engine, run)
        if len(new) > 1:
            return [Part(*calls.several(run, len(new)), expected, times=len(new))]
        if run.kind in expect.WRITES:
            return [Part(*self._writing(run), self._as_written(run, expected))] if run.tip else []
        base = IndexedCheckpoint.objects.filter(thread=self.thread_id, checkpoint_id=run.base).first()
        is_made = base is not None and base.pk > rows
        python, requests = calls.run(run, follows=is_made)
        if not is_made or base.run_id != run.pk:
            return [Part(python, requests, expected, follows=is_made)]
        first, asked = self._before(run, base)
        return [Part(f"{first}\n{python}", (*asked, *requests) if asked else (), expected)]

    def _writing(self, run: Run) -> Text:
        if run.kind == "edit":
            return calls.edit(run)
        is_beside = expect.written_by(run).filter(source="fork").exists()
        return (calls.copy if is_beside else calls.fork)(run.thread, run.base, self.updates)

    def _as_written(self, run: Run, expected: Expected) -> Expected:
        rows = tuple(Added(row.source, row.step, tuple(row.next)) for row in expect.written_by(run))
        return replace(expected, rows=rows)

    def _before(self, run: Run, base: IndexedCheckpoint) -> Text:
        """What makes the checkpoint from which a message is sent."""
        if base.parent_id is None:
            return calls.beginning(run.thread)
        return calls.fork(run.thread, base.parent_id, calls.updates_of(self.closing))

    def _notes(self, command: str, parts: Sequence[Part]) -> list[str]:
        kinds = [part.expected.kind for part in parts]
        found = ["answer"] if "answer" in kinds else []
        found += ["closes"] if self.closing and "send" in kinds else []
        is_whole = assistants.get(self._thread().assistant).is_functional
        found += ["dead-end"] if kinds == ["fork"] else []
        found += ["waits"] if command == "edit" and is_whole else []
        return found


def _newest(model: Any, thread: Thread) -> int:
    return model.objects.filter(thread=thread).order_by("-pk").values_list("pk", flat=True).first() or 0


def _move(thread: Thread, made: HeadMove | None, rows: int) -> Move:
    if made is None:  # the move that led here goes on
        return Move(thread.head, thread.head, "")
    is_made = IndexedCheckpoint.objects.filter(thread=thread, checkpoint_id=made.target, pk__gt=rows).exists()
    return Move(made.origin, made.target, made.why, is_made)
