"""A browser's view of the app without a browser: Alice signed in, commands as her page would send them."""

from __future__ import annotations

import asyncio
import html
import re
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import AsyncClient

from branching import threads, transcript
from branching.models import Thread
from branching.types import ThreadView
from chatapp import engine
from chatapp.runner import runner
from tests.branching.models import Scripted, models_with


@pytest.fixture
async def process() -> AsyncIterator[None]:
    """What a server process opens, closed when the test ends."""
    yield
    await runner.close()
    engine.get.cache_clear()


class Tab:
    """One person's page of one thread."""

    def __init__(self, client: AsyncClient, thread: Thread) -> None:
        self.client, self.thread, self.url = client, thread, f"/threads/{thread.pk}/"

    async def post(self, path: str, *, htmx: bool = True, **fields: Any) -> HttpResponse:
        """A command, with the fields that the page as it is now would give it."""
        command = {"head_version": (await self.view()).head_version, "key": uuid.uuid4().hex, **fields}
        headers = {"HX-Request": "true"} if htmx else {}
        return await self.client.post(self.url + path, command, headers=headers)

    async def view(self) -> ThreadView:
        return await transcript.read(self.thread.pk)

    async def send(self, text: str) -> HttpResponse:
        response = await self.post("messages/", content=text)
        await self.rest()
        return response

    async def rest(self) -> None:
        """Wait until nothing runs on the thread."""
        run = (await self.view()).run
        if run and (live := runner.live(run.id)):
            await asyncio.wait({live.task}, timeout=10)

    async def texts(self) -> list[str]:
        return [each.text for each in (await self.view()).versions]


@pytest.fixture
async def tab(process: None, alice: User) -> Tab:
    """Alice's empty thread with Echo."""
    client = AsyncClient()
    await client.aforce_login(alice)
    return Tab(client, await threads.create(alice, assistant="echo"))


WORDS = "".join(f"word{number} " for number in range(40))


@pytest.fixture
async def chat(tab: Tab) -> Tab:
    """Alice's empty thread with a model that says `WORDS`, one by one, with a little time between them."""
    engine.get().models = models_with(Scripted(replies=(WORDS,), token_delay=0.02))
    return Tab(tab.client, await threads.create(tab.thread.owner, assistant="chat"))


def texts_of(page: str) -> list[str]:
    """The plain text of all messages in a piece of a page."""
    shown = re.findall(r"<div[^>]*data-content[^>]*>(.*?)</div>", page, re.DOTALL)
    return [html.unescape(re.sub(r"<[^>]+>", "", each)).strip() for each in shown]
