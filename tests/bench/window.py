"""What a page costs at 20,000 messages with 2,000 forks, over what it costs at 20: ratios in one run.

The rows are made by themselves: 10,000 turns by the graph would take hours. The time is the server's, from the request
to the last byte of the answer, with sessions and templates; beside it that of the reads and writes alone.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

DATA_DIR = tempfile.TemporaryDirectory(prefix="switchback-bench-")
os.environ.update(DEBUG="0", SECRET_KEY="bench", PLAIN_HTTP="1", ALLOWED_HOSTS="testserver", DATA_DIR=DATA_DIR.name)
os.environ["DJANGO_SETTINGS_MODULE"] = "chatapp.settings"

import django  # noqa: E402

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.test import AsyncClient  # noqa: E402
from django.test.utils import CaptureQueriesContext  # noqa: E402

from branching import heads, transcript, window  # noqa: E402
from branching.database import on_database  # noqa: E402
from branching.models import Thread  # noqa: E402
from tests.long import Line, plant  # noqa: E402

SHORT, LONG, FORKS = 20, 20_008, 2_000
"""With eight messages over 20,000 the window is as large as it gets after a reply."""
TIMES = 31
AT_MOST = 1.5
"""How many times as long anything may take at `LONG` messages as at `SHORT`."""

TEXT = "Nothing is ever overwritten; each version of each message stays, one arrow away. " * 5

Action = Callable[[], Awaitable[Any]]


@dataclass
class Thing:
    """What is measured, on a short thread and on a long one; `before` is done each time, and not measured."""

    name: str
    action: Callable[[Line], Action]
    before: Callable[[Line], Action] | None = None


async def page(line: Line) -> dict[str, Any]:
    row = await Thread.objects.aget(pk=line.thread.pk)
    return {"head_version": row.head_version}


def switch(to: Callable[[Line], int]) -> Callable[[Line], Action]:
    """Press an arrow, and read what is then on screen."""

    def on(line: Line) -> Action:
        async def press() -> None:
            await heads.switch(line.thread.pk, message=to(line), **await page(line))
            await transcript.read(line.thread.pk)

        return press

    return on


def undo(line: Line) -> Action:
    async def press() -> None:
        await heads.undo(line.thread.pk, **await page(line))
        await transcript.read(line.thread.pk)

    return press


def end(line: Line) -> int:
    return line.path[-1]


def other(line: Line) -> int:
    return line.forks[-1]


def root(line: Line) -> int:
    return line.path[0]


THINGS = {
    "along the path": [
        Thing("open", lambda line: lambda: transcript.read(line.thread.pk)),
        Thing("switch at the end, to the other", switch(other), before=switch(end)),
        Thing("switch at the end, and back", switch(end), before=switch(other)),
        Thing("undo", undo, before=switch(other)),
        Thing("earlier messages", lambda line: lambda: window.earlier(line.thread.pk, line.path[len(line.path) // 2])),
    ],
    "at the end": [
        Thing("open among the siblings", lambda line: lambda: transcript.read(line.thread.pk)),
        Thing("switch among the siblings", switch(other), before=switch(end)),
    ],
    "at the root": [
        Thing("switch at the root, away", switch(other), before=switch(root)),
        Thing("switch at the root, back", switch(root), before=switch(other)),
        Thing("undo at the root", undo, before=switch(other)),
    ],
}


def forks(shape: str, length: int) -> Sequence[int]:
    """At which depths the forks are; a short thread has two, as every tenth message has one."""
    count = max(2, FORKS * length // LONG)
    places = {"along the path": range(length // count, length + 1, length // count), "at the end": [length] * count}
    return places.get(shape, [1] * count)


async def measured(thing: Thing, lines: Sequence[Line]) -> list[tuple[float, int]]:
    """The seconds of the fastest of each, which the rest of the machine has disturbed least; and how many queries."""
    taken: list[list[float]] = [[] for _ in lines]
    for _ in range(TIMES):
        for line, times in zip(lines, taken, strict=True):
            if thing.before:
                await thing.before(line)()
            action = thing.action(line)
            start = time.perf_counter()
            await action()
            times.append(time.perf_counter() - start)
    return [(min(times), await counted(thing, line)) for line, times in zip(lines, taken, strict=True)]


async def counted(thing: Thing, line: Line) -> int:
    if thing.before:
        await thing.before(line)()
    capture = CaptureQueriesContext(connection)
    await on_database(capture.__enter__)()
    await thing.action(line)()

    @on_database
    def heard() -> list[dict[str, str]]:
        capture.__exit__(None, None, None)
        return capture.captured_queries

    return sum(each["sql"].split()[0] in ("SELECT", "UPDATE", "INSERT", "WITH") for each in await heard())


async def requests(owner: User, lines: Sequence[Line]) -> list[Thing]:
    """The same as a browser asks for it."""
    client = AsyncClient()
    await client.aforce_login(owner)

    async def get(path: str) -> None:
        assert (await client.get(path)).status_code == 200, path

    async def post(line: Line, **fields: Any) -> None:
        given = {**await page(line), "key": str(time.perf_counter_ns()), **fields}
        answer = await client.post(f"/threads/{line.thread.pk}/head/", given, headers={"HX-Request": "true"})
        assert answer.status_code == 200, answer.content

    def pressing(to: Callable[[Line], int]) -> Callable[[Line], Action]:
        return lambda line: lambda: post(line, message=to(line))

    return [
        Thing("page: open", lambda line: lambda: get(f"/threads/{line.thread.pk}/")),
        Thing("page: switch, to the other", pressing(other), before=pressing(end)),
        Thing("page: switch, and back", pressing(end), before=pressing(other)),
    ]


async def main() -> int:
    """Measure, print, and fail where a long thread is dearer than `AT_MOST` allows."""
    owner = await User.objects.acreate_user("bench")
    print(f"{'':34} {SHORT:>10,} {LONG:>12,} messages     ratio   queries")
    worst = 0.0
    for shape, things in THINGS.items():
        lines = [await planted(owner, shape, length) for length in (SHORT, LONG)]
        for thing in things + (await requests(owner, lines) if shape == "along the path" else []):
            worst = max(worst, told(thing, await measured(thing, lines)))
    print(f"at most {worst:.2f} times as long (at most {AT_MOST} wanted)")
    return 0 if worst <= AT_MOST else 1


@on_database
def planted(owner: User, shape: str, length: int) -> Line:
    thread = Thread.objects.create(owner=owner, assistant="echo")
    line = plant(thread, length, forks(shape, length), TEXT)
    if connection.vendor == "postgresql":
        # What PostgreSQL does by itself in the first minute after so many rows have come.
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")
    return line


def told(thing: Thing, results: Sequence[tuple[float, int]]) -> float:
    """Print a line of the table; the ratio of times, or no limit where the queries differ."""
    (short, few), (long, many) = results
    print(f"{thing.name:34} {short * 1000:7.1f} ms {long * 1000:9.1f} ms {long / short:17.2f}   {few} {many}")
    return long / short if few == many else float("inf")


if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    sys.exit(asyncio.run(main()))
