"""What a run needs beside the database: the checkpoint saver, the models, and the compiled graphs over them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

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
    recovering: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while dead runs are settled: see `recovery`."""

    def graph(self, assistant: str) -> CompiledStateGraph:
        """The assistant's graph over this saver, compiled once. Raises `UnknownAssistant`."""
        if assistant not in self.graphs:
            blueprint = assistants.get(assistant).build(self.models)
            self.graphs[assistant] = blueprint.compile(checkpointer=self.saver)
        return self.graphs[assistant]
