"""A version is shared: somebody without an account reads it, until the link is taken back."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, answered
from tests.e2e.test_storage import WIDE


@pytest.mark.parametrize("width", [1280, 390])
async def test_a_version_is_shared_read_and_taken_back(
    page: Page, new_page: NewPage, allowed_problems: list[str], width: int
) -> None:
    chat = await Chat.begin(page)
    await chat.say("h1")
    await page.set_viewport_size({"width": width, "height": 800})
    await page.goto(f"{page.url}share/")
    await page.locator("[data-action=share]").last.click()
    address = await page.locator("[data-address]").input_value()
    assert not await page.evaluate(WIDE)
    reader = await new_page(viewport={"width": width, "height": 800})
    await reader.goto(address)
    texts = reader.locator("article[data-message-id] [data-content]")
    await expect(texts).to_have_text(answered("h1"))
    assert not await reader.evaluate(WIDE)
    await expect(reader.locator("form")).to_have_count(0)
    await page.locator("[data-action=revoke]").click()
    await expect(page.locator("[data-link]")).to_have_count(0)
    allowed_problems.append("404")
    await reader.reload()
    await expect(texts).to_have_count(0)
