"""Replies as one reads them, and takes from them."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.e2e.pages import Chat

CODE = "def f(x):\n    return '<b>' * x"


async def test_the_code_of_a_reply_is_copied_as_it_was_written(page: Page) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat = await Chat.begin(page, "echo")
    await chat.say(f"Look:\n\n```python\n{CODE}\n```\n\nThat is all.")
    copy = page.get_by_role("button", name="Copy the code")
    await copy.click()
    await expect(page.locator("[data-announcer]")).to_have_text("Copied.")
    assert await page.evaluate("navigator.clipboard.readText()") == CODE + "\n"
    await expect(page.locator(".tok-k").first).to_have_text("def")
    chat = await Chat.open(page, page.url)
    await expect(page.locator("[data-language=python]")).to_be_visible()
