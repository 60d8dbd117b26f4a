"""`make screens`: pictures of every page and state, wide and narrow, light and dark, into `docs/screens/`.

Taken from a server of their own and with the models that need no key, so that they look the same each time.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright, expect

from tests.e2e.conftest import COUNT_COMMANDS, program
from tests.e2e.pages import Chat
from tests.e2e.server import ROOT, Server
from tests.e2e.test_concierge import ENGLISH

FOLDER = ROOT / "docs" / "screens"
SIZES = {"wide": (1280, 900), "narrow": (390, 844)}
SCHEMES = ("light", "dark")
QUESTION = "Plan two days in Xi'an for me."


class Album:
    """Takes pictures of one page."""

    def __init__(self, page: Page) -> None:
        self.page = page

    async def take(self, name: str) -> None:
        """The page as it is, in both sizes and schemes."""
        for size, (width, height) in SIZES.items():
            await self.page.set_viewport_size({"width": width, "height": height})
            for scheme in SCHEMES:
                await self.page.emulate_media(color_scheme=scheme)
                path = FOLDER / f"{name}-{size}-{scheme}.png"
                await self.page.screenshot(path=path, animations="disabled", caret="hide")
        width, height = SIZES["wide"]
        await self.page.set_viewport_size({"width": width, "height": height})

    async def visit(self, name: str, url: str) -> None:
        """The page at this address."""
        await self.page.goto(url)
        await self.take(name)


async def people(page: Page, album: Album) -> None:
    """Whoever comes for the first time."""
    await album.visit("home", "/")
    await album.visit("log-in", "/login/")
    await album.visit("sign-up", "/signup/")
    await album.visit("nothing-here", "/nothing/")
    await album.visit("import", "/import/")


async def talk(page: Page, album: Album) -> None:
    """A conversation with versions, and all that one can do with them."""
    chat = await Chat.begin(page, "chat")
    url = page.url
    await album.take("empty")
    await chat.say(QUESTION, "What if it rains?")
    await chat.regenerate(1)
    await chat.say("And with two small children?")
    await chat.edit(2, "And with a dog?")
    await chat.messages.first.scroll_into_view_if_needed()
    await album.take("versions")
    await chat.open_edit(0)
    await album.take("edit")
    await page.goto(url)
    await album.visit("map", f"{url}map/")
    await page.goto(url)
    await chat.connected()
    await chat.messages.nth(1).hover()
    await chat.messages.nth(1).locator("[data-action=compare]").click()
    await album.take("compare")
    await album.visit("choices", f"{url}choices/")
    await album.visit("share", f"{url}share/")
    await page.locator("main [data-action=share]").click()
    address = await page.locator("[data-address]").input_value()
    await album.take("links")
    await album.visit("shared", address)
    await album.visit("search", "/search/?q=rain")
    await album.visit("storage", f"{url}storage/")
    await machine(page, album, url)


async def machine(page: Page, album: Album, url: str) -> None:
    """What happened underneath."""
    await album.visit("checkpoints", f"{url}checkpoints/")
    await album.visit("turns", f"{url}checkpoints/?turns=on")
    await album.visit("find", f"{url}checkpoints/find/?by=state&field=messages&operator=contains&value=rain")
    await album.visit("buttons", f"{url}explain/")
    await page.goto(f"{url}checkpoints/")
    await page.locator("tr[data-next=model] .checkpoint__name a").first.click()
    await album.take("checkpoint")
    await page.locator("[data-action=fork]").click()
    await album.take("fork")
    await page.goto(f"{url}checkpoints/check/")
    await album.take("consistency")


async def live(page: Page, album: Album) -> None:
    """Replies that are being written, stopped, or failed; and several at once."""
    chat = await Chat.begin(page, "chat")
    await chat.send("/long 4000")
    await expect(chat.live).to_be_visible()
    await album.take("writing")
    await chat.stop()
    await album.take("stopped")
    chat = await Chat.begin(page, "chat")
    await chat.send("/fail")
    await expect(chat.main).to_have_attribute("data-run-state", "failed")
    await album.take("failed")
    chat = await Chat.begin(page, "chat")
    await chat.say(QUESTION)
    await page.locator("details.several > summary").click()
    await page.locator("[data-action=several][value='3']").click()
    await expect(page.locator("#several")).to_have_attribute("data-run-state", "idle")
    await album.take("several")


async def desk(page: Page, album: Album) -> None:
    """An assistant that acts."""
    chat = await Chat.begin(page, "concierge")
    await chat.say(ENGLISH.search)
    await chat.send(ENGLISH.suite)
    await expect(page.locator("[data-question]")).to_be_visible()
    await album.take("question")
    await page.locator("[data-action=approve]").first.click()
    await chat.done()
    await album.take("booked")
    await album.visit("actions", f"{page.url}actions/")


async def lesson(page: Page, album: Album) -> None:
    """The lesson, at its third chapter."""
    await page.goto("/")
    await page.locator("main [data-action=lesson]").click()
    for chapter in ("send", "send-again", "regenerate"):
        await expect(page.locator(f"[data-chapter={chapter}]")).to_be_visible()
        await page.locator("[data-action=press]").click()
        await expect(page.locator("[data-as-said]")).to_be_visible()
        if chapter != "regenerate":
            await page.locator("[data-action=on]").click()
    await album.take("lesson")


STORIES: tuple[Callable[[Page, Album], Awaitable[None]], ...] = (people, talk, live, desk, lesson)


async def tell(browser: Browser, server: Server) -> None:
    """Each story by a guest of its own."""
    for story in STORIES:
        context = await browser.new_context(base_url=server.url, locale="en-US", reduced_motion="reduce")
        await context.add_init_script(COUNT_COMMANDS)
        page = await context.new_page()
        await story(page, Album(page))
        await context.close()


async def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        server.manage("migrate", "--verbosity", "0")
        server.start()
        try:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(**program())
                await tell(browser, server)
                await browser.close()
        finally:
            server.stop()


if __name__ == "__main__":
    asyncio.run(main())
