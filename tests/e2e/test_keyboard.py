"""Everything without a mouse. The numbers are those of the field log."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Page, Route, WebSocketRoute, expect

from tests.e2e.pages import Chat, answered, posts

IN_FOCUS = "(selector) => document.activeElement.matches(selector)"
# A key that an input method has taken: by the standard's flag, or by the old code, which is all that Safari gives.
COMPOSING = {"isComposing": True}, {"keyCode": 229}
PRESS_ENTER = """(field, how) => {
    const event = new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true, ...how});
    return field.dispatchEvent(event);  // whether it would still choose the word
}"""


async def tab_to(page: Page, selector: str, key: str = "Tab") -> None:
    """Press Tab until what `selector` names has the focus."""
    for _ in range(60):
        await page.keyboard.press(key)
        if await page.evaluate(IN_FOCUS, selector):
            return
    raise AssertionError(f"{key} does not lead to {selector}")


async def test_the_main_way_by_keyboard(page: Page) -> None:
    await page.goto("/")
    await tab_to(page, "select[name=assistant]")
    await page.keyboard.type("Echo")
    await tab_to(page, "[data-action=new-thread]")
    await page.keyboard.press("Enter")
    chat = Chat(page)
    await chat.connected()

    await tab_to(page, "form[data-composer] textarea")
    await page.keyboard.type("a")
    await page.keyboard.press("Enter")
    await chat.done()
    await page.keyboard.type("b")  # the focus has stayed in the composer
    await page.keyboard.press("Enter")
    await expect(chat.texts).to_have_text(answered("a", "b"))
    await chat.done()

    await tab_to(page, "[data-action=regenerate]", "Shift+Tab")
    await page.keyboard.press("Enter")
    await chat.at(3, 2)
    await chat.done()
    await page.keyboard.press("Alt+ArrowLeft")
    await chat.at(3, 1)
    await page.keyboard.press("Alt+ArrowRight")
    await chat.at(3, 2)

    await tab_to(page, "[data-slot='1'] [data-action=edit]", "Shift+Tab")
    await page.keyboard.press("Enter")
    await expect(chat.edit_boxes).to_be_focused()
    await page.keyboard.press("Control+a")
    await page.keyboard.type("A")
    await page.keyboard.press("Enter")
    await expect(chat.texts).to_have_text(answered("A"))
    await chat.done()
    assert await page.evaluate(IN_FOCUS, "[data-slot='1'], [data-slot='1'] *")
    await page.keyboard.press("Alt+ArrowLeft")
    await expect(chat.texts).to_have_text(answered("a", "b"))

    await tab_to(page, "[data-action=undo]")
    await page.keyboard.press("Enter")
    await expect(chat.texts).to_have_text(answered("A"))


async def test_a_reply_is_stopped_and_had_again_by_keyboard(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.send("/long 600")
    await expect(chat.live).not_to_be_empty()
    await tab_to(page, "[data-action=stop]")
    await page.keyboard.press("Enter")
    await expect(chat.message(1)).to_have_attribute("data-state", "stopped")
    await expect(chat.composer).to_be_focused()
    await page.keyboard.type("/fail 1")
    await page.keyboard.press("Enter")
    await expect(chat.button("retry")).to_be_visible()
    await tab_to(page, "[data-action=retry]", "Shift+Tab")
    await page.keyboard.press("Enter")
    await chat.done()
    assert [row.state for row in await chat.rows()] == ["done", "stopped", "done", "done"]


async def test_case_97_the_focus_stays_on_the_arrow(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await chat.regenerate(1, times=3)
    await chat.arrow(1, "previous").focus()
    for position in (3, 2):
        await page.keyboard.press("Enter")
        await chat.at(1, position)
        await expect(page.get_by_role("button", name=f"Previous version, {position} of 4")).to_be_focused()
    await page.keyboard.press("Enter")
    await chat.at(1, 1)
    await expect(page.get_by_role("button", name="Next version, 1 of 4")).to_be_focused()
    await page.keyboard.press("Space")
    await chat.at(1, 2)
    await expect(page.get_by_role("button", name="Next version, 2 of 4")).to_be_focused()


@pytest.mark.parametrize("first", ["answer", "socket"])
async def test_the_focus_stays_in_the_message_that_one_has_edited(page: Page, first: str) -> None:
    """The answer to a command and the socket both bring the new transcript, in any order."""
    chat = await Chat.begin(page)
    await chat.say("a")
    if first == "answer":
        await page.route_web_socket("**/ws/**", _silence)
        await chat.reload()
    else:
        await page.route("**/edit/", _answer_late)
    box = await chat.open_edit(0)
    await box.fill("b")
    await box.press("Enter")
    await chat.at(0, 2)
    await expect(chat.message(0)).to_be_focused()


async def test_alt_and_an_arrow_belong_to_the_text_while_one_writes(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await chat.regenerate(1)
    sent = posts(page)
    await chat.composer.fill("two words")
    await chat.composer.press("Alt+ArrowLeft")
    await (await chat.open_edit(0)).press("Alt+ArrowLeft")
    await page.keyboard.press("Escape")
    assert sent == [] and await chat.versions() == ["", "2/2"]


async def test_enter_sends_and_shift_enter_breaks_the_line(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.composer.press("Enter")  # nothing to send
    await chat.composer.type("one")
    await chat.composer.press("Shift+Enter")
    await chat.composer.type("two")
    await expect(chat.composer).to_have_value("one\ntwo")
    await chat.composer.press("Enter")
    await chat.done()
    assert (await chat.rows())[0].text == "one\ntwo"
    await expect(chat.composer).to_have_value("")
    box = await chat.open_edit(0)
    await box.press("Shift+Enter")
    await box.type("three")
    await box.press("Enter")
    await chat.at(0, 2)
    assert (await chat.rows())[0].text == "one\ntwo\nthree"
    await chat.done()


@pytest.mark.parametrize("how", COMPOSING, ids=["isComposing", "keyCode"])
async def test_case_90_enter_that_chooses_a_word_does_not_send(page: Page, how: dict[str, object]) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    sent = posts(page)
    await chat.composer.fill("にほん")
    assert await chat.composer.evaluate(PRESS_ENTER, how)
    await expect(chat.composer).to_have_value("にほん")
    box = await chat.open_edit(0)
    await box.fill("中文")
    assert await box.evaluate(PRESS_ENTER, how)
    await expect(box).to_have_value("中文")
    await page.keyboard.press("Escape")
    assert sent == []
    await chat.composer.press("Enter")  # the very next one does
    await expect(chat.humans).to_have_count(2)
    await chat.done()


def _silence(socket: WebSocketRoute) -> None:
    """Let nothing through that the server sends."""
    socket.connect_to_server().on_message(lambda message: None)


async def _answer_late(route: Route) -> None:
    answer = await route.fetch()
    await asyncio.sleep(0.5)
    await route.fulfill(response=answer)
