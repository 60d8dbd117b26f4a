"""`make chaos`: people do things at random while the server is killed and started again, over and over.

Nothing that was acknowledged may be missing, nothing may be there twice, and whatever was broken off can be resumed.
The same seed makes the same people; what they meet depends on time too.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

from tests.chaos.judge import judge
from tests.chaos.ledger import Ledger
from tests.chaos.people import Device, Watcher, World, offered
from tests.e2e.server import Server
from tests.person import Tab

PEOPLE, DEVICES = 3, 2
TERMINATED = 0.15
"""How often the server is told to stop instead of being killed."""
LOOKED_AT = 10
"""After so many ends everybody holds still, and the index is compared with the checkpoints."""
PATIENCE = 60
TROUBLE = re.compile(r"A run broke off|could not be|never retrieved|never awaited|HTTP/1.1\" 500|locked")
CRASH, SHUTDOWN = "Exception in ASGI application", "timeout graceful shutdown exceeded"
"""What a server's log holds only where something is wrong. Failures of the model are meant to be there, and so is the
end of a socket that was being opened when the server was told to stop: uvicorn cancels it after its time."""


def troubles(log: str) -> list[str]:
    """The lines of the log that tell of something wrong."""
    crashes = [each for each in log.split(CRASH)[1:] if SHUTDOWN not in each.split("INFO:")[0]]
    return [
        *(line for line in log.splitlines() if TROUBLE.search(line)),
        *(f"{CRASH}{each[:3000]}" for each in crashes),
    ]


async def storm(server: Server, world: World, kills: int) -> None:
    """End the server so many times, at any moment, under load."""
    chance, server_counts = Random(world.seed), world.ledger.server
    while server_counts["killed"] < kills:
        await asyncio.sleep(0.5 + chance.expovariate(1 / 2))
        kill = chance.random() > TERMINATED
        await asyncio.to_thread(server.restart, kill=kill)
        server_counts["killed" if kill else "told to stop"] += 1
        ends = server_counts["killed"] + server_counts["told to stop"]
        if ends % LOOKED_AT == 0:
            await look(server, world, f"after {ends} ends")


async def look(server: Server, world: World, when: str) -> None:
    """Compare the index with the checkpoints while nothing runs."""
    await world.quiet()
    await at_rest(world)
    try:
        await asyncio.to_thread(server.manage, "check_threads")
    except AssertionError as error:
        world.ledger.findings.append(f"check_threads {when}: {error}")
    counts = world.ledger
    print(f"{when}: {sum(counts.commands.values())} commands, {len(counts.findings)} findings", flush=True)
    world.go_on.set()


async def at_rest(world: World) -> None:
    """Wait until nothing runs on any thread."""
    async with asyncio.timeout(PATIENCE):
        for device in world.devices:
            for path in device.threads:
                while (await device.look(path)).screen.run_state == "running":  # noqa: ASYNC110
                    await asyncio.sleep(0.2)


async def resume_everything(world: World) -> None:
    """Answer all that stands there unanswered; what is meant to fail may fail again."""
    for device in world.devices[::DEVICES]:
        for path in device.threads:
            tab = await device.look(path)
            if offers := offered(tab, "retry"):
                world.ledger.commands["resumed at the end"] += 1
                answer = await tab.press(offers[0])
                await tab.rest(within=PATIENCE)
                last = tab.screen.rows[-1]
                if answer.status_code != 200 or not _is_answered(tab):
                    world.ledger.findings.append(f"{path} could not be resumed: {answer.status_code}, {last}")


def _is_answered(tab: Tab) -> bool:
    human = [row for row in tab.screen.rows if row.role == "human"][-1]
    fails = human.text.startswith("/fail")
    return fails or (tab.screen.rows[-1].role == "ai" and tab.screen.run_state == "idle")


async def compare_tabs(world: World, watchers: Sequence[Watcher]) -> None:
    """Every tab that was left open shows what a fresh page shows."""
    deadline = time.monotonic() + PATIENCE
    for watcher in watchers:
        while True:
            fresh = await watcher.device.look(watcher.tab.path)
            if watcher.tab.screen.rows == fresh.screen.rows:
                break
            if time.monotonic() > deadline:
                world.ledger.findings.append(f"{watcher.tab.path}: a tab shows {watcher.tab.screen.rows}")
                break
            await asyncio.sleep(0.5)


async def run(seed: int, kills: int, folder: Path) -> Ledger:
    """The whole of it."""
    server = Server(folder, CHAT_TOKEN_DELAY_MS="3")
    ledger = Ledger()
    world = World(server.url, seed, ledger)
    server.manage("migrate", "--verbosity", "0")
    server.start()
    try:
        await _populate(world)
        watchers = [Watcher(device, path) for device in world.devices for path in device.threads]
        open_tabs = [asyncio.create_task(each.watch()) for each in watchers]
        lives = [asyncio.create_task(device.live()) for device in world.devices]
        await _all_or_none(storm(server, world, kills), *lives)
        world.is_over = True
        await asyncio.wait(lives)
        await at_rest(world)
        await resume_everything(world)
        await compare_tabs(world, watchers)
        for task in open_tabs:
            task.cancel()
        await asyncio.wait(open_tabs)
    finally:
        server.stop()
    ledger.findings += judge(folder / "data", ledger)
    try:
        server.manage("check_threads")
    except AssertionError as error:
        ledger.findings.append(f"check_threads at the end: {error}")
    ledger.findings += troubles(server.log())
    return ledger


async def _populate(world: World) -> None:
    for number in range(PEOPLE):
        first = Device(world, f"person{number}", 0)
        await first.sign_up()
        world.devices.append(first)
        for other in range(1, DEVICES):
            device = Device(world, f"person{number}", other)
            await device.log_in(first.threads)
            world.devices.append(device)


async def _all_or_none(storm: object, *lives: asyncio.Task) -> None:
    """Until the storm is over; a person who breaks down ends it at once."""
    storming = asyncio.create_task(storm)
    done, _ = await asyncio.wait({storming, *lives}, return_when=asyncio.FIRST_COMPLETED)
    storming.cancel()
    for task in done:
        task.result()


def report(ledger: Ledger, seed: int, seconds: float) -> str:
    """What happened, for a person."""
    texts = {
        answer: sum(said.answer == answer for said in ledger.said) for answer in ("acknowledged", "refused", "unknown")
    }
    lines = [
        f"seed {seed}, {seconds / 60:.1f} minutes",
        f"server: {dict(ledger.server)}",
        f"commands: {dict(ledger.commands)}",
        f"answers: {dict(ledger.answers)}",
        f"texts: {texts}",
        f"sockets: {dict(ledger.sockets)}",
        f"findings: {len(ledger.findings) or 'none'}",
        *ledger.findings,
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("SEED") or random.randrange(10**6)))
    parser.add_argument("--kills", type=int, default=int(os.environ.get("KILLS") or 50))
    parser.add_argument("--keep", type=Path, help="A folder for the data and the log, kept for a look afterwards.")
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.kills} kills", flush=True)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="switchback-chaos-") as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        ledger = asyncio.run(run(options.seed, options.kills, folder))
    print(report(ledger, options.seed, time.monotonic() - start))
    return 1 if ledger.findings else 0


if __name__ == "__main__":
    sys.exit(main())
