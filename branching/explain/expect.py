"""What a run will add, run and send, from its row, its base and the edges of its graph. Runs nothing.

It is the same before the run, with a row that is taken back again, and after it: all that it depends on stays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import QuerySet
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, convert_to_messages

from branching import actions, assistants, history, threads
from branching.context import Reading
from branching.engine import Engine
from branching.explain.told import END, START, Added, Expected, Ground, Line, Sent
from branching.models import IndexedCheckpoint, Run
from branching.types import Choices

SAYS, WRITES = ("send",), ("edit", "fork")
"""The kinds of runs that carry a new message; and those that run no node, but change the state."""

IN_PLACE = ("update", "fork")
"""The sources of checkpoints that no step has made: a run may go on from such a one without a copy."""


def ground(engine: Engine, assistant: str) -> Ground:
    """What is fixed about the assistant's graph."""
    known = assistants.get(assistant)
    if known.is_functional:
        return Ground({START: (END,)}, whole=history.WHOLE_TURN)
    edges = engine.graph(assistant).get_graph().edges
    follows: dict[str, tuple[str, ...]] = {START: ()}
    for edge in edges:
        follows[edge.source] = (*follows.get(edge.source, ()), edge.target)
    decides = frozenset(edge.source for edge in edges if edge.conditional)
    return Ground(follows, decides, frozenset(known.asks))


def of_run(engine: Engine, run: Run) -> Expected:
    """What is expected of this run. On the database, where the run's row may be one that will be taken back."""
    base = IndexedCheckpoint.objects.filter(thread=run.thread_id, checkpoint_id=run.base).first()
    here = ground(engine, run.thread.assistant)
    if run.kind in WRITES:
        return _written(here, run, base)
    course = _course(here, run, base)
    expected = _with_beginning(course.expected(run), run, base)
    prompted = _first_prompt(run.thread.assistant, course.order)
    return replace(expected, sent=_sent(engine, run, prompted, course.order) if prompted else None)


def _with_beginning(expected: Expected, run: Run, base: IndexedCheckpoint | None) -> Expected:
    """With the checkpoint that the run's own command has made for it to set out from, where it has."""
    if base is None or base.run_id != run.pk:
        return expected
    first = Added(base.source, base.step, tuple(base.next))
    return replace(expected, base=base.parent_id, rows=(first, *expected.rows))


def _written(here: Ground, run: Run, base: IndexedCheckpoint | None) -> Expected:
    if run.kind == "edit" and here.whole:  # what is said waits in the run's own row
        return Expected(run.base, run.kind, rests=here.nodes)
    # Whether a fork was to copy first is written nowhere but in what it wrote.
    copied = base is not None and written_by(run).filter(source="fork").exists()
    following = here.after((START,)) if run.kind == "edit" else None
    is_open = run.kind == "edit" and START in here.decides
    update = Added("update", _step(base) + copied, following, is_open)
    if not copied:
        return Expected(run.base, run.kind, (update,), rests=here.nodes)
    copy = Added("fork", _step(base), tuple(base.next))
    rows = (copy, update) if written_by(run).filter(source="update").exists() else (copy,)
    return Expected(base.parent_id, run.kind, rows, rests=here.nodes)


def written_by(run: Run) -> QuerySet[IndexedCheckpoint]:
    """The checkpoints that an edit or a fork has made, in their order."""
    return IndexedCheckpoint.objects.filter(thread=run.thread_id, run=run).order_by("pk")


@dataclass(frozen=True)
class _Course:
    """The steps of a run, as far as its graph fixes them."""

    here: Ground
    rows: tuple[Added, ...]
    ran: tuple[str, ...]
    """The nodes of the steps that are certain, in their order."""
    tail: tuple[str, ...]
    """Where it may go on from there; `__end__` among it, where that may be the end."""
    asks: tuple[str, ...] = ()
    waits: int = 0

    @property
    def order(self) -> tuple[str, ...]:
        """All nodes that may run, in the order in which they are reached."""
        return (*self.ran, *self.here.named(self.here.reached(self.tail)))

    def expected(self, run: Run) -> Expected:
        # A question may be answered with anything, or never.
        sure = () if self.asks else self.here.must(self.tail)
        runs = tuple(dict.fromkeys((*self.ran, *self.here.named(sure))))
        may = tuple(dict.fromkeys(self.here.named(self.here.reached(self.tail))))
        # One that runs in any case, and may come once more, is both.
        may = tuple(node for node in may if node not in sure or node in self.here.reached(self.here.after((node,))))
        rests = tuple(node for node in self.here.nodes if node not in (*runs, *may))
        acting = assistants.get(run.thread.assistant).acts
        return Expected(
            base=run.base,
            kind=run.kind,
            rows=self.rows,
            is_open=bool(may),
            runs=runs,
            may_run=may,
            rests=rests,
            asks=self.asks,
            acts=tuple(node for node in self.here.nodes if node in acting and node not in rests),
            left_waiting=self.waits,
        )


def _course(here: Ground, run: Run, base: IndexedCheckpoint | None) -> _Course:
    step, current = _step(base), tuple(base.next) if base else ()
    rows: list[Added] = []
    if run.kind in SAYS:
        rows, current = [Added("input", step, (START,))], (START,)
    elif copies(run, base):
        rows = [Added("fork", step, current)]
    ran: list[str] = []
    is_answered = run.kind == "answer"
    if is_answered and (waits := _left_waiting(run)):
        return _Course(here, (), here.named(current), (), here.named(current), waits)
    while current:
        step = rows[-1].step + 1 if rows else step
        ran += here.named(current)
        asking = tuple(node for node in dict.fromkeys(current) if node in here.asks)
        if asking and not is_answered:
            return _Course(here, tuple(rows), tuple(ran), here.after(current), asking)
        is_answered = False
        following = here.after(current)
        if here.decides.intersection(current):
            rows.append(Added("loop", step, following, is_open=True))
            return _Course(here, tuple(rows), tuple(ran), following)
        current = tuple(node for node in following if node != END)
        rows.append(Added("loop", step, current))
    return _Course(here, tuple(rows), tuple(ran), ())


def _step(base: IndexedCheckpoint | None) -> int:
    return base.step + 1 if base else -1


def copies(run: Run, base: IndexedCheckpoint | None) -> bool:
    """Whether LangGraph begins with a copy of the base: not where it goes on with an answer, and not where the base is
    the newest of the thread, and no step of the graph has made it."""
    if base is None or run.kind == "answer":
        return False
    known = IndexedCheckpoint.objects.filter(thread=run.thread_id)
    if first := known.filter(run=run).order_by("pk").first():
        if base.source in IN_PLACE and (run.beside_id or run.company.exists()):
            return first.source == "fork"  # of those that began together, who was faster is not written down
        known = known.filter(pk__lt=first.pk)
    return base.source not in IN_PLACE or known.filter(checkpoint_id__gt=base.checkpoint_id).exists()


def _left_waiting(run: Run) -> int:
    """How many questions still waited when this answer was given."""
    asked = actions.asked_at(run.thread_id, run.base)
    later = asked.filter(answered_at__gt=run.created_at) | asked.filter(answer__isnull=True)
    return later.count()


# What the model is sent


def _first_prompt(assistant: str, order: Sequence[str]) -> str:
    known = assistants.get(assistant).prompts
    return next((node for node in order if node in known), "")


def _sent(engine: Engine, run: Run, node: str, order: Sequence[str]) -> Sent | None:
    before = order[: order.index(node)]
    state = state_at(engine, run, run.base, says=run.kind in SAYS)
    return sent(engine, run, node, state, before) if state is not None else None


def choices_of(run: Run) -> Choices:
    """What was chosen for the thread when the run wrote its reply, as that has noted it; before, what is chosen now."""
    rows = IndexedCheckpoint.objects.filter(run=run, source__in=("loop", "update"), message__kind="ai")
    written = rows.select_related("message").order_by("-pk").first()
    if written is None or not assistants.get(run.thread.assistant).takes_choices:
        return threads.choices(run.thread)
    return Choices(**written.message.data.get("settings", {}))


def state_at(engine: Engine, run: Run, checkpoint_id: str | None, *, says: bool = False) -> Mapping[str, Any] | None:
    """The state at a checkpoint with what waits in its input, and with `says` with what the run says instead. None
    where the checkpoint is gone."""
    values: dict[str, Any] = {}
    waiting: Sequence[Any] = ()
    if checkpoint_id is not None:
        here = history.config_for(run.thread_id, checkpoint_id)
        saved = engine.saver.get_tuple(here)
        if saved is None:
            return None
        values = dict(engine.graph(run.thread.assistant).get_state(here).values or {})
        waiting = (saved.checkpoint["channel_values"].get(START) or {}).get("messages", ())
    said = [HumanMessage(run.input["text"], id=run.input["id"])] if says and run.input else list(waiting)
    return {**values, "messages": [*values.get("messages", ()), *convert_to_messages(said)]}


def sent(engine: Engine, run: Run, node: str, state: Mapping[str, Any], before: Sequence[str] = ()) -> Sent | None:
    """What this node sends the model, where it is given this state; where nodes run `before`, what of it is known."""
    known = assistants.get(run.thread.assistant)
    prompt = known.prompts[node]
    if not state["messages"]:
        return None
    chosen = [choices_of(run)] if known.takes_choices else []
    read: Reading = prompt.of(engine.models, state, *chosen)
    told_by = tuple(each for each in prompt.told_by if each in before)
    joined_by = tuple(each for each in prompt.joined_by if each in before)
    lines = map(_line, read.messages if told_by else read.sent)
    return Sent(node, tuple(lines), read.left_out, told_by, joined_by, prompt.note)


def _line(message: BaseMessage) -> Line:
    calls = message.tool_calls if isinstance(message, AIMessage) else []
    told = [{"name": call["name"], "args": call["args"]} for call in calls]
    return Line(message.type, str(message.text), json.dumps(told, ensure_ascii=False, default=str) if told else "")
