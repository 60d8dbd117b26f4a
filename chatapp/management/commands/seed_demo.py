"""`manage.py seed_demo`: an account with two conversations: one has branched, and in one a question waits."""

from __future__ import annotations

import asyncio
from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from branching import commands, llm, runs, threads, transcript
from branching.engine import Engine
from branching.models import Run, Thread
from branching.saver import DjangoSaver

NAME = "demo"


class Command(BaseCommand):
    help = "Makes the account demo, password demo, with two conversations. Only in DEBUG, only once."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("The demo account has a password that everyone knows. It is made in DEBUG only.")
        if get_user_model().objects.filter(username=NAME).exists():
            return
        asyncio.run(seed())
        self.stdout.write("Made the account demo, password demo.")


async def seed() -> None:
    """The demo account and its conversation, spoken with the demo model whatever model is configured."""
    owner = await User.objects.acreate_user(NAME, password=NAME)
    engine = Engine(DjangoSaver(), llm.open_models(chat_model="", base_url="", token_delay=0))
    await _book(engine, await threads.create(owner, assistant="concierge"))
    await _converse(engine, await threads.create(owner, assistant="chat"))


async def _book(engine: Engine, thread: Thread) -> None:
    """Which hotels are there? ── reply ── Book the cheapest one ── the question that waits (HEAD)"""
    day = (date.today() + timedelta(days=14)).isoformat()
    for text in (f"Which hotels are there from {day} for 2 nights?", "Book the cheapest one"):
        await _play(engine, await commands.send(thread.pk, text=text, **await _page(thread)))


async def _converse(engine: Engine, thread: Thread) -> None:
    """
    Two days in Xi'an ─┬─ reply 1 (then left)
                       └─ reply 2 ─┬─ What if it rains? ── reply
                                   └─ And with children? ── reply (HEAD)
    """
    await _play(engine, await commands.send(thread.pk, text="Plan two days in Xi'an for me.", **await _page(thread)))
    first = (await transcript.read(thread.pk)).versions[1]
    await _play(engine, await commands.replay(thread.pk, message=first.pk, **await _page(thread)))
    await _play(engine, await commands.send(thread.pk, text="What if it rains?", **await _page(thread)))
    question = (await transcript.read(thread.pk)).versions[2]
    await commands.edit(
        engine, thread.pk, message=question.pk, text="And with two small children?", **await _page(thread)
    )
    await _play(engine, await commands.resume(thread.pk, **await _page(thread)))


async def _page(thread: Thread) -> dict[str, int]:
    return {"head_version": (await transcript.read(thread.pk)).head_version}


async def _play(engine: Engine, run: Run | None) -> None:
    if run:
        async for _ in runs.execute(engine, run, asyncio.Event()):
            pass
