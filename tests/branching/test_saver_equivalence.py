"""Our saver and LangGraph's `InMemorySaver`, given the same commands on the same graphs, hold and answer the same."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from itertools import count
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage, RemoveMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Command, Overwrite, StateUpdate

from branching.saver import DjangoSaver
from tests.branching.saver_graphs import GRAPHS, World

pytestmark = pytest.mark.django_db(transaction=True)

KINDS = ("send", "send", "replay", "resume", "resume_some", "update", "update", "many", "copy", "again")

commands = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 40), st.integers(0, 12)), min_size=1, max_size=8)


class Side:
    """One saver, a graph over it, and what has come of the commands."""

    def __init__(self, kind: str, saver: BaseCheckpointSaver) -> None:
        self.world = World()
        self.thread = "thread"
        self.graph = GRAPHS[kind](self.world).compile(checkpointer=saver)
        self.saver = self.graph.checkpointer  # the one that may read the graph's own classes
        self.ids = map(_checkpoint_id, count(1))

    async def do(self, command: tuple[str, int, int]) -> Any:
        """What the command returns or raises."""
        kind, at, what = command
        self.world.command += 1
        states = await self.states()
        target = states[-1 - at % len(states)] if states else None
        with self._own_ids():
            try:
                return _plain(await self._carry_out(kind, target, what))
            except Exception as error:
                return _without_ids(f"{type(error).__name__}: {error}")

    async def _carry_out(self, kind: str, target: Any, what: int) -> Any:
        config = target.config if target else self._config()
        if kind == "send" or target is None:
            text = ("hello", "ask me", "fail once", "and then?")[what % 4] + "!" * (what // 4)
            message = HumanMessage(text, id=f"human-{self.world.command}")
            latest = self._config() if what % 2 else config
            return await self.graph.ainvoke({"messages": [message]}, latest, durability="sync")
        if kind == "replay":
            return await self.graph.ainvoke(None, config, durability="sync")
        if kind == "again":
            return await self.graph.ainvoke(None, self._config(), durability="sync")
        if kind in ("resume", "resume_some"):
            asked = [interrupt.id for task in target.tasks for interrupt in task.interrupts]
            some = dict.fromkeys(asked[: 1 + what % 3], f"yes {what}") if kind == "resume_some" else f"no {what}"
            return await self.graph.ainvoke(Command(resume=some), config, durability="sync")
        if kind == "copy":
            return await self.graph.aupdate_state(config, None, as_node="__copy__")
        if kind == "many":
            nodes = [self._node(n) or "__start__" for n in (what, what + 1)]
            updates = [StateUpdate(self._values(target, what + n), node) for n, node in enumerate(nodes)]
            return await self.graph.abulk_update_state(config, [updates, updates[:1]])
        return await self.graph.aupdate_state(config, self._values(target, what), as_node=self._node(what // 2))

    def _values(self, target: Any, what: int) -> Any:
        """An update: something new, an edit by id, a removal, a new list, or nothing that is in the state."""
        messages = target.values.get("messages", [])
        name = f"update-{self.world.command}-{what}"
        new = [HumanMessage(f"{what}", id=name)]
        if what % 5 == 1 and messages:
            return {"messages": [messages[what % len(messages)].model_copy(update={"content": name})]}
        if what % 5 == 2 and messages:
            return {"messages": [RemoveMessage(id=messages[what % len(messages)].id)]}
        if what % 5 == 3:
            return {"messages": Overwrite([*messages[-2:], *new])}
        return {"messages": new, "facts": {"by": "hand", "n": what}}

    def _node(self, what: int) -> str | None:
        return [None, "__start__", *(name for name in self.graph.nodes if name != "__start__")][
            what % (1 + len(self.graph.nodes))
        ]

    def _config(self) -> Any:
        return {"configurable": {"thread_id": self.thread}, "recursion_limit": 12}

    @contextmanager
    def _own_ids(self) -> Iterator[None]:
        """The same checkpoint ids on either side: tasks and interrupts are named after them."""
        with (
            patch("langgraph.pregel._checkpoint.uuid6", lambda **_: next(self.ids)),
            patch("langgraph.checkpoint.base.uuid6", lambda **_: next(self.ids)),
        ):
            yield

    async def states(self) -> list[Any]:
        """The state at each checkpoint, newest first."""
        found = [
            each.config
            async for each in self.saver.alist({"configurable": {"thread_id": self.thread, "checkpoint_ns": ""}})
        ]
        return [await self.graph.aget_state(config) for config in found]

    async def stored(self, **which: Any) -> list[CheckpointTuple]:
        return [each async for each in self.saver.alist({"configurable": {"thread_id": self.thread}}, **which)]


def _checkpoint_id(number: int) -> UUID:
    return UUID(int=number << 96 | 0x6000_8000_0000_0000_0000)


def _without_ids(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x", text)


serde = JsonPlusSerializer()


def _plain(value: Any) -> Any:
    """A value to compare by `==`, with the bytes that it makes, which tell 1 from True and know the order of keys."""
    return _shown(value), serde.dumps_typed(value)


def _shown(value: Any) -> Any:
    if isinstance(value, BaseMessage):
        return type(value), {key: _shown(item) for key, item in value.__dict__.items()}
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [_shown(item) for item in value]
    return value


def checkpoint(found: CheckpointTuple) -> Any:
    """All of a checkpoint that both sides have in common. Versions are compared by their number."""
    rest = {key: value for key, value in found.checkpoint.items() if key not in ("ts", "channel_values")}
    rest["channel_versions"] = _numbers(rest["channel_versions"])
    rest["versions_seen"] = {node: _numbers(seen) for node, seen in rest["versions_seen"].items()}
    values = {channel: _plain(value) for channel, value in found.checkpoint["channel_values"].items()}
    writes = [(task, channel, _plain(value)) for task, channel, value in found.pending_writes or ()]
    return deepcopy((found.config, rest, list(values.items()), found.metadata, found.parent_config, writes))


def _numbers(versions: dict[str, Any]) -> dict[str, int]:
    return {key: int(str(version).split(".")[0]) for key, version in versions.items()}


def state(found: Any) -> Any:
    tasks = [
        (task.id, task.name, task.path, str(task.error), task.interrupts, _plain(task.result)) for task in found.tasks
    ]
    return _plain(found.values), found.next, tasks, found.metadata, found.parent_config, found.interrupts


async def compare(ours: Side, theirs: Side, cold: DjangoSaver) -> None:
    """Whatever is stored, and what the graph makes of it, is the same; so it is for a process that has read nothing."""
    mine, other = await ours.stored(), await theirs.stored()
    in_order = [each.config["configurable"] for each in mine]
    assert in_order == [each.config["configurable"] for each in other]
    for one, another in zip(mine, other, strict=True):
        assert checkpoint(one) == checkpoint(another)
    for one, another in zip(await ours.states(), await theirs.states(), strict=True):
        assert state(one) == state(another)
    for one in mine:
        seen = checkpoint(one)
        spoil(one)
        for saver in (ours.saver, cold):
            again = await saver.aget_tuple(one.config)
            assert checkpoint(again) == seen
            spoil(again)


def spoil(value: Any) -> None:
    """Change all that can be changed in place."""
    if isinstance(value, BaseMessage):
        spoil(value.__dict__)
        value.content = "spoiled"
    elif isinstance(value, CheckpointTuple):
        spoil([value.checkpoint["channel_values"], value.metadata, value.pending_writes])
    elif isinstance(value, dict):
        spoil(list(value.values()))
        value["spoiled"] = True
    elif isinstance(value, list | tuple):
        for item in value:
            spoil(item)
        if isinstance(value, list):
            value.append("spoiled")
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        spoil(value.__dict__)


async def play(kind: str, given: Sequence[tuple[str, int, int]]) -> None:
    ours, theirs = Side(kind, DjangoSaver()), Side(kind, InMemorySaver())
    cold = Side(kind, DjangoSaver()).saver
    try:
        for command in given:
            assert await ours.do(command) == await theirs.do(command)
            await compare(ours, theirs, cold)
    finally:
        await ours.saver.adelete_thread(ours.thread)


@pytest.mark.parametrize("kind", GRAPHS)
def test_any_commands_lead_to_the_same(kind: str) -> None:
    @settings(max_examples=6, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
    @given(commands)
    def check(given: Sequence[tuple[str, int, int]]) -> None:
        asyncio.run(play(kind, given))

    check()


FOUND = {
    "a failed task is written for again, by hand": ("parallel", [("send", 0, 10), ("many", 25, 7)]),
    "classes that the graph may read": ("parallel", [("send", 0, 0), ("replay", 0, 0)]),
    "several questions at once, answered one by one": (
        "agent",
        [("send", 0, 9), ("resume_some", 0, 3), ("resume_some", 0, 0), ("resume_some", 0, 1), ("send", 0, 0)],
    ),
    "a question left for another branch, then answered": (
        "agent",
        [("send", 0, 8), ("send", 0, 4), ("resume", 1, 2), ("copy", 0, 0), ("resume", 0, 1), ("replay", 3, 0)],
    ),
    "an answer in a graph in a graph": (
        "nested",
        [("send", 0, 1), ("resume", 0, 1), ("resume", 0, 2), ("send", 0, 9), ("replay", 6, 0)],
    ),
    "a long thread of changes": ("restless", [("send", 0, n) for n in (0, 2, 4, 1, 3, 5, 0, 7)]),
}


@pytest.mark.parametrize("case", FOUND)
async def test_what_was_found_stays_mended(case: str) -> None:
    await play(*FOUND[case])
