"""What a run has added, run and sent, from the rows that it left; and how that compares with what was expected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from branching import assistants
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import HistoryLost, NoSuchRun
from branching.explain import expect
from branching.explain.told import Added, Expected, Ground, Sent, leads
from branching.models import HeadMove, IndexedCheckpoint, Run, Thread

MOST_SENT = 8
"""How many requests to a model are told of."""

Verdict = Literal["same", "within", "missing", "other"]
"""As was said; as was said that it may be; not there, since the run was cut short or goes on; something else."""

CUT = (Run.Status.FAILED, Run.Status.STOPPED, Run.Status.LOST, *Run.ACTIVE)


@dataclass(frozen=True)
class Row:
    """A checkpoint that a run has added."""

    id: str
    parent_id: str | None
    source: str
    step: int
    next: tuple[str, ...]

    @property
    def short(self) -> str:
        return self.id[-8:]


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    run_id: UUID
    kind: str
    status: str
    is_beside: bool
    """Whether it was begun beside another, to which it leaves HEAD."""
    base: str | None
    base_next: tuple[str, ...]
    rows: tuple[Row, ...]
    kept: Row | None
    """The checkpoint that keeps what was written until somebody pressed Stop."""
    ran: tuple[str, ...]
    """The nodes that ran to their end, each once."""
    began: tuple[str, ...]
    """Those that were begun, and have asked, failed or been stopped."""
    sent: tuple[Sent, ...]
    """What the model was sent, as the states before say."""
    moves: tuple[HeadMove, ...]
    """Where HEAD was, and where it has gone with the run."""

    @property
    def end(self) -> str | None:
        """The checkpoint that it has got to."""
        last = self.kept or (self.rows[-1] if self.rows else None)
        return last.id if last else self.base

    @property
    def goes_on(self) -> bool:
        """Whether it is under way."""
        return self.status in Run.ACTIVE

    @property
    def is_cut(self) -> bool:
        """Whether it could not do all that it set out to do, or still does it."""
        return self.status in CUT


@dataclass(frozen=True)
class Pair:
    """A checkpoint that was expected, beside the one that came."""

    added: Added | None
    row: Row | None
    verdict: Verdict


@dataclass(frozen=True)
class Comparison:
    """Line by line."""

    expected: Expected
    outcome: Outcome
    pairs: tuple[Pair, ...]
    nodes: Verdict
    sent: Verdict
    head: Verdict
    """Whether HEAD was where the run ended; `within` where somebody had gone elsewhere."""

    @property
    def agrees(self) -> bool:
        """Whether all that came is what was said, or within it."""
        return "other" not in (self.nodes, self.sent, *(pair.verdict for pair in self.pairs))


@on_database
def compared(engine: Engine, thread: Thread, run_id: UUID) -> Comparison:
    """What was to be expected of a run of the thread, beside what came of it.

    Raises `NoSuchRun`, and `HistoryLost` where the checkpoints that it began and ended with are gone.
    """
    run = thread.runs.filter(pk=run_id).select_related("thread").first()
    if run is None:
        raise NoSuchRun
    known = {row for row in (run.base, run.tip) if row}
    if thread.checkpoints.filter(checkpoint_id__in=known).count() < len(known):
        raise HistoryLost
    here = expect.ground(engine, thread.assistant)
    return compare(here, expect.of_run(engine, run), of_run(engine, here, run))


@on_database
def pressed(thread: Thread, limit: int = 20) -> list[HeadMove]:
    """The last moves of HEAD, newest first, each with its run if it has one."""
    moves = HeadMove.objects.filter(thread=thread).select_related("run", "by").order_by("-id")
    return list(moves[:limit])


def of_run(engine: Engine, here: Ground, run: Run) -> Outcome:
    """What the rows say of this run."""
    found = IndexedCheckpoint.objects.filter(thread=run.thread_id, run=run).order_by("pk")
    rows = tuple(Row(row.checkpoint_id, row.parent_id, row.source, row.step, tuple(row.next)) for row in found)
    rows, kept = _parted(run, rows)
    base_id = _base(run, rows)
    base = IndexedCheckpoint.objects.filter(thread=run.thread_id, checkpoint_id=base_id).first()
    base_next = tuple(base.next) if base else ()
    steps = list(_steps(rows, base_id, base_next))
    last = rows[-1].id if rows else base_id
    began = _begun(run, rows, base_next)
    return Outcome(
        run_id=run.pk,
        kind=run.kind,
        status=run.status,
        is_beside=run.beside_id is not None,
        base=base_id,
        base_next=base_next,
        rows=rows,
        kept=kept,
        ran=tuple(dict.fromkeys(here.named(tuple(node for _, nodes in steps for node in nodes)))),
        began=here.named(began),
        sent=tuple(_sent(engine, here, run, [*steps, (last, began)])),
        moves=tuple(HeadMove.objects.filter(run=run).order_by("id")),
    )


def _parted(run: Run, rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], Row | None]:
    """What the graph has added, and what Stop has."""
    is_kept = run.status == Run.Status.STOPPED and rows and rows[-1].source == "update" and rows[-1].id != run.base
    return (rows[:-1], rows[-1]) if is_kept else (rows, None)


def _base(run: Run, rows: Sequence[Row]) -> str | None:
    if run.kind == "fork" and rows and rows[0].source == "fork":
        return rows[0].parent_id  # a copy beside what it copies
    made = next((row for row in rows if row.id == run.base), None)
    return made.parent_id if made else run.base


def _steps(rows: Sequence[Row], base_id: str | None, base_next: tuple[str, ...]) -> Iterator[tuple[str | None, tuple]]:
    """The steps of the graph that came to their end: the checkpoint before each, and its nodes."""
    nexts = {base_id: base_next, **{row.id: row.next for row in rows}}
    for row in rows:
        if row.source == "loop":
            yield row.parent_id, nexts.get(row.parent_id, ())


def _begun(run: Run, rows: Sequence[Row], base_next: tuple[str, ...]) -> tuple[str, ...]:
    """The nodes of a step that has not come to its end."""
    if run.kind in expect.WRITES or run.status == Run.Status.DONE:
        return ()
    return rows[-1].next if rows else base_next


def _sent(
    engine: Engine, here: Ground, run: Run, steps: Sequence[tuple[str | None, tuple[str, ...]]]
) -> Iterator[Sent]:
    prompts = assistants.get(run.thread.assistant).prompts
    asking = [(at, node) for at, nodes in steps for node in here.named(tuple(dict.fromkeys(nodes))) if node in prompts]
    for at, node in asking[:MOST_SENT]:
        state = expect.state_at(engine, run, at)
        if state is not None and (sent := expect.sent(engine, run, node, state)):
            yield sent


def compare(here: Ground, expected: Expected, outcome: Outcome) -> Comparison:
    """What was expected beside what came."""
    return Comparison(
        expected,
        outcome,
        tuple(_pairs(here, expected, outcome)),
        _nodes(expected, outcome),
        _talk(expected, outcome),
        "same" if outcome.end in [move.target for move in outcome.moves] else "within",
    )


def _pairs(here: Ground, expected: Expected, outcome: Outcome) -> Iterator[Pair]:
    before = Row(outcome.base or "", None, "", 0, outcome.base_next)
    for added, row in zip(expected.rows, outcome.rows, strict=False):
        is_as_said = (added.source, added.step) == (row.source, row.step) and added.allows(row.next)
        is_below = row.parent_id == (before.id or None)
        yield Pair(added, row, _verdict(is_as_said and is_below, is_open=added.is_open or added.next is None))
        before = row
    for added in expected.rows[len(outcome.rows) :]:
        yield Pair(added, None, "missing" if outcome.is_cut else "other")
    for row in outcome.rows[len(expected.rows) :]:
        is_within = expected.is_open and row.source == "loop" and _goes_on(here, before, row)
        yield Pair(None, row, _verdict(is_within, is_open=True))
        before = row


def _verdict(is_right: bool, *, is_open: bool) -> Verdict:
    if not is_right:
        return "other"
    return "within" if is_open else "same"


def _goes_on(here: Ground, before: Row, row: Row) -> bool:
    return leads(here.after(before.next), row.next) and row.parent_id == before.id


def _nodes(expected: Expected, outcome: Outcome) -> Verdict:
    done, begun = set(outcome.ran), {*outcome.ran, *outcome.began}
    if not begun <= {*expected.runs, *expected.may_run}:
        return "other"
    if not set(expected.runs) <= begun:
        return "missing" if outcome.is_cut else "other"
    return "same" if done == set(expected.runs) and not expected.may_run else "within"


def _talk(expected: Expected, outcome: Outcome) -> Verdict:
    """Whether the model was sent what was said first."""
    if expected.sent is None:
        return "other" if outcome.sent else "same"
    if not outcome.sent:
        return "missing" if outcome.is_cut else ("within" if expected.asks else "other")
    said, first = expected.sent, outcome.sent[0]
    if said.is_exact:
        return "same" if said.lines == first.lines else "other"
    known = first.lines[1:] if said.told_by else first.lines
    return "within" if known[: len(said.lines)] == said.lines else "other"
