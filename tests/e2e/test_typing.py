"""What one is writing is left alone, whatever else the thread does. Case 83 of the field log."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.e2e.conftest import OUTAGE, NewPage
from tests.e2e.pages import Chat, answered, second_window
from tests.e2e.server import Server

DRAFT = "\n".join(f"line {number} of a draft" for number in range(40))
SELECT = """(field) => {
    field.focus();
    field.setSelectionRange(7, 19, "backward");
    field.scrollTop = 33;
}"""
STATE = """(field) => ({
    text: field.value,
    selection: [field.selectionStart, field.selectionEnd, field.selectionDirection],
    scroll: field.scrollTop,
    focused: field === document.activeElement,
})"""


async def write(field: Locator) -> dict[str, Any]:
    """Half a text, with some of it selected and scrolled: what must be found again."""
    await field.fill(DRAFT)
    await field.evaluate(SELECT)
    state = await field.evaluate(STATE)
    assert state["selection"] == [7, 19, "backward"] and state["scroll"] == 33 and state["focused"]
    return state


async def test_case_83_a_draft_is_left_alone_while_a_reply_streams(page: Page, new_page: NewPage) -> None:
    chat = await Chat.begin(page, "chat")
    other = await second_window(chat, new_page)
    state = await write(chat.composer)
    await other.send("/long 100")
    await expect(chat.live).not_to_be_empty()
    assert await chat.composer.evaluate(STATE) == state
    await chat.done()
    assert await chat.composer.evaluate(STATE) == state


async def test_case_83_an_edit_box_is_left_alone_while_a_reply_streams(page: Page, new_page: NewPage) -> None:
    chat = await Chat.begin(page, "chat")
    other = await second_window(chat, new_page)
    await chat.say("/long 5")
    state = await write(await chat.open_edit(0))
    await other.send("/long 100")
    await expect(chat.live).not_to_be_empty()
    assert await chat.edit_boxes.evaluate(STATE) == state
    await chat.done()
    assert await chat.edit_boxes.evaluate(STATE) == state


async def test_case_83_a_draft_and_an_edit_box_are_left_alone_by_an_arrow(page: Page, new_page: NewPage) -> None:
    chat = await Chat.begin(page)
    other = await second_window(chat, new_page)
    await chat.say("a", "b")
    await chat.regenerate(3)
    await chat.composer.fill("a draft")
    state = await write(await chat.open_edit(0))
    await other.step(3, "previous")
    await chat.at(3, 1)
    assert await chat.edit_boxes.evaluate(STATE) == state
    await expect(chat.composer).to_have_value("a draft")


async def test_case_83_an_edit_box_whose_message_goes_leaves_its_text(page: Page, new_page: NewPage) -> None:
    chat = await Chat.begin(page)
    other = await second_window(chat, new_page)
    await chat.say("a", "b")
    await other.regenerate(1)
    await chat.step(1, "previous")
    await (await chat.open_edit(2)).fill("what I had in mind")
    await other.step(1, "next")
    await expect(chat.texts).to_have_text(answered("a"))
    await expect(page.get_by_text("what I had in mind")).to_be_visible()


async def test_case_83_a_reconnection_takes_nothing(
    server: Server, page: Page, new_page: NewPage, allowed_problems: list[str]
) -> None:
    chat = await Chat.begin(page)
    other = await second_window(chat, new_page)
    await chat.say("a")
    draft = await write(chat.composer)
    await other.open_edit(0)
    edit = await write(other.edit_boxes)
    allowed_problems.append(OUTAGE)
    server.stop()
    await expect(chat.main).to_have_attribute("data-connection", "reconnecting")
    await expect(page.get_by_text("Reconnecting")).to_be_visible()
    server.start()
    await chat.connected()
    await other.connected()
    third = await second_window(chat, new_page)
    await third.say("b")  # both have the news: they are in step again
    await expect(chat.texts).to_have_text(answered("a", "b"))
    await expect(other.texts).to_have_text(answered("a", "b"))
    assert await chat.composer.evaluate(STATE) == draft
    assert await other.edit_boxes.evaluate(STATE) == edit


async def test_case_83_a_word_that_is_being_composed_is_left_alone(page: Page, new_page: NewPage) -> None:
    chat = await Chat.begin(page, "chat")
    other = await second_window(chat, new_page)
    await chat.composer.focus()
    await page.evaluate("window.ends = 0; addEventListener('compositionend', () => ends++)")
    keyboard = await page.context.new_cdp_session(page)
    await keyboard.send("Input.imeSetComposition", {"text": "にほ", "selectionStart": 2, "selectionEnd": 2})
    await other.send("/long 60")
    await chat.done()
    assert await page.evaluate("ends") == 0
    await keyboard.send("Input.insertText", {"text": "日本"})
    await expect(chat.composer).to_have_value("日本")


async def test_case_83_two_open_edits_and_a_draft_keep_apart_while_a_reply_streams(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 5")
    await chat.send("/long 60")
    await (await chat.open_edit(0)).fill("first")
    await (await chat.open_edit(2)).fill("second")
    await chat.composer.fill("draft")
    await chat.done()
    assert [await box.input_value() for box in await chat.edit_boxes.all()] == ["first", "second"]
    await expect(chat.composer).to_have_value("draft")


async def test_a_draft_survives_a_reload_and_belongs_to_its_thread(page: Page) -> None:
    chat = await Chat.begin(page)
    url = page.url
    await chat.composer.fill("half a thought")
    await chat.reload()
    await expect(chat.composer).to_have_value("half a thought")
    await expect((await Chat.begin(page)).composer).to_have_value("")
    await expect((await Chat.open(page, url)).composer).to_have_value("half a thought")


async def test_what_is_typed_while_a_message_is_on_its_way_stays(page: Page) -> None:
    chat = await Chat.begin(page)
    await page.route("**/messages/", lambda route: _type_then_go_on(chat, route))
    await chat.composer.fill("a")
    await chat.composer.press("Enter")
    await expect(chat.texts).to_have_text(answered("a"))
    await expect(chat.composer).to_have_value(" and b")


async def test_a_message_from_a_page_that_missed_a_change_is_given_back(
    page: Page, allowed_problems: list[str]
) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await page.locator("[data-composer] [name=head_version]").evaluate("(field) => { field.value = 0; }")
    await chat.composer.fill("b")
    await chat.composer.press("Enter")
    allowed_problems.append("status of 409")
    await expect(page.get_by_role("alert").get_by_text("The conversation moved on elsewhere.")).to_be_visible()
    await expect(chat.composer).to_have_value("b")
    await chat.composer.press("Enter")
    await expect(chat.texts).to_have_text(answered("a", "b"))
    await expect(page.get_by_role("alert")).to_have_count(0)


async def _type_then_go_on(chat: Chat, route: Any) -> None:
    await chat.composer.press_sequentially(" and b")
    await route.continue_()
