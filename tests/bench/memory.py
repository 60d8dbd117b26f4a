"""How much memory a server takes for a thread of 20,000 messages that is opened, switched and gone on with.

The messages are in one checkpoint; what follows is real: a regeneration, arrows and a message more.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import UUID

from tests.e2e.server import ROOT, Server
from tests.person import Person, Tab

MESSAGES = 20_000
TEXT = "Nothing is ever overwritten; each version of each message stays, one arrow away. " * 5
MOST = 1_000
"""Megabytes that the server may take at its highest."""


def plant(thread_id: UUID) -> None:
    """So many messages after HEAD, as if a graph had said them at once. In a process of its own."""
    import django

    django.setup()
    from django.db import transaction
    from langchain_core.messages import AIMessage, HumanMessage

    from branching import heads, history, index
    from branching.models import Thread
    from chatapp import engine

    thread, graph = Thread.objects.get(pk=thread_id), engine.get().graph("echo")
    said = [
        message
        for number in range(MESSAGES // 2)
        for message in (
            HumanMessage(f"{number} {TEXT}", id=f"h{number}"),
            AIMessage(f"{number} {TEXT}", id=f"a{number}"),
        )
    ]
    with transaction.atomic():
        config = graph.update_state(history.config_for(thread_id, thread.head), {"messages": said}, as_node="reply")
        row = index.record(thread_id, history.of(graph.get_state(config)))
        heads.move(thread_id, row, why="edit", head_version=thread.head_version)


def megabytes(server: Server, what: str) -> int:
    """`VmRSS`, what the process takes now, or `VmHWM`, the most that it has taken."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith(f"{what}:"))


async def use(server: Server, tab: Tab) -> None:
    """All that one does, each with the time it takes and the memory after it."""

    async def step(name: str, action: Callable[[], Awaitable[object]], times: int = 1) -> None:
        start = time.perf_counter()
        for _ in range(times):
            await action()
        took = (time.perf_counter() - start) / times
        now, most = megabytes(server, "VmRSS"), megabytes(server, "VmHWM")
        print(f"| {name} | {took * 1000:,.0f} | {now} | {most} |", flush=True)

    async def send() -> None:
        await tab.send("one more")
        await tab.rest(within=120)

    async def regenerate() -> None:
        await tab.press(tab.screen.forms("regenerate")[-1])
        await tab.rest(within=120)

    async def back() -> None:
        await tab.press([*tab.screen.forms("previous-version"), *tab.screen.forms("next-version")][-1])
        await tab.load()

    await step("open it", tab.load, 10)
    await step("say one thing more, and have the reply", send, 3)
    await step("regenerate the reply", regenerate)
    await step("press an arrow, and load the page", back, 10)


async def main() -> int:
    with tempfile.TemporaryDirectory(prefix="switchback-bench-") as name:
        server = Server(Path(name), CHAT_TOKEN_DELAY_MS="0")
        server.manage("migrate", "--verbosity", "0")
        server.start()
        try:
            person = Person(server.url)
            tab = await person.begin("echo")
            await tab.send("the first")
            await tab.rest()
            env = {**server.env, "DJANGO_SETTINGS_MODULE": "chatapp.settings"}
            command = [sys.executable, "-m", "tests.bench.memory", tab.path.split("/")[2]]
            await asyncio.to_thread(subprocess.run, command, cwd=ROOT, env=env, check=True)
            print("| | ms each | MB after it | MB at most |\n|---|---:|---:|---:|")
            print(f"| before, with a short thread | | {megabytes(server, 'VmRSS')} | {megabytes(server, 'VmHWM')} |")
            await use(server, tab)
            await person.leave()
            return int(megabytes(server, "VmHWM") > MOST)
        finally:
            server.stop()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        plant(UUID(sys.argv[1]))
    else:
        os.environ.setdefault("CHAT_GUESTS", "1")
        sys.exit(asyncio.run(main()))
