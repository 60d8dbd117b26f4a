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


async def test_a_finished_reply_stays_what_it_was_while_it_was_written(page: Page) -> None:
    """Nothing of it is made anew: what is marked, unfolded or scrolled in it stays so, and a long one costs nothing."""
    chat = await Chat.begin(page, "chat")
    await chat.send("/long 5")
    block = chat.live.locator("[data-block]").first
    await expect(chat.live.locator("[data-block]").nth(2)).to_be_attached()
    await block.evaluate("(element) => { element.isTheOne = true; }")
    style = "(it) => getComputedStyle(it).marginBlockStart"
    before = await chat.live.locator("[data-block] > *").nth(1).evaluate(style)
    await chat.done()
    reply = chat.messages.last
    assert await reply.locator("[data-block]").first.evaluate("(element) => element.isTheOne")
    after = await reply.locator("[data-block] > *").nth(1).evaluate(style)
    assert after == before
    await expect(reply).to_have_attribute("data-state", "done")
    await expect(reply.locator("[data-live], [id^=live-]")).to_have_count(0)
    assert not (await reply.get_attribute("id") or "").startswith("live-")
    text = await chat.text(1)
    await chat.reload()
    assert await chat.text(1) == text
