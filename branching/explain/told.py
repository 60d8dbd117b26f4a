"""The values in which a command is explained: what is certain before it, what may come, and what came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from branching.types import Source

START, END = "__start__", "__end__"

SHOWN = 40
"""Messages that a page shows of what a model is sent."""


@dataclass(frozen=True)
class Added:
    """A checkpoint that a run is to add, under the one before it; the first one under the run's base."""

    source: Source
    step: int
    next: tuple[str, ...] | None
    """What comes next then. None where that is up to whoever writes it."""
    is_open: bool = False
    """Whether the work of a node decides which of `next` it will be; `__end__` among them is the end."""

    def allows(self, following: tuple[str, ...]) -> bool:
        """Whether a checkpoint after which this follows is the one that was meant."""
        if self.next is None:
            return True
        return leads(self.next, following) if self.is_open else sorted(self.next) == sorted(following)


@dataclass(frozen=True)
class Line:
    """A message as a model is sent it."""

    kind: str
    text: str
    calls: str = ""
    """The tool calls in it, as JSON."""


@dataclass(frozen=True)
class Sent:
    """What a node sends the model."""

    node: str
    lines: tuple[Line, ...]
    left_out: int = 0
    """How many messages, from the first on, it is not sent."""
    told_by: tuple[str, ...] = ()
    """Nodes that run before, from whose work the first message, the one of the system, is made: it is not known yet."""
    joined_by: tuple[str, ...] = ()
    """Nodes that run before, and whose messages come after these."""
    note: str = ""

    @property
    def shown(self) -> tuple[Line, ...]:
        """What a page shows of it: where that is long, its beginning and its end."""
        if len(self.lines) <= SHOWN:
            return self.lines
        between = Line("…", f"{len(self.lines) - SHOWN}")
        return (*self.lines[:1], between, *self.lines[1 - SHOWN :])

    @property
    def is_exact(self) -> bool:
        """Whether it is this and no more."""
        return not (self.told_by or self.joined_by)


@dataclass(frozen=True)
class Ground:
    """What is fixed about a graph before it runs."""

    follows: Mapping[str, tuple[str, ...]]
    """Where the edges of each node lead."""
    decides: frozenset[str] = frozenset()
    """The nodes after which it is their work that decides where it goes on."""
    asks: frozenset[str] = frozenset()
    """The nodes that may ask a person first, and then add nothing until they are answered."""
    whole: str = ""
    """Of a function that is one step: its name."""

    def after(self, nodes: tuple[str, ...]) -> tuple[str, ...]:
        """All to which the edges of these nodes lead, each once."""
        return tuple(dict.fromkeys(to for node in nodes for to in self.follows.get(node, (END,))))

    def reached(self, nodes: tuple[str, ...]) -> tuple[str, ...]:
        """The nodes, and all to which the edges may lead from them; `__end__` aside."""
        found = [node for node in dict.fromkeys(nodes) if node != END]
        for node in found:
            found += [to for to in self.after((node,)) if to not in (*found, END)]
        return tuple(found)

    def must(self, nodes: tuple[str, ...]) -> tuple[str, ...]:
        """Those that are on every way from one of these nodes to the end."""
        return () if END in nodes else tuple(n for n in self.reached(nodes) if not self._ends_without(n, nodes))

    def _ends_without(self, avoided: str, nodes: tuple[str, ...]) -> bool:
        seen = [node for node in nodes if node != avoided]
        for node in seen:
            after = self.after((node,))
            if END in after:
                return True
            seen += [to for to in after if to not in (*seen, avoided)]
        return False

    @property
    def nodes(self) -> tuple[str, ...]:
        """All nodes that do something."""
        return (self.whole,) if self.whole else tuple(node for node in self.follows if node != START)

    def named(self, nodes: tuple[str, ...]) -> tuple[str, ...]:
        """The nodes that do something among these: `__start__` only takes in what was said, but of a function, which
        does so as it answers."""
        if self.whole:
            return (self.whole,) if nodes else ()
        return tuple(node for node in nodes if node not in (START, END))


@dataclass(frozen=True)
class Expected:
    """What follows from a run's base and its kind before it has run."""

    base: str | None
    kind: str
    rows: tuple[Added, ...] = ()
    """The checkpoints that are added in any case, unless it fails or is stopped."""
    is_open: bool = False
    """Whether more may follow: `loop` checkpoints along the edges of the graph."""
    runs: tuple[str, ...] = ()
    """The nodes that run in any case."""
    may_run: tuple[str, ...] = ()
    """Those that run if the work of another leads there."""
    rests: tuple[str, ...] = ()
    """Those that do not run."""
    sent: Sent | None = None
    """What the model is sent first, if it is asked."""
    asks: tuple[str, ...] = ()
    """Nodes that run, and may ask a person first."""
    acts: tuple[str, ...] = ()
    """Nodes that run or may run, and do something to the world."""
    more: int = 0
    """How many checkpoints come between the last two of `rows`, of the same source."""
    left_waiting: int = 0
    """Questions that go on waiting: until they are answered, nothing is added."""


@dataclass(frozen=True)
class Move:
    """Where HEAD goes at once; with a run, it then follows each checkpoint that is added."""

    origin: str | None
    target: str | None
    why: str
    """As HeadMove writes it; empty where no move is written, since an earlier one goes on."""
    is_made: bool = False
    """Whether `target` is a checkpoint that the command itself makes."""


@dataclass(frozen=True)
class Part:
    """One request of a command: a change of the state, or a run."""

    python: str
    requests: tuple[str, ...]
    expected: Expected
    times: int = 1
    """How often it is done, all at the same time."""
    follows: bool = False
    """Whether it sets out from the checkpoint that the request before it makes."""


@dataclass(frozen=True)
class Explanation:
    """One command, told beforehand."""

    command: str
    parts: tuple[Part, ...] = ()
    """None where nothing runs and no checkpoint is stored."""
    move: Move | None = None
    notes: tuple[str, ...] = field(default=())
    """Codes of what else is to be said of it: see the template."""

    @property
    def python(self) -> str:
        """Runnable where `graph` is the assistant's compiled graph."""
        return "\n".join(part.python for part in self.parts)

    @property
    def requests(self) -> tuple[str, ...]:
        """To an agent server. Empty where it has none for this."""
        every = [part.requests for part in self.parts]
        return tuple(request for part in every for request in part) if all(every) else ()

    @property
    def adds(self) -> bool:
        """Whether any checkpoint is added, or may be."""
        return any(part.expected.rows or part.expected.is_open for part in self.parts)

    @property
    def copies(self) -> bool:
        """Whether LangGraph begins with a copy of the checkpoint (`source="fork"`)."""
        return any(row.source == "fork" for part in self.parts for row in part.expected.rows)


def leads(edges: tuple[str, ...], following: tuple[str, ...]) -> bool:
    """Whether these edges may lead to this."""
    return set(following) <= set(edges) - {END} if following else END in edges
