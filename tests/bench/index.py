"""How much faster a page is read from the index than from the checkpoints, as ratios in one run.

A thread of 300 turns with one fork is opened, switched and listed, and the same is derived from LangGraph's history.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile

DATA_DIR = tempfile.TemporaryDirectory(prefix="switchback-bench-")
os.environ.update(DEBUG="1", DATA_DIR=DATA_DIR.name, DJANGO_SETTINGS_MODULE="chatapp.settings")

import django  # noqa: E402

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402

from branching import commands, heads, history, listing, llm, runs, threads, transcript, tree  # noqa: E402
from branching.engine import Engine  # noqa: E402
from branching.models import Thread  # noqa: E402
from branching.saver import DjangoSaver  # noqa: E402
from tests.bench.clock import median  # noqa: E402

TURNS = 300
TEXT = "Nothing is ever overwritten; each version of each message stays, one arrow away. " * 5
FASTER = 50
"""How many times faster than the history each must be, at least."""


async def grow(engine: Engine, owner: User, turns: int) -> Thread:
    """A thread of so many turns, with two versions of its last reply."""
    thread = await threads.create(owner, assistant="echo")
    for turn in range(turns):
        await play(engine, thread, await commands.send(thread.pk, text=f"{turn} {TEXT}", **await page(thread)))
    last = (await transcript.read(thread.pk)).versions[-1]
    await play(engine, thread, await commands.replay(thread.pk, message=last.pk, **await page(thread)))
    return thread


async def page(thread: Thread) -> dict[str, int]:
    fresh = await Thread.objects.aget(pk=thread.pk)
    return {"head_version": fresh.head_version}


async def play(engine: Engine, thread: Thread, run: object) -> None:
    async for _ in runs.execute(engine, run, asyncio.Event()):
        pass


async def switch(thread: Thread) -> None:
    """Press the arrow at the last reply, and read what the page then shows."""
    last = (await transcript.read(thread.pk)).versions[-1]
    await heads.switch(thread.pk, message=last.previous or last.next, **await page(thread))
    await transcript.read(thread.pk)


async def derive(engine: Engine, thread: Thread) -> None:
    """What the page would have to do without the index."""
    derived = tree.derive(await history.read_all(engine.graph("echo"), thread.pk))
    head = (await Thread.objects.aget(pk=thread.pk)).head
    [derived.siblings(node) for node in derived.path(head)]


async def main() -> int:
    """Measure, print, and fail where anything is not `FASTER` times faster than the history."""
    owner = await User.objects.acreate_user("bench")
    engine = Engine(DjangoSaver(), llm.open_models(chat_model="", base_url="", token_delay=0))
    thread = await grow(engine, owner, TURNS)
    saved = len(await listing.checkpoints(thread.pk))
    derived = await median(lambda: derive(engine, thread), 3)
    listed = await median(lambda: history.read_all(engine.graph("echo"), thread.pk), 3)
    measured = {
        "open": (await median(lambda: transcript.read(thread.pk), 21), derived),
        "switch": (await median(lambda: switch(thread), 21), derived),
        f"list {saved} checkpoints": (await median(lambda: listing.checkpoints(thread.pk), 21), listed),
    }
    print(f"| {TURNS} turns | from the index, ms | `aget_state_history`, ms | times faster |\n|---|---:|---:|---:|")
    for name, (ours, theirs) in measured.items():
        print(f"| {name} | {ours * 1000:.1f} | {theirs * 1000:,.0f} | {theirs / ours:.0f} |")
    return int(min(theirs / ours for ours, theirs in measured.values()) < FASTER)


if __name__ == "__main__":
    call_command("migrate", verbosity=0)
    sys.exit(asyncio.run(main()))
