"""What live replies cost: how many at a time, how much of the processor, how many bytes.

Each beside a bare Channels consumer that says the same words in the same process; the clients are a process of their
own. The delay of a word is counted from when it was due, not from when a busy server came to say it.
"""

from __future__ import annotations

import asyncio
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.e2e.server import Server
from tests.person import Person

ASK = "400 at 20"
LIMIT = 0.25
"""The 95th percentile of the added delay at which a process counts as full."""
WARM_UP, WINDOW = 3.0, 4.0
TRIES = 3
"""How often in a row it must be beyond that: whatever else the machine does is not the app's fault."""
FIRST, GROWTH, MOST = 10, 1.4, 400
SIZES = (2_000, 20_000, 200_000)
WORD = re.compile(r"\b[0-9A-Z]{5,6}\b")
REPLY = re.compile(r"data-content>(.*?)</div>", re.DOTALL)


class Bench(Server):
    def command(self) -> list[str]:
        command = super().command()
        return [command[0], "tests.bench.app:application", *command[2:]]

    @property
    def cpu(self) -> float:
        """Seconds of processor time so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Counting(ClientConnection):
    """Counts what really comes in, compressed as it is between servers and browsers."""

    wire = 0

    def data_received(self, data: bytes) -> None:
        self.wire += len(data)
        super().data_received(data)


@dataclass
class Ear:
    """Notes how late each word of a reply is heard."""

    delays: list[tuple[float, float]] = field(default_factory=list)
    """When, and by how much."""
    newest: int = 0
    words: int = 0

    def hear(self, frame: str) -> None:
        now = time.time()
        for word in WORD.findall(frame):
            stamp = int(word, 36)
            if stamp > self.newest and (late := now - (now * 1000 // 36**6 * 36**6 + stamp) / 1000) < 60:
                self.newest, self.words = stamp, self.words + 1
                self.delays.append((now, late))


@dataclass
class Crowd:
    """Clients that have one reply after another written for them."""

    open_one: Callable[[Ear], Awaitable[None]]
    ears: list[Ear] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def grow(self, count: int) -> None:
        while len(self.tasks) < count:
            self.ears.append(Ear())
            self.tasks.append(asyncio.create_task(self.open_one(self.ears[-1])))

    def delay(self, since: float) -> float:
        """The 95th percentile of what was heard since then."""
        heard = [late for ear in self.ears for moment, late in ear.delays if moment > since]
        return statistics.quantiles(heard, n=20)[-1] if len(heard) > 20 else 60.0

    @property
    def words(self) -> int:
        return sum(ear.words for ear in self.ears)

    async def leave(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.wait(self.tasks)


def of_the_app(server: Bench) -> Crowd:
    async def listen(ear: Ear) -> None:
        person = Person(server.url)
        tab = await person.begin("chat")
        try:
            async with tab.socket() as socket:
                while True:
                    await tab.send(ASK)
                    await _hear_until(socket, ear, lambda frame: 'data-run-state="idle"' in frame)
        finally:
            await person.leave()

    return Crowd(listen)


def of_the_bare_consumer(server: Bench) -> Crowd:
    async def listen(ear: Ear) -> None:
        async with connect(_bare(server), origin=server.url) as socket:
            while True:
                await socket.send(ASK)
                await _hear_until(socket, ear, lambda frame: frame == "END")

    return Crowd(listen)


def _bare(server: Bench) -> str:
    return f"ws{server.url.removeprefix('http')}/ws/bare/"


async def _hear_until(socket: ClientConnection, ear: Ear, is_end: Callable[[str], bool]) -> None:
    with suppress(ConnectionClosed):
        while not is_end(frame := await socket.recv()):
            if "data-revision" not in frame:
                ear.hear(frame)


async def fill(server: Bench, name: str, crowd: Crowd) -> tuple[int, float]:
    """How many replies at a time the process keeps up with, and seconds of processor per 1,000 words then."""
    count, cost, last = FIRST, 0.0, 0
    while count <= MOST:
        crowd.grow(count)
        await asyncio.sleep(WARM_UP)
        for _ in range(TRIES):
            since, cpu, words = time.time(), server.cpu, crowd.words
            await asyncio.sleep(WINDOW)
            used, said, delay = server.cpu - cpu, crowd.words - words, crowd.delay(since)
            load = f"{used / WINDOW:5.0%}"
            print(f"{name:6}{count:5} at a time   p95 {delay * 1000:6.0f} ms   processor {load}", flush=True)
            if delay <= LIMIT:
                break
        else:
            break
        cost = used / max(said, 1) * 1000
        count, last = int(count * GROWTH), count
    await crowd.leave()
    return last, cost


async def weigh(server: Bench, size: int) -> str:
    """What a reply of this size costs on the wire, over 20 seconds."""
    person = Person(server.url)
    tab = await person.begin("chat")
    ask = f"{size} in 20"
    async with tab.socket(create_connection=Counting) as socket:
        payload, before = -len((await socket.recv()).encode()), socket.wire
        await tab.send(ask)
        while True:
            frame = await socket.recv()
            payload += len(frame.encode())
            if 'data-run-state="idle"' in frame and (html := REPLY.findall(frame)[1:]):
                break
        wire = socket.wire - before
    await person.leave()
    return _compared(size, len(html[0].encode()), (payload, wire), await _weigh_bare(server, ask))


def _compared(size: int, html: int, ours: tuple[int, int], bare: tuple[int, int]) -> str:
    kilobytes = [f"{number / 1000:.1f}" for number in (html, *ours, *bare)]
    what = "{:>8} kB of HTML   frames {:>8} kB, compressed {:>7}   bare {:>7} kB, compressed {:>7}"
    return f"{size // 1000:4} kB: {what.format(*kilobytes)}   frames to HTML {ours[0] / html:.1f}"


async def _weigh_bare(server: Bench, ask: str) -> tuple[int, int]:
    payload = 0
    async with connect(_bare(server), origin=server.url, create_connection=Counting) as socket:
        await socket.send(ask)
        while (frame := await socket.recv()) != "END":
            payload += len(frame.encode())
        return payload, socket.wire


async def main() -> int:
    """Measure and print; fail where a long reply costs more than three times its HTML."""
    with tempfile.TemporaryDirectory(prefix="switchback-bench-") as folder:
        server = Bench(Path(folder))
        server.manage("migrate", "--verbosity", "0")
        server.start()
        try:
            app, app_cost = await fill(server, "app", of_the_app(server))
            bare, bare_cost = await fill(server, "bare", of_the_bare_consumer(server))
            print(f"replies of 400 words at 20 a second, at a time: app {app}, bare {bare} (of {MOST} at most)")
            print(f"processor for 1,000 words: app {app_cost:.2f} s, bare {bare_cost:.2f} s")
            lines = await asyncio.gather(*(weigh(server, size) for size in SIZES))
            print(*lines, sep="\n")
        finally:
            server.stop()
    return 0 if float(lines[-1].rsplit(" ", 1)[1]) <= 3 else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
