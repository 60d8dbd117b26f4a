"""What a long reply costs the browser while it is written: the tasks that keep the page from answering.

Beside the same page to which the same text is appended plain, as often. Chromium counts a task as long from 50 ms on.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from playwright.async_api import Page, async_playwright

from tests.bench.stream import Bench
from tests.e2e.conftest import COUNT_COMMANDS, program
from tests.e2e.pages import Chat

SIZE, SECONDS, FRAMES = 50_000, 20, 20
WATCH = """
    window.longTasks = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) window.longTasks.push(entry.duration);
    }).observe({ type: "longtask", buffered: true });
"""
DONE = """() => new Promise((done) => {
    const main = document.querySelector("main[data-thread-id]");
    const look = () => {
      if (main.dataset.runState !== "idle" || main.querySelector("[data-live]")) return;
      watcher.disconnect();
      done();
    };
    const watcher = new MutationObserver(look);
    watcher.observe(main, { attributes: true, childList: true, subtree: true });
})"""
"""Waits without asking again and again from outside, which costs a long page more than the reply does."""
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


async def long_tasks(page: Page) -> list[float]:
    """Those since the last time, in milliseconds; the longest first."""
    found: list[float] = await page.evaluate("() => window.longTasks.splice(0)")
    return sorted(found, reverse=True)


def told(name: str, tasks: list[float]) -> str:
    longest = f"{tasks[0]:.0f} ms" if tasks else "-"
    return f"| {name} | {len(tasks)} | {longest} | {sum(tasks):.0f} ms |"


async def measure(server: Bench, browser: Any) -> None:
    context = await browser.new_context(base_url=server.url, viewport={"width": 1280, "height": 900})
    await context.add_init_script(COUNT_COMMANDS)
    await context.add_init_script(WATCH)
    page = await context.new_page()
    chat = await Chat.begin(page, "chat")
    await chat.say("400 at 50")  # fonts and code are warm then
    await long_tasks(page)
    await chat.send(f"{SIZE} in {SECONDS}")
    await page.evaluate(DONE)
    ours = await long_tasks(page)
    text = await chat.messages.last.locator("[data-content]").inner_text()
    await page.reload()
    await chat.connected()
    await long_tasks(page)
    await page.evaluate(APPEND, [text, SECONDS, FRAMES])
    plain = await long_tasks(page)
    print(f"A reply of {len(text) / 1000:.0f} kB in {SECONDS} s, on the page of a conversation")
    print("| | tasks over 50 ms | the longest | all together |\n|---|---:|---:|---:|")
    print(told("written by the app, as Markdown", ours))
    print(told("the same text appended plain", plain))


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        server = Bench(Path(folder))
        server.manage("migrate", "--verbosity", "0")
        server.start()
        try:
            async with async_playwright() as playwright:
                browser = await playwright.chromium.launch(**program())
                await measure(server, browser)
                await browser.close()
        finally:
            server.stop()


if __name__ == "__main__":
    asyncio.run(main())
