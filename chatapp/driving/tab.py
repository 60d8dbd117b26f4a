"""One window of a thread in a browser, found by the automation hooks of the page alone."""

from __future__ import annotations

import asyncio
import re
import time
from typing import Any

from branching.scenarios.judging import Row
from branching.scenarios.plays import Facts

PATIENCE = 10.0
"""Seconds that what is expected may take to come about, and an element of the page to be there."""

LONGEST = 60.0
"""Seconds that a step may take to come to rest."""

LOOK = 0.05

COUNT_COMMANDS = """
    let count = 0;
    const add = (change) => { count += change; document.documentElement.toggleAttribute("data-commands", count > 0); };
    document.addEventListener("htmx:before:request", () => add(1));
    document.addEventListener("htmx:finally:request", () => add(-1));
"""
"""Marks the page for as long as a command is under way."""

SCREEN = """() => {
    const main = document.querySelector("main[data-thread-id]");
    const open = document.querySelector("[data-open-reply]");
    const told = document.querySelectorAll("#notice .bar__text, .edit__error");
    return {
        run_state: main?.dataset.runState ?? "",
        open: open?.dataset.openReply ?? "",
        notice: [...told].map((each) => each.textContent.trim()).filter(Boolean).join(" "),
        rows: [...document.querySelectorAll("article[data-message-id]")].map((article) => {
            const content = article.querySelector("[data-content]");
            const source = article.querySelector("[data-action=copy][data-source]")?.dataset.source;
            const versions = article.querySelector("[data-versions]");
            return {
                id: article.dataset.messageId,
                text: source ?? content?.textContent.trim() ?? "",
                state: article.dataset.state,
                versions: versions ? `${versions.dataset.position}/${versions.dataset.total}` : "",
            };
        }),
    };
}"""

HARMLESS = re.compile(r"status of 4(09|22)|WebSocket|htmx:ws:error|ERR_FAILED|ERR_ABORTED|Failed to fetch")
"""What a page may log when a command is refused, or a line is cut on purpose."""


class Stuck(Exception):
    """A step that can't be done: what it is about is not there."""


class Tab:
    """A window. Its line to the server can be dead without a word."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.is_deaf = False
        self.problems: list[str] = []
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    async def tap(self) -> None:
        """Let its line be cut later; before the page is opened."""
        await self.page.route_web_socket("**/ws/**", self._connect)

    def _connect(self, socket: Any) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda frame: None if self.is_deaf else socket.send(frame))

    def _heard(self, message: Any) -> None:
        if message.type == "error" and not HARMLESS.search(message.text):
            self.problems.append(message.text)

    async def open(self, url: str) -> None:
        """Show the thread at this address, connected."""
        await self.page.goto(url)
        await self.connected()

    async def connected(self) -> None:
        """Wait until the page hears from the server."""
        await self.page.wait_for_selector("main[data-thread-id][data-connection=live]", state="attached")

    @property
    def url(self) -> str:
        """The address of the thread, with a slash at the end."""
        return re.sub(r"(/threads/[0-9a-f-]{36}/).*", r"\1", self.page.url)

    async def screen(self) -> dict[str, Any]:
        """What is on it: `rows`, `open`, `run_state`, `notice`."""
        seen = await self.page.evaluate(SCREEN)
        return {**seen, "rows": tuple(Row(**row) for row in seen["rows"])}

    async def facts(self) -> tuple[Facts, list[str]]:
        """What the server knows of the thread, and the ids of its checkpoints, oldest first."""
        response = await self.page.request.get(f"{self.url}scenario/facts/")
        known = await response.json()
        ids = known.pop("ids")
        return Facts(**{**known, "asked": tuple(known["asked"])}), ids

    async def matches(self, selectors: tuple[str, ...]) -> dict[str, int]:
        """How many elements each of them finds."""
        return {each: await self.page.locator(each).count() for each in selectors}

    async def quiet(self) -> None:
        """Wait until no command of this page is under way: the page drops what is pressed meanwhile."""
        await self.page.wait_for_selector("html:not([data-commands])", state="attached")

    async def press(self, selector: str, *, twice: bool = False) -> None:
        """Press the button, by key, since a page that follows a reply moves under the mouse; twice by mouse."""
        button = self.page.locator(selector).first
        if not await button.count():
            raise Stuck(f"There is no {selector} on the page.")
        if not await button.is_enabled():
            raise Stuck(f"{selector} is disabled.")
        await (button.dblclick() if twice else button.press("Enter"))
        await self.quiet()

    async def article(self, number: int) -> str:
        """The selector of a message: counted from 1, or from the end with a minus."""
        rows = self.page.locator("article[data-message-id]")
        at = number if number < 0 else await self._place(number)
        count = await rows.count()
        if at is None or not -count <= at < count:
            raise Stuck(f"There is no message {number} on screen.")
        return f"article[data-message-id='{await rows.nth(at % count).get_attribute('data-message-id')}']"

    async def _place(self, number: int) -> int | None:
        slots = await self.page.locator("article[data-message-id]").evaluate_all("all => all.map(a => a.dataset.slot)")
        return slots.index(str(number)) if str(number) in slots else None

    async def post(self, url: str, **form: str) -> Any:
        """The response to a command that is given by hand, as this page's person."""
        cookies = {cookie["name"]: cookie["value"] for cookie in await self.page.context.cookies()}
        token = {"X-CSRFToken": cookies.get("csrftoken", "")}
        return await self.page.request.post(url, form=form, headers=token)


async def until(condition: Any, *, patience: float = PATIENCE) -> bool:
    """Whether it came true in time."""
    end = time.monotonic() + patience
    while not await condition():
        if time.monotonic() > end:
            return False
        await asyncio.sleep(LOOK)
    return True
