"""To find again what was said, and to keep the list of conversations in order."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.e2e.pages import Chat


async def test_case_39_what_was_said_on_another_version_is_found_and_opened_there(page: Page) -> None:
    chat = await Chat.begin(page, "echo")
    await chat.say("a boat in the harbour")
    await chat.edit(0, "a train in the station")
    await page.fill("#find", "harbour boat")
    await page.press("#find", "Enter")
    await expect(page.locator(".hit")).to_have_count(2)
    await expect(page.locator(".hit[data-on-branch]")).to_have_count(0)
    await page.locator(".hit", has_text="You").locator("[data-action=open-hit]").click()
    await chat.connected()
    assert await chat.text(0) == "a boat in the harbour"
    await expect(chat.message(0)).to_be_focused()
    assert (await chat.versions())[0] == "1/2"


async def test_a_conversation_is_pinned_and_put_away_from_its_menu(page: Page) -> None:
    chat = await Chat.begin(page, "echo")
    await chat.say("the first")
    await Chat.begin(page, "echo")
    first = page.locator("#threads li", has_text="the first")
    await first.locator("summary").click()
    await first.locator("[data-action=pin]").click()
    await expect(page.locator("#threads section").first).to_contain_text("the first")
    await first.locator("[data-action=archive]").click()
    await expect(first).to_have_count(0)
    await page.goto("/search/")
    await expect(page.locator("main .threads__link")).to_have_text("the first")
