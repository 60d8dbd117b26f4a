"""The chat as a person uses it: by what the page shows, found by its automation hooks alone."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple, Self

from playwright.async_api import APIResponse, Locator, Page, WebSocketRoute, expect

PASSWORD = "correct-horse-battery"
ANSWERED = "main[data-run-state=idle] #transcript > article[data-role=ai]:last-of-type:not([data-state=streaming])"
ROWS = """(articles) => articles.map((article) => {
    const versions = article.querySelector("[data-versions]");
    return {
        id: article.dataset.messageId,
        role: article.dataset.role,
        state: article.dataset.state,
        text: article.querySelector("[data-content]")?.textContent.trim() ?? "",
        versions: versions ? `${versions.dataset.position}/${versions.dataset.total}` : "",
    };
})"""

Way = Literal["previous", "next"]


class Row(NamedTuple):
    """One message on screen; `versions` is "2/3", or empty where there is one version only."""

    id: str
    role: str
    state: str
    text: str
    versions: str


class Chat:
    """One tab that shows a thread. Messages are counted from the top, from 0, replies included."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.main = page.locator("main[data-thread-id]")
        self.messages = page.locator("article[data-message-id]")
        self.humans = page.locator("article[data-role=human]")
        self.texts = page.locator("article[data-message-id] [data-content]")
        self.live = page.locator("article[data-state=streaming] [data-content]")
        self.composer = page.locator("form[data-composer] textarea[name=content]")
        self.edit_boxes = page.locator("form[data-edit] textarea[name=content]")

    @classmethod
    async def begin(cls, page: Page, assistant: str = "echo") -> Self:
        """A new thread, connected. Made by request, which is quicker than by the welcome page."""
        await page.request.get("/")
        made = await post(page, "/threads/", assistant=assistant)
        return await cls.open(page, made.url)

    @classmethod
    async def open(cls, page: Page, url: str) -> Self:
        """The thread at this address, connected."""
        await page.goto(url)
        chat = cls(page)
        await chat.connected()
        return chat

    async def connected(self) -> None:
        """Wait until the page hears from the server."""
        await expect(self.main).to_have_attribute("data-connection", "live")

    async def reload(self) -> None:
        """F5."""
        await self.page.reload()
        await self.connected()

    # What is on screen

    async def rows(self) -> list[Row]:
        """All messages at this moment."""
        return [Row(**row) for row in await self.messages.evaluate_all(ROWS)]

    async def versions(self) -> list[str]:
        """The count beside each message."""
        return [row.versions for row in await self.rows()]

    async def text(self, number: int) -> str:
        """What the message says."""
        return (await self.rows())[number].text

    def message(self, number: int) -> Locator:
        """The message's article."""
        return self.messages.nth(number)

    def button(self, action: str, number: int | None = None) -> Locator:
        """The button for `action`: of the message, or of the page."""
        place = self.page if number is None else self.message(number)
        return place.locator(f"button[data-action={action}]")

    def arrow(self, number: int, way: Way) -> Locator:
        """One of the two arrows of a message."""
        return self.message(number).locator(f"[data-versions] button[data-action={way}-version]")

    async def done(self) -> None:
        """Wait until the last message is a reply and nothing runs."""
        await expect(self.page.locator(ANSWERED)).to_be_attached()
        await self.quiet()

    async def quiet(self) -> None:
        """Wait until no command of this page is under way: the page drops what is pressed meanwhile.

        What a command changes may come by the socket before the command itself is answered.
        """
        await expect(self.page.locator("html[data-commands]")).to_have_count(0)

    # What one does

    async def send(self, text: str) -> None:
        """Write and send; returns when the message is on screen."""
        count = await self.humans.count()
        await self.composer.fill(text)
        await self.composer.press("Enter")
        await expect(self.humans).to_have_count(count + 1)

    async def say(self, *texts: str) -> None:
        """Send each and wait for its reply."""
        for text in texts:
            await self.send(text)
            await self.done()

    async def start_regenerating(self, number: int) -> None:
        """Press Regenerate; returns when the new version is on screen."""
        total = await self._total(number)
        await self.button("regenerate", number).click()
        await expect(self._versions(number)).to_have_attribute("data-total", str(total + 1))

    async def regenerate(self, number: int, times: int = 1) -> None:
        """A new version of the reply, finished; so many times."""
        for _ in range(times):
            await self.start_regenerating(number)
            await self.done()

    async def open_edit(self, number: int) -> Locator:
        """The edit box of the message, opened."""
        await self.button("edit", number).click()
        box = self.message(number).locator("form[data-edit] textarea[name=content]")
        await expect(box).to_be_focused()
        return box

    async def start_editing(self, number: int, text: str) -> None:
        """Save other words; returns when they are on screen."""
        await (await self.open_edit(number)).fill(text)
        await self.button("save-edit", number).click()
        await expect(self.texts.nth(number)).to_have_text(text)
        await expect(self.message(number).locator("[data-edit]")).to_have_count(0)

    async def edit(self, number: int, *texts: str) -> None:
        """Say the message differently, once for each of `texts`, each with its reply."""
        for text in texts:
            await self.start_editing(number, text)
            await self.done()

    async def step(self, number: int, way: Way) -> None:
        """Press an arrow; returns when the version beside is on screen."""
        position = int((await self.versions())[number].split("/")[0])
        await self.arrow(number, way).click()
        await self.at(number, position + (1 if way == "next" else -1))

    async def go(self, number: int, position: int) -> None:
        """Press arrows until this version is on screen."""
        while (now := int((await self.versions())[number].split("/")[0])) != position:
            await self.step(number, "next" if now < position else "previous")

    async def at(self, number: int, position: int) -> None:
        """Wait until the message shows this version."""
        await expect(self._versions(number)).to_have_attribute("data-position", str(position))
        await self.quiet()

    async def undo(self) -> None:
        """Press Undo; returns when the last move is taken back."""
        await self.button("undo").click()
        await self.quiet()

    async def stop(self) -> None:
        """Press Stop; returns when the reply is at rest."""
        await self.button("stop").click()
        await expect(self.live).to_have_count(0)

    async def retry(self) -> None:
        """Press Retry, Resume or Generate reply; returns when the try has begun."""
        before = await self.page.locator("article").last.get_attribute("data-message-id") or ""
        await self.button("retry").click()
        other = f"#transcript > article:last-of-type[data-message-id]:not([data-message-id='{before}'])"
        await expect(self.page.locator(other)).to_be_attached()

    def _versions(self, number: int) -> Locator:
        return self.message(number).locator("[data-versions]")

    async def _total(self, number: int) -> int:
        return int((await self.versions())[number].partition("/")[2] or 1)


class Line:
    """A page's line to the server: it can be cut, be down, or be dead without a word."""

    def __init__(self) -> None:
        self.sockets: list[WebSocketRoute] = []
        self.is_down = self.is_dead = False

    @classmethod
    async def of(cls, page: Page) -> Self:
        """That of the page, which is still to be opened."""
        line = cls()
        await page.route_web_socket("**/ws/**", line._connect)
        return line

    async def cut(self, code: int = 1006) -> None:
        await self.sockets[-1].close(code=code)

    async def renew(self) -> None:
        """Cut it, and wait until the page asks for another."""
        count = len(self.sockets)
        await self.cut()
        while len(self.sockets) == count:  # noqa: ASYNC110 - the page says so for a moment only
            await asyncio.sleep(0.02)

    async def _connect(self, socket: WebSocketRoute) -> None:
        if self.is_down:
            return await socket.close(code=1006)
        self.sockets.append(socket)
        server = socket.connect_to_server()
        server.on_message(lambda frame: None if self.is_dead else socket.send(frame))


async def second_window(chat: Chat, new_page: Callable[..., Awaitable[Page]]) -> Chat:
    """The same thread in another window of the same person. (Chromium all but stops a tab that another one hides.)"""
    session = await chat.page.context.storage_state()
    return await Chat.open(await new_page(storage_state=session), chat.page.url)


def answered(*texts: str) -> list[str]:
    """The transcript in which Echo has answered each of `texts`."""
    return [line for text in texts for line in (text, f"回复：{text}")]


def posts(page: Page) -> list[str]:
    """The paths to which the page posts from now on, as they come."""
    seen: list[str] = []
    page.on("request", lambda request: seen.append(path_of(request.url)) if request.method == "POST" else None)
    return seen


async def post(page: Page, url: str, **form: Any) -> APIResponse:
    """A request by hand, as this page's person and with everything a form of ours carries."""
    token, _ = await credentials(page)
    fields = {"head_version": "0", "key": uuid.uuid4().hex, **form}
    return await page.request.post(url, form=fields, headers={"X-CSRFToken": token})


async def credentials(page: Page) -> tuple[str, str]:
    """What proves to the server that a request is this page's: the CSRF token, and the Cookie header."""
    cookies = {cookie["name"]: cookie["value"] for cookie in await page.context.cookies()}
    return cookies.get("csrftoken", ""), "; ".join(f"{name}={value}" for name, value in cookies.items())


async def sign_up(page: Page) -> str:
    """Give the guest on this page a name, and return it."""
    name = f"person-{uuid.uuid4().hex[:12]}"
    await page.goto("/signup/")
    await page.fill("input[name=username]", name)
    await page.fill("input[name=password1]", PASSWORD)
    await page.fill("input[name=password2]", PASSWORD)
    await page.press("input[name=password2]", "Enter")
    await expect(page.get_by_text(name)).to_be_visible()
    return name


async def log_in(page: Page, name: str) -> None:
    """Become the person with this name."""
    await page.goto("/login/")
    await page.fill("input[name=username]", name)
    await page.fill("input[name=password]", PASSWORD)
    await page.press("input[name=password]", "Enter")
    await expect(page.get_by_text(name)).to_be_visible()


async def log_out(page: Page) -> None:
    """Leave."""
    await page.locator("form[action='/logout/'] button").click()
    await page.wait_for_url("**/login/**")


def path_of(url: str) -> str:
    return "/" + url.split("/", 3)[3]
