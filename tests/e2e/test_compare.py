"""Two versions beside each other, from the message itself; one of them is shown then."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat
from tests.e2e.test_storage import WIDE


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
async def test_two_versions_are_compared_and_one_is_shown(new_page: NewPage, width: int, scheme: str) -> None:
    page = await new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    chat = await Chat.begin(page)
    await chat.say("a red <b>fox</b>")
    await expect(page.locator("[data-action=compare]")).to_have_count(0)
    await chat.edit(0, "a blue <b>fox</b>")
    await chat.messages.first.hover()
    await chat.messages.first.locator("[data-action=compare]").click()
    await expect(page.locator("[data-side] del")).to_have_text("red ")
    await expect(page.locator("[data-side] ins")).to_have_text("blue ")
    await expect(page.locator("[data-side] b")).to_have_count(0)
    assert not await page.evaluate(WIDE)
    boxes = [await page.locator("[data-side]").nth(number).bounding_box() for number in range(2)]
    assert (boxes[0]["y"] == boxes[1]["y"]) == (width == 1280)
    await page.locator("[data-side] [data-action=show]").first.click()
    await chat.connected()
    assert (await chat.rows())[0].text == "a red <b>fox</b>"
