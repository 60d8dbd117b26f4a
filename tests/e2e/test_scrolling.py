"""The page moves for who is at its end, and for nobody else. Case 95 of the field log."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.e2e.axe import Axe
from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, second_window

FROM_THE_END = "document.scrollingElement.scrollHeight - document.scrollingElement.scrollTop - innerHeight"
AT = "document.scrollingElement.scrollTop"
TOP = "(place) => place.getBoundingClientRect().top"


@pytest.mark.parametrize("width", [1280, 390])
async def test_case_95_it_follows_at_the_end_alone_and_tells_of_new_text_below(new_page: NewPage, width: int) -> None:
    page = await new_page(viewport={"width": width, "height": 700})
    chat = await Chat.begin(page, "chat")
    news = chat.button("to-end")
    await chat.say("/long 120", "/long 120")
    await chat.send("/long 700")
    await expect(chat.live).not_to_be_empty()
    await page.wait_for_timeout(400)
    assert await page.evaluate(FROM_THE_END) < 64
    await expect(news).to_be_hidden()
    await page.evaluate("document.scrollingElement.scrollTop = 150")
    await expect(news).to_be_visible()
    await page.wait_for_timeout(400)
    assert await page.evaluate(AT) == 150
    assert not await Axe(page).violations()
    await news.click()
    await expect(news).to_be_hidden()
    await page.wait_for_timeout(400)
    assert await page.evaluate(FROM_THE_END) < 64
    assert await page.evaluate("document.activeElement.matches('[data-slot]')")
    await page.evaluate("document.scrollingElement.scrollTop = 150")
    await expect(news).to_be_visible()
    await page.evaluate("document.scrollingElement.scrollTop = document.scrollingElement.scrollHeight")
    await expect(news).to_be_hidden()
    await chat.stop()


async def test_a_message_from_another_window_is_told_of_where_one_reads(page: Page, new_page: NewPage) -> None:
    await page.set_viewport_size({"width": 1000, "height": 500})
    chat = await Chat.begin(page)
    await chat.say(*"abcdef")
    other = await second_window(chat, new_page)
    await page.evaluate("document.scrollingElement.scrollTop = 50")
    await other.say("g")
    await expect(chat.button("to-end")).to_be_visible()
    assert await page.evaluate(AT) == 50


@pytest.mark.parametrize("width", [1280, 390])
async def test_case_95_the_message_whose_arrow_is_pressed_keeps_its_place(new_page: NewPage, width: int) -> None:
    page = await new_page(viewport={"width": width, "height": 700})
    chat = await Chat.begin(page)
    await chat.say("one", "two\n\n" * 30, "three")
    await chat.edit(2, "two, in short")
    for way, position in (("previous", 1), ("next", 2)):
        await chat.message(2).scroll_into_view_if_needed()
        top = await chat.message(2).evaluate(TOP)
        await chat.arrow(2, way).click()
        await chat.at(2, position)
        assert abs(await chat.message(2).evaluate(TOP) - top) < 2
        await expect(chat.button("to-end")).to_be_hidden()


async def test_a_reply_that_is_regenerated_in_the_middle_is_where_one_looks(page: Page) -> None:
    await page.set_viewport_size({"width": 1000, "height": 500})
    chat = await Chat.begin(page)
    await chat.say(*"abcdef")
    await chat.message(3).scroll_into_view_if_needed()
    await chat.regenerate(3)
    await expect(chat.message(3)).to_be_in_viewport()
    await expect(chat.messages).to_have_count(4)
