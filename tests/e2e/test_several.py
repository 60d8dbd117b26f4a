"""Three versions at once, written before one's eyes; one is stopped, the page is reloaded in between, one is taken."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat
from tests.e2e.test_storage import WIDE


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
async def test_three_are_written_one_is_stopped_and_one_is_taken(new_page: NewPage, width: int, scheme: str) -> None:
    page = await new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 250")
    await page.locator("details.several > summary").click()
    await page.locator("[data-action=several][value='3']").click()
    attempts = page.locator("[data-attempt]")
    await expect(attempts).to_have_count(3)
    await expect(page.locator("[data-attempt][data-state=streaming] [data-content]").nth(2)).not_to_be_empty()
    assert not await page.evaluate(WIDE)
    await attempts.nth(1).locator("[data-action=stop]").click()
    await expect(attempts.nth(1)).to_have_attribute("data-state", "stopped")
    await page.reload()
    await expect(page.locator("#several")).to_have_attribute("data-run-state", "idle", timeout=20_000)
    await expect(attempts.nth(1)).to_contain_text("Stopped")
    text = await attempts.nth(2).locator("[data-content]").inner_text()
    await attempts.nth(2).locator("[data-action=take]").click()
    await chat.connected()
    shown = await chat.messages.nth(1).locator("[data-content]").inner_text()
    assert shown.split() == text.split()
    assert (await chat.versions())[1].endswith("/4")
