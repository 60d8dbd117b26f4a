"""One version is deleted where it stands, on a phone too; the others stay, and one press brings it back."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, answered
from tests.e2e.test_storage import WIDE


async def three(page: Page) -> Chat:
    """
    one   ── reply ── and on ── reply
    two   ── reply
    three ── reply                        HEAD is at the first
    """
    chat = await Chat.begin(page)
    await chat.say("one", "and on")
    await chat.edit(0, "two", "three")
    await chat.go(0, 1)
    return chat


async def delete(chat: Chat, number: int) -> None:
    await chat.message(number).hover()
    await chat.message(number).locator("[data-action=delete-version]").click()
    await chat.page.locator("[data-action=confirm-delete]").click()
    await chat.connected()


@pytest.mark.parametrize("width", [1280, 390])
async def test_case_68_one_of_three_goes_and_one_press_brings_it_back(new_page: NewPage, width: int) -> None:
    other = await three(await new_page())
    session, size = await other.page.context.storage_state(), {"width": width, "height": 900}
    page = await new_page(storage_state=session, viewport=size, has_touch=width == 390)
    chat = await Chat.open(page, other.page.url)
    await chat.message(0).hover()
    await chat.message(0).locator("[data-action=delete-version]").click()
    await expect(page.locator("[data-later]")).to_have_attribute("data-later", "3")
    assert not await page.evaluate(WIDE)
    await page.locator("[data-action=confirm-delete]").click()
    await chat.connected()
    await expect(chat.texts).to_have_text(answered("two"))
    assert (await chat.versions())[0] == "1/2"
    assert not await page.evaluate(WIDE)
    await expect(other.texts).to_have_text(answered("two"))
    await expect(other.page.locator("[data-deleted]")).to_have_count(1)
    await page.locator("[data-action=restore]").click()
    await expect(chat.texts).to_have_text(answered("one", "and on"))
    await expect(other.texts).to_have_text(answered("one", "and on"))
    await expect(page.locator("[data-deleted]")).to_have_count(0)
    assert (await chat.versions())[0] == "1/3"


async def test_undo_takes_it_back_too_and_what_is_removed_now_is_gone(page: Page) -> None:
    chat = await three(page)
    await delete(chat, 0)
    await chat.undo()
    await expect(chat.texts).to_have_text(answered("one", "and on"))
    await delete(chat, 0)
    await page.locator("[data-action=remove]").click()
    await expect(page.locator("[data-deleted]")).to_have_count(0)
    assert (await chat.versions())[0] == "1/2"
    await chat.say("still here")


async def test_one_goes_from_the_map_without_javascript_and_comes_back(new_page: NewPage) -> None:
    page = await new_page()
    chat = await three(page)
    session = await page.context.storage_state()
    plain = await new_page(storage_state=session, java_script_enabled=False, viewport={"width": 390, "height": 800})
    await plain.goto(f"{chat.page.url}map/")
    await expect(plain.locator("[data-spot]")).to_have_count(8)
    await plain.locator("[data-spot] [data-action=delete-version]").nth(4).click()
    await plain.locator("[data-action=confirm-delete]").click()
    await expect(plain.locator("[data-spot]")).to_have_count(6)
    assert not await plain.evaluate(WIDE)
    await plain.locator("[data-action=restore]").click()
    await expect(plain.locator("[data-spot]")).to_have_count(8)


async def test_case_9_the_hint_after_a_switch_leads_back_by_one_press(page: Page) -> None:
    chat = await three(page)
    await chat.step(0, "next")
    await page.locator("[data-action=back]").click()
    await expect(chat.texts).to_have_text(answered("one", "and on"))
    await expect(page.locator("[data-action=back]")).to_have_count(0)
    await chat.quiet()
    assert (await chat.versions())[0] == "1/3"
