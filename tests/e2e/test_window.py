"""A long conversation: one sees its end, and scrolls to the rest. Cases 65 and 67 of the field log."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, Route, expect

from tests.e2e.conftest import COUNT_COMMANDS, NewPage
from tests.e2e.pages import Chat, post
from tests.e2e.server import Server

TURNS = 110
LENGTH = 2 * TURNS
WINDOW = range(171, LENGTH + 1)

SLOTS = "(places) => places.map((place) => Number(place.dataset.slot))"
# Scroll to here, and tell which message is then the first one in sight, and where it is.
SCROLL = """(to) => {
    document.scrollingElement.scrollTop = to;
    const places = [...document.querySelectorAll("[data-slot]")];
    const place = places.find((each) => each.getBoundingClientRect().bottom > 80);
    return [place.dataset.slot, place.getBoundingClientRect().top];
}"""
TOP = "(slot) => document.querySelector(`[data-slot='${slot}']`).getBoundingClientRect().top"
FROM_THE_END = "document.scrollingElement.scrollHeight - document.scrollingElement.scrollTop - innerHeight"


@dataclass(frozen=True)
class Long:
    """A conversation of so many turns, and the browser of the person who has it."""

    context: BrowserContext
    url: str
    thread_id: str


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def long(browser: Browser, server: Server) -> AsyncIterator[Long]:
    context = await browser.new_context(base_url=server.url, locale="en-US")
    context.set_default_timeout(10_000)
    await context.add_init_script(COUNT_COMMANDS)
    page = await context.new_page()
    await page.request.get("/")
    url = (await post(page, "/threads/", assistant="echo")).url
    await page.close()
    thread_id = url.rstrip("/").rpartition("/")[2]
    server.grow(thread_id, TURNS)
    yield Long(context, url, thread_id)
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def chat(long: Long, new_page: NewPage) -> AsyncIterator[Chat]:
    """It, as it was when it had grown, whatever a test does to it."""
    chat = await Chat.open(await new_page(long.context), long.url)
    head = await chat.main.get_attribute("data-head")
    yield chat
    fields = {
        each: await chat.page.locator(f"#composer [name={each}]").input_value() for each in ("head_version", "key")
    }
    await post(chat.page, f"{long.url}head/", checkpoint=head, **fields)


async def slots(page: Page) -> list[int]:
    return await page.locator("[data-slot]").evaluate_all(SLOTS)


async def scroll_up(page: Page) -> None:
    """Scroll until more has come; nothing that one sees has moved by it."""
    before = await slots(page)
    slot, top = await page.evaluate(SCROLL, 200)
    await expect(page.locator(f"[data-slot='{before[0] - 1}']")).to_be_attached()
    assert abs(await page.evaluate(TOP, slot) - top) < 2


async def up_to(page: Page, slot: int) -> None:
    """Scroll up until this message is on the page, and to it."""
    while slot not in await slots(page):
        await scroll_up(page)
    await page.locator(f"[data-slot='{slot}']").scroll_into_view_if_needed()


async def test_one_sees_the_end_and_scrolls_up_to_the_beginning(chat: Chat) -> None:
    assert await slots(chat.page) == list(WINDOW)
    assert await chat.page.evaluate(FROM_THE_END) < 2
    for _ in range(4):
        await scroll_up(chat.page)
    assert await slots(chat.page) == list(range(1, LENGTH + 1))
    await expect(chat.page.locator("[data-more]")).to_have_count(0)
    await expect(chat.message(0)).to_contain_text("question 1")


async def test_what_one_has_scrolled_up_to_stays_whatever_comes(chat: Chat) -> None:
    """A message and its reply from another tab; the window moves on, and nothing moves under the reader."""
    for _ in range(2):
        await scroll_up(chat.page)
    slot, top = await chat.page.evaluate(SCROLL, 1000)
    other = await Chat.open(await chat.page.context.new_page(), chat.page.url)
    await other.say(*(f"more {number}" for number in range(16)))
    await expect(chat.page.locator(f"[data-slot='{LENGTH + 32}'][data-state=done]")).to_be_attached()
    assert await slots(chat.page) == list(range(1, LENGTH + 33))[(await slots(chat.page))[0] - 1 :]
    assert abs(await chat.page.evaluate(TOP, slot) - top) < 2
    # Its buttons work: they are of the page as it is now.
    await chat.page.locator(f"[data-slot='{slot}'] [data-action=copy]").click()
    await other.page.close()


async def test_a_message_far_up_is_edited_and_its_arrow_keeps_it_in_place(chat: Chat) -> None:
    page, early = chat.page, chat.page.locator("[data-slot='41']")
    await up_to(page, 41)
    await early.locator("[data-action=edit]").click()
    box = early.locator("form[data-edit] textarea")
    await expect(box).to_be_focused()
    await box.fill("said otherwise")
    await early.locator("[data-action=save-edit]").click()
    await expect(early.locator("[data-content]")).to_have_text("said otherwise")
    await chat.done()
    assert await slots(page) == list(range(1, 43))

    await early.scroll_into_view_if_needed()
    top = await page.evaluate(TOP, "41")
    await early.locator("[data-action=previous-version]").click()
    await expect(early.locator("[data-content]")).to_have_text("question 21")
    await chat.quiet()
    await expect(page.locator(f"[data-slot='{LENGTH}']")).to_be_attached()
    assert abs(await page.evaluate(TOP, "41") - top) < 2
    await expect(early.locator("[data-versions]")).to_have_attribute("data-total", "2")
    assert await page.evaluate("document.activeElement.closest('[data-slot]').dataset.slot") == "41"

    # And to and fro, by keyboard.
    await page.keyboard.press("Alt+ArrowRight")
    await expect(early.locator("[data-content]")).to_have_text("said otherwise")
    await chat.quiet()
    await page.keyboard.press("Alt+ArrowLeft")
    await expect(early.locator("[data-content]")).to_have_text("question 21")
    await chat.quiet()
    await expect(early).to_be_in_viewport()


async def test_a_reply_far_up_is_regenerated(chat: Chat) -> None:
    await up_to(chat.page, 60)
    await chat.page.locator("[data-slot='60'] [data-action=regenerate]").click()
    await expect(chat.page.locator("[data-slot='60'] [data-versions]")).to_have_attribute("data-position", "2")
    await chat.done()
    assert (await slots(chat.page))[-1] == 60
    assert await chat.page.evaluate(FROM_THE_END) < 2


async def test_a_link_to_a_message_in_the_middle_leads_there_and_on_to_the_end(chat: Chat, long: Long) -> None:
    page = chat.page
    await up_to(page, 70)
    pk = await page.locator("[data-slot='70']").get_attribute("data-pk")
    await page.goto(f"{long.url}messages/{pk}/")
    await chat.connected()
    landed = page.locator("[data-slot='70']")
    await expect(landed).to_be_focused()
    await expect(landed).to_be_in_viewport()
    await expect(landed).to_have_attribute("data-landed", "")
    assert (await slots(page)) != list(range(1, LENGTH + 1)) and 70 in await slots(page)
    top = await page.evaluate(TOP, "70")
    await page.wait_for_timeout(300)  # whatever comes by the socket
    assert abs(await page.evaluate(TOP, "70") - top) < 2
    assert 80 < top < await page.evaluate("innerHeight") - 80

    while await page.locator("[data-action=later]").count():
        gap = page.locator("[data-action=later]")
        name = await gap.get_attribute("href")
        await gap.scroll_into_view_if_needed()
        await expect(page.locator(f"[data-action=later][href='{name}']")).to_have_count(0)
    seen = await slots(page)
    assert seen == list(range(seen[0], LENGTH + 1))


async def test_a_link_to_a_message_of_another_version_shows_that_version(chat: Chat, long: Long) -> None:
    await up_to(chat.page, 70)
    pk = await chat.page.locator("[data-slot='70']").get_attribute("data-pk")
    early = await chat.page.locator("[data-slot='60']").get_attribute("data-pk")
    await chat.page.locator("[data-slot='60'] [data-action=regenerate]").click()
    await chat.done()
    await chat.page.goto(f"{long.url}messages/{pk}/")
    await expect(chat.page.locator("[data-action=continue]")).to_be_visible()
    await expect(chat.page.locator("[data-landed]")).to_have_attribute("data-slot", "70")
    first = (await slots(chat.page))[0]
    await chat.page.evaluate(SCROLL, 0)
    await expect(chat.page.locator(f"[data-slot='{first - 1}']")).to_be_attached()
    await chat.page.locator("[data-action=continue]").click()
    await chat.connected()
    assert await slots(chat.page) == list(WINDOW)
    await chat.page.goto(f"{long.url}messages/{early}/")
    await expect(chat.page.locator("[data-landed]")).to_be_focused()


async def test_by_keyboard_alone(chat: Chat) -> None:
    """Tab leads back to the way up, and to where one has come."""
    page = chat.page
    await page.locator(f"[data-slot='{WINDOW[0]}']").focus()
    await page.keyboard.press("Shift+Tab")
    await page.keyboard.press("Enter")
    await expect(page.locator(f"[data-slot='{WINDOW[0] - 1}']")).to_be_attached()
    await expect(page.locator(f"[data-slot='{WINDOW[0] - 1}']")).to_be_focused()
    await page.keyboard.press("Tab")
    assert await page.evaluate("document.activeElement.closest('[data-slot]').dataset.slot") == str(WINDOW[0] - 1)


async def test_a_way_up_that_is_on_its_way_already_is_not_gone_twice(chat: Chat) -> None:
    """Scrolling to the link asks for what is above it; to press it before that has come asks nothing again."""
    asked: list[str] = []

    async def slowly(route: Route) -> None:
        asked.append(route.request.url)
        await asyncio.sleep(0.5)
        await route.continue_()

    page = chat.page
    await page.route("**/earlier/", slowly)
    await page.locator(f"[data-slot='{WINDOW[0]}']").focus()
    await page.keyboard.press("Shift+Tab")
    await expect(page.locator("[data-action=earlier]")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(page.locator(f"[data-slot='{WINDOW[0] - 1}']")).to_be_focused()
    await page.wait_for_timeout(800)
    assert len(asked) == len(set(asked))
    await expect(page.locator(f"[data-slot='{WINDOW[0] - 1}']")).to_be_focused()


async def test_without_javascript_the_way_up_is_a_page(long: Long, browser: Browser, server: Server) -> None:
    storage: Any = await long.context.storage_state()
    context = await browser.new_context(base_url=server.url, java_script_enabled=False, storage_state=storage)
    page = await context.new_page()
    await page.goto(long.url)
    await page.locator("[data-action=earlier]").click()
    await expect(page.locator("[data-landed]")).to_have_attribute("data-slot", str(WINDOW[0] - 1))
    await expect(page.locator("[data-landed]")).to_be_in_viewport()
    await page.locator("[data-action=earlier]").click()
    await expect(page.locator("[data-slot='130']")).to_be_attached()
    await context.close()


@pytest.mark.parametrize("slot", [LENGTH])
async def test_an_open_edit_box_far_up_is_left_alone_by_what_comes(chat: Chat, slot: int) -> None:
    await up_to(chat.page, 41)
    early = chat.page.locator("[data-slot='41']")
    await early.locator("[data-action=edit]").click()
    box = early.locator("form[data-edit] textarea")
    await box.fill("half a")
    other = await Chat.open(await chat.page.context.new_page(), chat.page.url)
    await other.say("from elsewhere")
    await other.page.close()
    await expect(chat.page.locator(f"[data-slot='{slot + 2}'][data-state=done]")).to_be_attached()
    await expect(box).to_have_value("half a")
    await expect(box).to_be_focused()
    await expect(chat.page.locator("[data-kept]")).to_have_count(0)
    await box.press("Enter")
    await expect(early.locator("[data-content]")).to_have_text("half a")
    await chat.done()
