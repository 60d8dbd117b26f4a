"""A server process and a real browser. Tests here are async, all on one event loop, and free of the ORM."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from tests.e2e.server import Server

FAILURES = Path(__file__).parent / "failures"
REPORT = pytest.StashKey[pytest.TestReport]()
OUTAGE = "ERR_CONNECTION|WebSocket|htmx:ws:error"
"""What a page may log while its server is away; for `allowed_problems`."""
COUNT_COMMANDS = """
    let count = 0;
    const add = (change) => { count += change; document.documentElement.toggleAttribute("data-commands", count > 0); };
    document.addEventListener("htmx:before:request", () => add(1));
    document.addEventListener("htmx:finally:request", () => add(-1));
"""
"""Marks the page for as long as a command is under way: see `Chat.quiet`."""
FLAGS = ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]

NewPage = Callable[..., Awaitable[Page]]
expect.set_options(timeout=10_000)


LONGEST = ["scenarios", "crashes", "storage", "several", "window", "concierge", "axe", "branches", "failures", "map"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One loop for all: the browser lives on the loop that started it.

    The files that take longest come first, so that those who share the work are done at the same time.
    """
    order = {f"test_{name}": number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(item.path.stem, len(order)))
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[Any]:
    """Keep the outcome for the fixtures, and show the server's log with a failure."""
    report = yield
    server = getattr(item, "funcargs", {}).get("server")
    if report.failed and server:
        report.sections.append(("server log", server.log()[-10_000:]))
    if report.when == "call":
        item.stash[REPORT] = report
    return report


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server that all tests share; each page is a new guest on it."""
    server = Server(tmp_path_factory.mktemp("server"))
    server.manage("migrate", "--verbosity", "0")
    server.start()
    yield server
    server.stop()


def program() -> dict[str, Any]:
    """How to launch the browser."""
    # The first one is the same engine without the browser around it, at half the cost.
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    # Chromium refuses its sandbox to root, which containers usually are.
    return {"executable_path": path, "args": FLAGS + (["--no-sandbox"] if os.geteuid() == 0 else [])}


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """The system's Chromium, or the one that CHROMIUM names."""
    found = program()
    if not found["executable_path"]:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up("No Chromium here. Install it, or name it in CHROMIUM.")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(**found)
        yield browser
        await browser.close()


@pytest.fixture
def allowed_problems() -> list[str]:
    """Patterns of console errors that the test brings about on purpose; append yours."""
    return []


@pytest_asyncio.fixture(loop_scope="session")
async def new_page(
    request: pytest.FixtureRequest, server: Server, browser: Browser, allowed_problems: list[str]
) -> AsyncIterator[NewPage]:
    """Opens a page: in a browser of its own (another person), or in the `context` given (another tab).

    Any console error, page error or breach of the content security policy fails the test at its end.
    """
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    async def new_page(context: BrowserContext | None = None, **options: Any) -> Page:
        if context is None:
            context = await browser.new_context(**{"base_url": server.url, "locale": "en-US", **options})
            context.set_default_timeout(10_000)
            await context.add_init_script(COUNT_COMMANDS)
            contexts.append(context)
        page = await context.new_page()
        _watch(page, problems)
        return page

    yield new_page
    report = request.node.stash.get(REPORT, None)
    if report is not None and report.failed:
        await _take_screenshots(contexts, request.node.name)
    for context in contexts:
        await context.close()
    assert not [p for p in problems if not any(re.search(allowed, p) for allowed in allowed_problems)]


@pytest_asyncio.fixture(loop_scope="session")
async def page(new_page: NewPage) -> Page:
    """The first person's page."""
    return await new_page()


@pytest_asyncio.fixture(loop_scope="session")
async def other_page(new_page: NewPage) -> Page:
    """A page in another browser: somebody else, until they log in."""
    return await new_page()


def _watch(page: Page, problems: list[str]) -> None:
    # Chromium reports a breach of the policy as a console error too.
    page.on("console", lambda m: problems.append(f"{m.text} ({m.location['url']})") if m.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(f"page error: {error}"))


async def _take_screenshots(contexts: list[BrowserContext], name: str) -> None:
    FAILURES.mkdir(exist_ok=True)
    pages = [page for context in contexts for page in context.pages]
    for number, page in enumerate(pages, 1):
        await page.screenshot(path=FAILURES / f"{re.sub(r'[^a-zA-Z0-9_-]+', '-', name)}-{number}.png")
