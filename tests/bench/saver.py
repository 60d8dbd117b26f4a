"""What threads cost in our saver, and in those that LangGraph has: bytes, and the time of what a turn does.

One reply node, 920 characters of text a turn. On SQLite; with `TEST_DATABASE_URL`, which `python -m tests.postgres`
sets, on PostgreSQL. Arguments are other numbers of turns.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

DATA_DIR = tempfile.TemporaryDirectory(prefix="switchback-bench-", ignore_cleanup_errors=True)
URL = os.environ.get("TEST_DATABASE_URL", "")
os.environ.update(DEBUG="1", DATA_DIR=DATA_DIR.name, DATABASE_URL=URL, DJANGO_SETTINGS_MODULE="chatapp.settings")

import django  # noqa: E402

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage  # noqa: E402
from langgraph.channels.delta import DeltaChannel  # noqa: E402
from langgraph.checkpoint.base import BaseCheckpointSaver, copy_checkpoint  # noqa: E402
from langgraph.checkpoint.base.id import uuid6  # noqa: E402
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver  # noqa: E402
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # noqa: E402
from langgraph.graph import START, MessagesState, StateGraph  # noqa: E402
from langgraph.graph.message import add_messages  # noqa: E402
from typing_extensions import TypedDict  # noqa: E402

from branching.database import on_database  # noqa: E402
from branching.models import Piece, StoredCheckpoint, StoredThread, StoredWrites  # noqa: E402
from branching.saver import DjangoSaver  # noqa: E402
from tests.bench.clock import median, seconds  # noqa: E402

TURNS = (10, 100, 300, 1000)
HALF = 460
"""Characters of a message; a turn has two."""

WORDS = [word.strip("().,:`|*\"'") for word in Path("README.md").read_text().split()]


def text() -> str:
    return " ".join(random.choices(WORDS, k=HALF))[:HALF]


def add_all(state: list[Any], writes: list[Any]) -> list[Any]:
    for write in writes:
        state = add_messages(state, write)
    return state


class Deltas(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(add_all, snapshot_frequency=100)]


async def reply(state: Any) -> Any:
    return {"messages": [AIMessage(text(), id=os.urandom(16).hex())]}


def graph(saver: BaseCheckpointSaver, state: Any) -> Any:
    builder = StateGraph(state)
    builder.add_node("reply", reply)
    builder.add_edge(START, "reply")
    return builder.compile(checkpointer=saver)


@dataclass
class Candidate:
    """A saver, the state whose messages it keeps, and what was measured of it, by the number of turns."""

    name: str
    saver: BaseCheckpointSaver
    size: Callable[[], Awaitable[int]]
    state: Any = MessagesState
    measured: dict[int, dict[str, float]] = field(default_factory=dict)

    async def grow(self, marks: tuple[int, ...], thread: str = "long") -> None:
        """A thread of so many turns, measured on the way: what it adds to a database that holds others."""
        random.seed(1)
        before, app, turns, config = await self.size(), graph(self.saver, self.state), [], named(thread)
        for turn in range(1, max(marks) + 1):
            message = HumanMessage(text(), id=os.urandom(16).hex())
            turns.append(await seconds(lambda m=message: app.ainvoke({"messages": [m]}, config, durability="sync")))
            if turn in marks and thread == "long":
                self.measured[turn] = {
                    "bytes": await self.size() - before,
                    "turn": statistics.median(turns[-9:]),
                    "read": await median(lambda: app.aget_state(config)),
                    "cold": await median(self.read_cold, 5) if isinstance(self.saver, DjangoSaver) else 0,
                    "list": await seconds(self.list) if turn == 300 else 0,
                }
                print(f"  {self.name}, {turn} turns", file=sys.stderr, flush=True)

    async def read_cold(self) -> None:
        """As a process that has not seen the thread reads it."""
        await graph(DjangoSaver(), self.state).aget_state(named("long"))

    async def put(self, thread: str) -> float:
        """The seconds of one more checkpoint with one more message."""
        tip = await self.saver.aget_tuple(named(thread))
        checkpoint = copy_checkpoint(tip.checkpoint)
        new = {"messages": self.saver.get_next_version(checkpoint["channel_versions"]["messages"], None)}
        checkpoint.update(id=str(uuid6(clock_seq=0)), channel_versions=checkpoint["channel_versions"] | new)
        checkpoint["channel_values"]["messages"] += [AIMessage(text(), id=os.urandom(16).hex())]
        return await seconds(lambda: self.saver.aput(tip.config, checkpoint, {**tip.metadata}, new))

    async def list(self) -> None:
        assert len([found async for found in self.saver.alist(named("long"))]) == 900


def named(thread: str) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}


@on_database
def our_size() -> int:
    """Bytes of the pages of our tables and their indexes."""
    tables = [model._meta.db_table for model in (StoredThread, StoredCheckpoint, StoredWrites, Piece)]
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SELECT sum(pg_total_relation_size(t::regclass)) FROM unnest(%s::text[]) AS t", [tables])
        else:
            marks = ", ".join(["%s"] * len(tables))
            names = f"SELECT name FROM sqlite_schema WHERE tbl_name IN ({marks})"
            cursor.execute(f"SELECT sum(pgsize) FROM dbstat WHERE name IN ({names})", tables)
        return int(cursor.fetchone()[0])


@asynccontextmanager
async def on_sqlite(name: str, state: Any = MessagesState) -> AsyncIterator[Candidate]:
    async with AsyncSqliteSaver.from_conn_string(f"{DATA_DIR.name}/{name}.sqlite3") as saver:
        await saver.setup()

        async def size() -> int:
            pages = await saver.conn.execute_fetchall("SELECT sum(pgsize) FROM dbstat")
            return int(pages[0][0])

        yield Candidate(name, saver, size, state)


@asynccontextmanager
async def on_postgresql(name: str, state: Any = MessagesState) -> AsyncIterator[Candidate]:
    async with AsyncPostgresSaver.from_conn_string(URL) as saver:
        await saver.setup()
        tables = ["checkpoints", "checkpoint_blobs", "checkpoint_writes"]
        await saver.conn.execute("TRUNCATE " + ", ".join(tables))

        async def size() -> int:
            query = "SELECT sum(pg_total_relation_size(t::regclass))::bigint AS size FROM unnest(%s::text[]) AS t"
            return (await (await saver.conn.execute(query, [tables])).fetchone())["size"]

        yield Candidate(name, saver, size, state)


async def main(marks: tuple[int, ...]) -> int:
    """Measure, print, and say by the exit code whether a promise was broken."""
    vendor = "PostgreSQL" if URL else "SQLite"
    ours = Candidate(f"ours, {vendor}", DjangoSaver(), our_size)
    await ours.grow((min(marks),), "short")
    await ours.grow(marks)
    puts = [(await ours.put("short"), await ours.put("long")) for _ in range(31)]  # in turn: the machine is not idle
    short, long = map(statistics.median, zip(*puts, strict=True))
    theirs, deltas = await rival(f"LangGraph's, {vendor}", marks), await rival(f"DeltaChannel, {vendor}", marks, Deltas)
    for candidate in (ours, theirs, deltas):
        print(*(row(candidate.name, turns, each) for turns, each in candidate.measured.items()), sep="\n")
    print(f"One more checkpoint: {short * 1000:.1f} ms at {min(marks)} turns, {long * 1000:.1f} at {max(marks)}.")
    broken = [promise for promise, is_kept in promises(ours.measured, theirs.measured, long / short) if not is_kept]
    print(*broken, sep="\n")
    return len(broken)


async def rival(name: str, marks: tuple[int, ...], state: Any = MessagesState) -> Candidate:
    async with (on_postgresql if URL else on_sqlite)(name, state) as candidate:
        await candidate.grow((min(marks),), "short")
        await candidate.grow(marks)
        return candidate


def promises(ours: Any, theirs: Any, put: float) -> Iterator[tuple[str, bool]]:
    """Each promise, and whether it was kept."""
    for turns, each in ours.items():
        times = each["bytes"] / (turns * 2 * HALF)
        yield f"{times:.1f} times the text at {turns} turns, not 6", times <= 6
        slower = each["read"] / theirs[turns]["read"]
        yield f"a tip of {turns} turns is read in {slower:.1f} times the time", slower <= 1
    if {100, 1000} <= ours.keys():
        growth = ours[1000]["bytes"] / ours[100]["bytes"]
        yield f"{growth:.1f} times the bytes at 10 times the turns, not 12", growth <= 12
    yield f"one more checkpoint takes {put:.2f} times the time, not 1.5", put <= 1.5
    faster = theirs[max(ours)]["turn"] / ours[max(ours)]["turn"]
    yield f"a turn is {faster:.1f} times as fast, not 3", faster >= 3 or max(ours) < 1000 or bool(URL)


def row(name: str, turns: int, each: dict[str, float]) -> str:
    bulk = each["bytes"] / (turns * 2 * HALF)
    times = " | ".join(f"{each[key] * 1000:.1f}" if each[key] else "" for key in ("turn", "read", "cold", "list"))
    return f"| {name} | {turns} | {each['bytes'] / 1e6:.2f} | {bulk:.1f} | {times} |"


if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    sys.exit(asyncio.run(main(tuple(map(int, sys.argv[1:])) or TURNS)))
