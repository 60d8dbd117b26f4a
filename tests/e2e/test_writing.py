"""What helps one write: the last message again, the shortcuts, and limits that are told before one meets them."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.e2e.axe import Axe
from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, answered, credentials, post, posts, second_window
from tests.e2e.test_concierge import ENGLISH, Desk
from tests.e2e.test_storage import WIDE

MOST = 100_000
LONG = f"{'some words ' * 7}.\n" * 2_500
WATCH = """() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) longest = Math.max(longest, duration);
    }).observe({ type: "longtask" });
}"""


async def test_up_in_an_empty_composer_edits_the_last_own_message(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.composer.press("ArrowUp")  # there is none yet
    await chat.say("a", "b")
    await chat.composer.fill("half")
    await chat.composer.press("ArrowUp")
    await expect(chat.edit_boxes).to_have_count(0)
    await chat.composer.fill("")
    await chat.composer.press("ArrowUp")
    await expect(chat.edit_boxes).to_be_focused()
    await expect(chat.edit_boxes).to_have_value("b")
    await chat.edit_boxes.fill("b, or so")
    await chat.composer.focus()
    await chat.composer.press("ArrowUp")  # the same box, with what is in it
    await expect(chat.edit_boxes).to_be_focused()
    await expect(chat.edit_boxes).to_have_value("b, or so")
    await page.keyboard.press("Enter")
    await chat.at(2, 2)
    await expect(chat.texts).to_have_text(answered("a", "b, or so"))


async def test_the_sheet_of_shortcuts(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    await chat.composer.press("?")
    await expect(chat.composer).to_have_value("?")
    await expect(sheet).to_be_hidden()
    await chat.message(1).focus()
    await page.keyboard.press("?")
    await expect(sheet).to_be_visible()
    assert not await Axe(page).all_violations()
    await page.keyboard.press("Escape")
    await expect(sheet).to_be_hidden()
    await expect(chat.message(1)).to_be_focused()
    await chat.button("shortcuts").click()
    await expect(sheet).to_be_visible()
    await sheet.get_by_role("button", name="Close").click()
    await expect(sheet).to_be_hidden()
    await expect(chat.button("shortcuts")).to_be_focused()


async def test_without_javascript_there_are_no_shortcuts_to_tell_of(page: Page, browser: Browser) -> None:
    await Chat.begin(page)
    context = await browser.new_context(java_script_enabled=False, storage_state=await page.context.storage_state())
    plain = await context.new_page()
    await plain.goto(page.url)
    await expect(plain.locator("[data-action=shortcuts]")).to_be_hidden()
    await expect(plain.locator("[data-shortcuts]")).to_be_hidden()
    await context.close()


async def test_case_89_a_long_text_is_pasted_without_a_freeze_and_its_limit_told_before_it_is_sent(page: Page) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    chat = await Chat.begin(page)
    room = page.locator("#composer-room")
    await chat.composer.fill("short")
    await expect(room).to_be_hidden()
    await chat.composer.fill("")
    await page.evaluate("(text) => navigator.clipboard.writeText(text)", LONG)
    await page.evaluate(WATCH)
    await chat.composer.focus()
    await page.keyboard.press("Control+v")
    await expect(room).to_have_text(f"Too long to be sent. Characters too many: {len(LONG) - 1 - MOST:,}")
    await page.keyboard.type("more")
    await expect(chat.composer).to_have_value(f"{LONG}more")
    assert await page.evaluate("longest") < 1_000
    sent = posts(page)
    await chat.button("send").click()
    await chat.composer.press("Enter")
    await expect(chat.composer).to_be_focused()
    assert sent == []
    await chat.reload()
    await expect(room).to_be_visible()  # the draft, and its limit, are there again
    await chat.composer.fill("x" * (MOST - 5))
    await expect(room).to_have_text("Characters left: 5")
    await chat.composer.fill("💡" * MOST)  # characters, whatever JavaScript takes for one
    await expect(room).to_have_text("Characters left: 0")
    await chat.composer.fill("b")
    await expect(room).to_be_hidden()
    await chat.say("b")


async def test_an_edit_has_the_same_limit(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    box = await chat.open_edit(0)
    await box.fill("y" * (MOST + 1))
    await expect(page.locator("[data-edit] [data-room]")).to_have_text("Too long to be sent. Characters too many: 1")
    sent = posts(page)
    await chat.button("save-edit", 0).click()
    await page.keyboard.press("Escape")
    await expect(chat.edit_boxes).to_have_count(0)
    assert sent == []


async def test_the_server_tells_the_limit_too(page: Page) -> None:
    chat = await Chat.begin(page)
    answer = await post(page, f"{page.url}messages/", content="z" * (MOST + 1))
    assert answer.status == 422
    assert "At most 100,000 characters can be sent." in await answer.text()
    assert await chat.rows() == []


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
async def test_case_91_enter_is_a_new_line_on_a_touch_keyboard(new_page: NewPage, locale: str) -> None:
    page = await new_page(has_touch=True, is_mobile=True, viewport={"width": 390, "height": 844}, locale=locale)
    chat = await Chat.begin(page)
    await chat.composer.type("one")
    await chat.composer.press("Enter")
    await chat.composer.type("two")
    await expect(chat.composer).to_have_value("one\ntwo")
    await chat.composer.press("Control+Enter")
    await chat.done()
    assert (await chat.rows())[0].text == "one\ntwo"
    await chat.regenerate(1)
    await chat.arrow(1, "previous").tap()  # no hover is needed
    await chat.at(1, 1)
    await expect(page.locator("meta[content*='interactive-widget=resizes-content']")).to_be_attached()
    await page.set_viewport_size({"width": 390, "height": 400})  # as a soft keyboard leaves it
    await expect(chat.composer).to_be_in_viewport()
    await expect(chat.button("send")).to_be_in_viewport()


@pytest.mark.parametrize("width", [1280, 390])
async def test_case_89_one_word_of_50_kb_breaks_neither_the_page_nor_what_one_types(
    new_page: NewPage, width: int
) -> None:
    page = await new_page(viewport={"width": width, "height": 800})
    chat = await Chat.begin(page)
    await chat.send("w" * 50_000)
    await expect(chat.live).not_to_be_empty()  # it comes back, little by little
    await page.evaluate(WATCH)
    await chat.composer.press_sequentially("still here")
    await expect(chat.composer).to_have_value("still here")
    assert not await page.evaluate(WIDE)
    assert await page.evaluate("longest") < 1_000
    await chat.stop()


async def test_what_was_to_be_changed_with_a_yes_is_kept_when_another_tab_answers(
    page: Page, new_page: NewPage
) -> None:
    desk = await Desk.begin(page, "concierge")
    await desk.ask(ENGLISH.suite)
    await page.locator("[data-question] summary").click()
    await page.locator("[name=argument-nights]").fill("5")
    await page.locator("[name=argument-room_type]").select_option("standard")
    other = await second_window(desk, new_page)
    await other.page.locator("[data-action=reject]").click()
    await expect(page.locator("[data-kept]")).to_contain_text("Nights: 5")
    await expect(page.locator("[data-kept]")).to_contain_text("Standard")


async def test_a_reason_in_one_card_is_kept_when_it_goes_while_one_answers_another(
    page: Page, allowed_problems: list[str]
) -> None:
    """Somebody else rejects all; one's own yes to the first is under way, and comes too late."""
    allowed_problems.append("status of 409")
    desk = await Desk.begin(page, "concierge")
    await desk.send(f"{ENGLISH.suite} and the standard room in City Wall Inn")
    await expect(desk.questions).to_have_count(2)
    await page.locator("[data-question] [name=reason]").nth(1).fill("half a rea")
    form = page.locator("form:has([data-action=reject-all])")
    sent = await form.evaluate("(form) => new URLSearchParams(new FormData(form)).toString()")
    where = await form.get_attribute("action") or ""

    came_late = asyncio.Event()

    async def answer_late(route: Route) -> None:
        token, _ = await credentials(page)
        headers = {"X-CSRFToken": token, "Content-Type": "application/x-www-form-urlencoded"}
        await page.request.post(where, data=sent, headers=headers)
        await expect(desk.questions).to_have_count(0)
        await route.continue_()
        came_late.set()

    await page.route("**/answer/", answer_late)
    await desk.button("approve").first.click()
    await expect(page.locator("[data-kept]")).to_have_text("half a rea")
    await asyncio.wait_for(came_late.wait(), timeout=10)
