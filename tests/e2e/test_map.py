"""Among twelve versions one finds the one in French on the map: by looking, by searching, by keyboard, by its name."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat
from tests.e2e.test_storage import WIDE


async def twelve(page: Page) -> Chat:
    """
    h1 ─┬─ ... twelve wordings of one message, each with its reply; the seventh is in French
    """
    chat = await Chat.begin(page)
    await chat.say("version 1")
    await chat.edit(0, *(f"version {number}" if number != 7 else "en français" for number in range(2, 13)))
    return chat


@pytest.mark.parametrize("width", [1280, 390])
async def test_case_98_the_one_in_french_is_found_and_shown(new_page: NewPage, width: int) -> None:
    page = await new_page(viewport={"width": width, "height": 900})
    chat = await twelve(page)
    await page.locator("[data-action=map]").click()
    await expect(page.locator("[data-spot]")).to_have_count(24)
    assert not await page.evaluate(WIDE)
    await page.locator("#map-query").fill("français")
    await page.keyboard.press("Enter")
    hits = page.locator("[data-hit] .spot__go")
    await expect(hits).to_have_count(2)
    await expect(hits.first).to_be_focused()
    await page.keyboard.press("ArrowRight")
    await expect(hits.nth(1)).to_be_focused()
    await page.keyboard.press("ArrowLeft")
    await page.keyboard.press("Enter")
    await chat.connected()
    assert (await chat.rows())[0].text == "en français"
    assert (await chat.versions())[0] == "7/12"


async def test_a_version_that_was_named_carries_its_name_everywhere(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("h1")
    await chat.regenerate(1)
    await chat.messages.nth(1).hover()
    await chat.messages.nth(1).locator("[data-action=label]").click()
    await page.locator("[name=label]").fill("the second try")
    await page.locator("[data-action=name]").click()
    await chat.connected()
    await expect(chat.messages.nth(1).locator("[data-label]")).to_have_text("the second try")
    await chat.step(1, "previous")
    await expect(page.locator("[data-label]")).to_have_count(0)
    await page.locator("[data-action=map]").click()
    await expect(page.locator(".spot .label")).to_have_text("the second try")
    await page.locator(".spot:has(.label) .spot__go").click()
    await chat.connected()
    await expect(chat.messages.nth(1).locator("[data-label]")).to_have_text("the second try")
