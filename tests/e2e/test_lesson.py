"""The lesson as one takes it: each press adds the rows that were said, before one's eyes."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.test_storage import WIDE

ADDED = {"send": 4, "send-again": 4, "regenerate": 2, "switch": 0, "edit": 1, "answer": 2, "dead-end": 1, "beside": 1}


async def take(page: Page) -> None:
    """All chapters, one after the other; at the end HEAD is at the copy beside."""
    await page.goto("/")
    await page.locator("main [data-action=lesson]").click()
    rows, stored = page.locator("tr[data-checkpoint-id]"), 0
    for name, added in ADDED.items():
        chapter = page.locator(f"[data-chapter={name}]")
        await expect(chapter).to_be_visible()
        await expect(rows).to_have_count(stored)
        await page.locator("[data-action=press]").click()
        await expect(page.locator(f"[data-came='{added}'][data-as-said]")).to_be_visible()
        stored += added
        await expect(rows).to_have_count(stored)
        await expect(page.locator("tr[data-fresh]")).to_have_count(added)
        assert not await page.evaluate(WIDE)
        if name != list(ADDED)[-1]:
            await page.locator("[data-action=on]").click()
    await expect(page.locator("tr[data-head]")).to_have_attribute("data-next", "reply")
    await expect(page.locator("tr[data-head]")).to_have_attribute("data-source", "fork")


@pytest.mark.parametrize("width", [1280, 390])
async def test_the_rows_appear_as_one_presses(new_page: NewPage, width: int) -> None:
    await take(await new_page(viewport={"width": width, "height": 900}))


async def test_it_is_taken_in_chinese_by_keyboard(new_page: NewPage) -> None:
    page = await new_page(locale="zh-CN")
    await page.goto("/")
    await page.locator("main [data-action=lesson]").focus()
    await page.keyboard.press("Enter")
    await page.locator("[data-action=press]").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-came='4'][data-as-said]")).to_be_visible()
    await expect(page.locator(".lesson__message").first).to_have_text("这条路通向哪里？")
