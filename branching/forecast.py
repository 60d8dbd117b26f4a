"""What running on from a checkpoint may do to the world, and what it has done there before."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from branching import assistants, index, ledger, lineage
from branching.database import on_database
from branching.engine import Engine
from branching.models import Thread
from branching.types import LedgerLine


@dataclass(frozen=True)
class Forecast:
    """What may happen again."""

    next: tuple[str, ...]
    nodes: tuple[str, ...]
    """All nodes that may run, the next ones among them."""
    acting: tuple[str, ...]
    """Those of them that do something to the world."""
    done: tuple[LedgerLine, ...]
    """What came after this checkpoint before, on any branch: it stays, and may be done once more."""

    @property
    def needs_consent(self) -> bool:
        """Whether one should say that one wants that."""
        return bool(self.acting) and bool(self.done or set(self.acting) & set(self.next))


async def of(engine: Engine, thread: Thread, checkpoint_id: str, following: Iterable[str] | None = None) -> Forecast:
    """What may happen after the checkpoint; after a fork there, with what comes next then in `following`.

    Raises `NoSuchCheckpoint`.
    """
    row = await _row(thread.pk, checkpoint_id)
    following = tuple(row.next if following is None else following)
    nodes = reachable(engine, thread, following)
    acting = tuple(node for node in nodes if node in assistants.get(thread.assistant).acts)
    return Forecast(following, nodes, acting, await _done_below(thread, checkpoint_id) if acting else ())


def reachable(engine: Engine, thread: Thread, following: Iterable[str]) -> tuple[str, ...]:
    """The nodes to which the graph's edges may lead, those it begins with first."""
    edges = [(edge.source, edge.target) for edge in engine.graph(thread.assistant).get_graph().edges]
    found = list(following)
    for node in found:
        found += [target for source, target in edges if source == node and target not in (*found, "__end__")]
    return tuple(dict.fromkeys(node for node in found if node != index.START))


async def _done_below(thread: Thread, checkpoint_id: str) -> tuple[LedgerLine, ...]:
    below = await on_database(lineage.below)(thread.pk, checkpoint_id)
    lines = await ledger.read(thread.pk)
    return tuple(line for line in lines if line.checkpoint_id in below and line.state in ("done", "approved"))


_row = on_database(index.checkpoint_of)
