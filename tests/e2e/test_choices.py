"""Instructions for a conversation: the next reply is written with them, and says so."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.e2e.pages import Chat


async def test_a_reply_is_regenerated_with_instructions_and_each_version_says_with_which(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.say("Plan two days in Xi'an for me.")
    await expect(page.locator("[data-settings]")).to_have_count(0)
    await page.locator("[data-action=choices]").click()
    await page.locator("[name=instructions]").fill("Answer in <b>French</b>.")
    await page.locator("[data-action=choose]").click()
    await chat.connected()
    await chat.regenerate(1)
    await chat.done()
    await page.locator("[data-settings] summary").click()
    await expect(page.locator(".settings__told")).to_have_text("Answer in <b>French</b>.")
    await chat.step(1, "previous")
    await expect(page.locator("[data-settings]")).to_have_count(0)
