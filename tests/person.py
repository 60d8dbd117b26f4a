"""A person with a browser, without the browser: pages and commands over HTTP, frames over a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

from tests.page import Form, Screen, parse

SESSION = "sessionid"


class Person:
    """One account, a guest's to begin with, at the server of this address."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.http = httpx.AsyncClient(base_url=url, timeout=20)

    async def begin(self, assistant: str) -> Tab:
        """A new thread."""
        home = parse((await self.http.get("/")).text)
        fields = Form.of(
            next(form for form in home.with_("action", tag="form") if form["action"] == "/threads/")
        ).fields
        made = await self.http.post("/threads/", data={**fields, "assistant": assistant})
        assert made.status_code == 302, made.text
        return await Tab(self, made.headers["Location"]).load()

    async def leave(self) -> None:
        await self.http.aclose()


class Tab:
    """One tab that shows one thread."""

    def __init__(self, person: Person, path: str) -> None:
        self.person, self.path = person, path
        self.screen = Screen()
        self.token = ""

    async def load(self) -> Tab:
        """F5."""
        response = await self.person.http.get(self.path)
        response.raise_for_status()
        page = parse(response.text)
        self.screen.show(page)
        self.token = self.screen.fields["csrfmiddlewaretoken"]
        return self

    async def press(self, form: Form | str, **fields: Any) -> httpx.Response:
        """Send a form of the page, or one with the composer's fields to this part of the thread's address."""
        if isinstance(form, str):
            form = Form(self.path + form, self.screen.fields)
        data = {**form.fields, "csrfmiddlewaretoken": self.token, **fields}
        return await self.person.http.post(form.url, data=data, headers={"HX-Request": "true"})

    async def send(self, text: str) -> httpx.Response:
        """Write and send, from the page as it is now."""
        await self.load()
        return await self.press("messages/", content=text)

    @asynccontextmanager
    async def socket(self, **options: Any) -> AsyncIterator[ClientConnection]:
        """The page's socket; nobody reads it yet."""
        cookie = self.person.http.cookies[SESSION]
        address = f"ws{self.person.url.removeprefix('http')}/ws{self.path}"
        headers = {"Cookie": f"{SESSION}={cookie}", "Origin": self.person.url}
        async with connect(address, additional_headers=headers, max_size=None, max_queue=None, **options) as socket:
            yield socket

    async def see(self, socket: ClientConnection, *, until: Callable[[Screen], bool], within: float = 20) -> Screen:
        """Take frames in until the screen is so. A screen that is so already still waits for the next frame."""
        async with asyncio.timeout(within):
            while True:
                self.screen.hear(await socket.recv())
                if until(self.screen):
                    return self.screen

    async def rest(self, within: float = 20) -> Screen:
        """Look again and again until nothing runs."""
        async with asyncio.timeout(within):
            while (await self.load()).screen.run_state == "running":  # noqa: ASYNC110 - this page has no socket
                await asyncio.sleep(0.05)
        return self.screen
