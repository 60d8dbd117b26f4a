"""Writes checkpoints that no run makes: a state as one of the nodes would have changed it, and a copy of one.

For functions that hold a transaction. What decides which node comes next may be a coroutine function, which LangGraph
asks only where it is awaited itself: so it is, and its calls of the saver come back to this thread and its transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from asgiref.sync import async_to_sync
from langchain_core.runnables import RunnableConfig
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StateUpdate

COPY = "__copy__"
"""LangGraph's name for it is not documented, and no node is called so."""


def write(graph: CompiledStateGraph, config: RunnableConfig, updates: Sequence[StateUpdate]) -> RunnableConfig:
    """The one checkpoint that these updates make under the one that `config` names."""
    return async_to_sync(graph.abulk_update_state)(config, [list(updates)])


def say(graph: CompiledStateGraph, config: RunnableConfig, values: dict[str, Any], *, node: str) -> RunnableConfig:
    """The checkpoint that these values make, as this node would have written them."""
    return write(graph, config, [StateUpdate(values, node)])


def copy(graph: CompiledStateGraph, config: RunnableConfig) -> RunnableConfig:
    """A copy of the checkpoint beside it: under its parent, with the same values and the same `next`.

    It carries no metadata but LangGraph's own, and nothing that was asked or answered at the one it copies.
    """
    return write(graph, config, [StateUpdate(None, COPY)])
