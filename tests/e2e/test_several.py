"""Several versions at once, written before one's eyes: stopped, failed, reloaded, taken, and what a crash leaves."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Locator, Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat
from tests.e2e.server import Server
from tests.e2e.test_storage import WIDE

GONE = "WebSocket|ERR_CONNECTION|Failed to load|htmx:ws:error"
SIZES = [(1280, "light"), (390, "dark")]


async def begin(chat: Chat, count: int) -> Locator:
    """So many at once; they are being written."""
    await chat.page.locator("details.several > summary").last.click()
    await chat.page.locator(f"[data-action=several][value='{count}']").last.click()
    attempts = chat.page.locator("[data-attempt]")
    await expect(attempts).to_have_count(count)
    return attempts


def live(attempts: Locator, number: int) -> Locator:
    return attempts.nth(number).locator("[data-live] [data-block]").first


async def idle(page: Page) -> None:
    await expect(page.locator("#several")).to_have_attribute("data-run-state", "idle", timeout=30_000)


@pytest.mark.parametrize(("width", "scheme"), SIZES)
async def test_three_are_written_one_is_stopped_and_one_is_taken(new_page: NewPage, width: int, scheme: str) -> None:
    page = await new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 250")
    attempts = await begin(chat, 3)
    for number in range(3):
        await expect(live(attempts, number)).not_to_be_empty()
    assert not await page.evaluate(WIDE)
    boxes = [await attempts.nth(number).bounding_box() for number in range(2)]
    assert boxes[0]["y"] == boxes[1]["y"] and boxes[0]["x"] < boxes[1]["x"], "they do not stand beside each other"
    await attempts.nth(1).locator("[data-action=stop]").click()
    await expect(attempts.nth(1)).to_have_attribute("data-state", "stopped")
    await expect(attempts.nth(1)).to_contain_text("Stopped")
    await page.reload()
    await chat.connected()
    await expect(live(attempts, 2)).not_to_be_empty()
    length = len(await attempts.nth(2).locator("[data-content]").inner_text())
    await idle(page)
    assert [await attempts.nth(number).get_attribute("data-state") for number in range(3)] == [
        "done",
        "stopped",
        "done",
    ]
    text = await attempts.nth(2).locator("[data-content]").inner_text()
    assert len(text) > length
    await attempts.nth(2).locator("[data-action=take]").click()
    await expect(page.locator("#transcript")).to_be_attached()
    await chat.connected()
    shown = await chat.messages.nth(1).locator("[data-content]").inner_text()
    assert shown.split() == text.split()
    assert (await chat.versions())[1].endswith("/4")


async def test_what_a_page_shows_while_it_is_written_is_what_is_stored(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.say("Plan two days in Xi'an for me.")
    attempts = await begin(chat, 4)
    other = await page.context.new_page()
    await other.goto(page.url)
    await Chat(other).connected()
    await idle(page)
    await idle(other)
    texts = await attempts.locator("[data-content]").all_inner_texts()
    assert await other.locator("[data-attempt] [data-content]").all_inner_texts() == texts
    assert len(set(texts)) == 4 and all(texts)
    await page.reload()
    assert await attempts.locator("[data-content]").all_inner_texts() == texts


async def test_one_may_be_taken_before_the_other_is_finished(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 400")
    attempts = await begin(chat, 2)
    await expect(live(attempts, 1)).not_to_be_empty()
    await attempts.nth(1).locator("[data-action=stop]").click()
    await attempts.nth(1).locator("[data-action=take]").click()
    await expect(page.locator("#hint-several")).to_be_visible()
    await expect(chat.message(1)).to_have_attribute("data-state", "stopped")
    await page.locator("[data-action=see-all]").click()
    await attempts.nth(0).locator("[data-action=stop]").click()
    await idle(page)


async def test_one_fails_and_the_other_is_shown(page: Page, server: Server, allowed_problems: list[str]) -> None:
    allowed_problems.append(GONE)
    chat = await Chat.begin(page, "chat")
    await chat.send("/fail 1")
    await chat.button("retry").click()
    await chat.done()
    await asyncio.to_thread(server.restart)  # the demo model counts its tries anew
    await chat.reload()
    attempts = await begin(chat, 2)
    await idle(page)
    states = [await attempts.nth(number).get_attribute("data-state") for number in range(2)]
    assert sorted(states) == ["done", "failed"]
    await expect(page.locator("[data-attempt][data-state=failed] [data-action=retry]")).to_be_visible()
    await page.locator("main a[href$='/']").first.click()
    await chat.done()
    assert (await chat.rows())[1].versions.endswith("/2")
    await expect(chat.main).to_have_attribute("data-run-state", "idle")


@pytest.mark.parametrize(("width", "scheme"), SIZES)
async def test_a_server_is_killed_and_one_is_gone_on_with(
    new_page: NewPage, server: Server, allowed_problems: list[str], width: int, scheme: str
) -> None:
    allowed_problems.append(GONE)
    page = await new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 300")
    attempts = await begin(chat, 3)
    for number in range(3):
        await expect(live(attempts, number)).not_to_be_empty()
    await asyncio.to_thread(server.restart, kill=True)
    await expect(chat.main).to_have_attribute("data-connection", "live", timeout=20_000)
    await idle(page)
    for number in range(3):
        await expect(attempts.nth(number)).to_have_attribute("data-state", "lost")
    await attempts.nth(2).locator("[data-action=retry]").click()
    await expect(page.locator("#transcript")).to_be_attached()
    await chat.done()
    assert len((await chat.text(1)).split()) > 200
    assert "agree" in await asyncio.to_thread(server.manage, "check_threads")
