"""What a long reply costs the browser while it is written: the tasks that keep the page from answering.

Beside the same page to which the same text is appended plain, as often. Chromium counts a task as long from 50 ms on.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright

from tests.bench.stream import Bench
from tests.e2e.conftest import COUNT_COMMANDS, program
from tests.e2e.pages import Chat

SECONDS, FRAMES = 20, 20
TRIES = 3
"""How often it must happen in a row: whatever else the machine does is not the app's fault."""

WATCH = """
    window.longTasks = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.longTasks.push(entry.duration);
    }).observe({ type: "longtask", buffered: true });
"""
# All of it within the page: to be asked from outside, again and again, costs a long page more than the reply does.
ASK = """(question) => new Promise((done) => {
    const main = document.querySelector("main[data-thread-id]");
    let begun = false;
    const look = () => {
      const live = main.querySelector("[data-live]");
      begun ||= live;
      if (!begun || live || main.dataset.runState !== "idle") return;
      watcher.disconnect();
      done();
    };
    const watcher = new MutationObserver(look);
    watcher.observe(main, { attributes: true, childList: true, subtree: true });
    const composer = document.querySelector("form[data-composer]");
    composer.elements.content.value = question;
    composer.requestSubmit();
})"""
APPEND = """async ([text, seconds, frames]) => {
    const place = document.createElement("div");
    document.querySelector("#transcript").append(place);
    const size = Math.ceil(text.length / (seconds * frames));
    for (let at = 0; at < text.length; at += size) {
      place.append(text.slice(at, at + size));
      window.scrollTo(0, document.documentElement.scrollHeight);
      await new Promise((done) => setTimeout(done, 1000 / frames));
    }
}"""
SCROLL_UP = """async () => {
    while (document.querySelector("#transcript [data-action=earlier]")) {
      window.scrollTo(0, 0);
      await new Promise((done) => setTimeout(done, 50));
    }
    window.scrollTo(0, document.documentElement.scrollHeight);
}"""


@dataclass(frozen=True)
class Case:
    """A reply of `size` characters of Markdown, under so many `turns` that are all on the page."""

    name: str
    size: int
    turns: int = 0


MUST = Case("50 kB", 50_000)
CASES = (Case("50 kB under 500 messages", 50_000, turns=250), Case("200 kB", 200_000))


async def long_tasks(page: Page) -> list[float]:
    """Those since the last time, in milliseconds; the longest first."""
    found: list[float] = await page.evaluate("() => window.longTasks.splice(0)")
    return sorted(found, reverse=True)


def told(name: str, tasks: list[float]) -> str:
    longest = f"{tasks[0]:.0f} ms" if tasks else "-"
    return f"| {name} | {len(tasks)} | {longest} | {sum(tasks):.0f} ms |"


async def measure(server: Bench, browser: Browser, case: Case) -> int:
    """Print a line for the app and one for plain text; returns how many long tasks the app has made."""
    context = await browser.new_context(base_url=server.url, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(120_000)
    await context.add_init_script(COUNT_COMMANDS)
    await context.add_init_script(WATCH)
    page = await context.new_page()
    chat = await Chat.begin(page, "chat")
    await chat.say("400 at 50")  # fonts and code are warm then
    if case.turns:
        server.grow(page.url.rstrip("/").rpartition("/")[2], case.turns)
        await chat.reload()
        await page.evaluate(SCROLL_UP)
    await long_tasks(page)
    await page.evaluate(ASK, f"{case.size} in {SECONDS}")
    ours = await long_tasks(page)
    text = await chat.messages.last.locator("[data-content]").inner_text()
    await chat.reload()
    if case.turns:
        await page.evaluate(SCROLL_UP)
    await long_tasks(page)
    await page.evaluate(APPEND, [text, SECONDS, FRAMES])
    print(told(f"{case.name}, written by the app", ours))
    print(told(f"{case.name}, appended plain", await long_tasks(page)), flush=True)
    await context.close()
    return len(ours)


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = Bench(Path(folder))
        server.manage("migrate", "--verbosity", "0")
        server.start()
        print(f"Replies of so much Markdown in {SECONDS} s, and what one reads of them as plain text")
        print("| | tasks over 50 ms | the longest | all together |\n|---|---:|---:|---:|")
        try:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(**program())
                is_met = False
                for _ in range(TRIES):
                    if is_met := not await measure(server, browser, MUST):
                        break
                for case in CASES:
                    await measure(server, browser, case)
                await browser.close()
        finally:
            server.stop()
    if not is_met:
        sys.exit(f"{MUST.name} in {SECONDS} s kept the page from answering for more than 50 ms.")


if __name__ == "__main__":
    asyncio.run(main())
