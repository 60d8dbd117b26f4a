"""What a run needs beside the database: the checkpoint saver, the models, and the compiled graphs over them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from django.core.exceptions import ImproperlyConfigured
from langgraph.graph.state import CompiledStateGraph

from branching import assistants
from branching.llm import Models
from branching.saver import DjangoSaver


@dataclass
class Engine:
    """One per process."""

    saver: DjangoSaver
    models: Models
    graphs: dict[str, CompiledStateGraph] = field(default_factory=dict)
    plays: bool = False
    """Whether threads that were begun with a scenario are answered by its script; else they are not answered."""
    recovering: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while dead runs are settled: see `recovery`."""

    def graph(self, assistant: str) -> CompiledStateGraph:
        """The assistant's graph over this saver, compiled once.

        Raises `UnknownAssistant`, and `ImproperlyConfigured` where a graph within it has a memory of its own.
        """
        if assistant not in self.graphs:
            self.graphs[assistant] = self.graph_with(self.models, assistant)
        return self.graphs[assistant]

    def graph_with(self, models: Models, assistant: str) -> CompiledStateGraph:
        """The assistant's graph over this saver, compiled anew with models of its own."""
        return _checked(assistants.get(assistant).build(models).compile(checkpointer=self.saver))


def _checked(graph: CompiledStateGraph) -> CompiledStateGraph:
    # A message sent on an old branch would find what was said on the newest one in such a memory.
    if remembering := [name for name, inner in graph.get_subgraphs(recurse=True) if inner.checkpointer]:
        raise ImproperlyConfigured(f"A graph within a node must not have a checkpointer: {', '.join(remembering)}.")
    return graph
