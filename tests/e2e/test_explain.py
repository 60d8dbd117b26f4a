"""What each button does, read before it is pressed: from the chat, by keyboard, on a phone, without JavaScript."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, answered
from tests.e2e.test_storage import WIDE

EVIL = "<img src=x onerror=document.body.dataset.hit=1><b hx-get=/logout/ hx-trigger=load>bold</b>"


async def open_buttons(chat: Chat) -> None:
    await chat.page.locator(".topbar [data-action=time-machine]").click()
    await chat.page.locator("[data-action=buttons]").last.click()
    await expect(chat.page.locator("[data-button=send]")).to_have_count(1)


async def test_a_button_is_unfolded_by_keyboard_and_pressed_where_it_is_explained(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("h1")
    await open_buttons(chat)
    regenerate = page.locator("[data-button=replay]")
    await regenerate.locator("summary").focus()
    await page.keyboard.press("Enter")
    await expect(regenerate.locator("[data-added]")).to_have_count(2)
    await expect(regenerate.locator("[data-runs=reply]")).to_have_count(1)
    await expect(regenerate.locator("[data-python]")).to_contain_text("ainvoke(None, config")
    await page.goto(await regenerate.get_attribute("hx-get") or "")
    await page.locator("[data-action=press]").click()
    await expect(page.locator("[data-agrees=yes]")).to_have_count(1)
    await expect(page.locator("[data-pair=same]")).to_have_count(2)
    await page.locator(".topbar a").last.click()
    await chat.connected()
    await expect(chat.texts).to_have_text(answered("h1"))
    assert await chat.versions() == ["", "2/2"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_fits_a_phone_without_javascript_and_what_is_hostile_stays_text(
    new_page: NewPage, scheme: str
) -> None:
    chat = await Chat.begin(await new_page())
    await chat.say(EVIL)
    session = await chat.page.context.storage_state()
    size = {"width": 390, "height": 800}
    plain = await new_page(
        storage_state=session, viewport=size, java_script_enabled=scheme == "dark", color_scheme=scheme
    )
    await plain.goto(f"{chat.page.url}explain/")
    assert not await plain.evaluate(WIDE)
    for button in ("replay", "edit", "send", "undo"):
        await plain.goto(await plain.locator(f"[data-button={button}]").first.get_attribute("hx-get") or "")
        await expect(plain.locator("[data-told]")).to_have_count(1)
        assert not await plain.evaluate(WIDE)
        if button == "replay":
            await expect(plain.locator("[data-sent] .sent__text")).to_have_text(EVIL)
        await expect(plain.locator("body[data-hit], .machine b, .machine img")).to_have_count(0)
        await plain.go_back()
    await plain.locator(".presses a").first.click()
    await expect(plain.locator("[data-outcome]")).to_have_count(1)
    assert not await plain.evaluate(WIDE)
    await expect(plain.locator("body[data-hit], .machine b, .machine img")).to_have_count(0)
