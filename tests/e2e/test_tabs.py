"""One thread in several tabs and browsers. The numbers are those of the field log."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, Line, answered, log_in, post, second_window, sign_up


async def test_case_7_another_browser_is_told_of_a_new_version(page: Page, other_page: Page) -> None:
    name = await sign_up(page)
    chat = await Chat.begin(page)
    await chat.say("a")
    await log_in(other_page, name)
    other = await Chat.open(other_page, page.url)
    await chat.regenerate(1)
    await other.at(1, 2)
    await other.done()
    assert await other.rows() == await chat.rows()
    await other.step(1, "previous")
    await chat.at(1, 1)


async def test_a_reply_grows_in_all_tabs_and_in_one_that_comes_late(page: Page, new_page: NewPage) -> None:
    chat = await Chat.begin(page, "chat")
    early = await second_window(chat, new_page)
    await chat.send("/long 2000")
    await expect(early.live).not_to_be_empty()
    late = await second_window(chat, new_page)
    await expect(late.live).not_to_be_empty()
    await chat.reload()
    await expect(chat.live).not_to_be_empty()
    await early.stop()
    for tab in (chat, early, late):
        await tab.done()
    rows = await chat.rows()
    assert [(row.role, row.state) for row in rows] == [("human", "done"), ("ai", "stopped")]
    assert await early.rows() == await late.rows() == rows


async def test_cases_33_and_41_leaving_a_reply_neither_cuts_nor_mixes_nor_moves_it(
    page: Page, new_page: NewPage
) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.send("/long 300")
    await expect(chat.live.locator("p").nth(1)).to_be_visible()
    await chat.stop()
    first = await chat.text(1)
    other = await second_window(chat, new_page)
    await chat.start_regenerating(1)
    await expect(other.live).not_to_be_empty()
    await other.arrow(1, "previous").press("Enter")  # a mouse would have to catch it: the page follows the reply
    for tab in (chat, other):
        await expect(tab.page.get_by_text("A reply is being written on another version.")).to_be_visible()
        assert await tab.text(1) == first
    for tab in (chat, other):
        await expect(tab.page.get_by_text("The other version is ready.")).to_be_visible()
        await expect(tab.main).to_have_attribute("data-run-state", "idle")
        assert [(row.text, row.versions) for row in await tab.rows()] == [("/long 300", ""), (first, "1/2")]
    await chat.step(1, "next")
    second = await chat.rows()
    assert second[1].state == "done" and second[1].text != first and len(second[1].text.split()) > 300
    await other.at(1, 2)
    await expect(chat.page.get_by_text("The other version is ready.")).to_be_hidden()


async def test_case_33_a_window_that_is_behind_is_refused_and_may_wait_or_stop(
    page: Page, new_page: NewPage, allowed_problems: list[str]
) -> None:
    """Its page does not know yet that the other has sent something."""
    line = await Line.of(page)
    chat = await Chat.begin(page, "chat")
    other = await second_window(chat, new_page)
    allowed_problems.append("status of 409")
    line.is_dead = True
    await other.send("/long 3000")
    await expect(chat.messages).to_have_count(0)
    await chat.composer.fill("mine")
    await chat.composer.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("Wait for it or stop it, then try again.")
    await expect(chat.composer).to_have_value("mine")
    line.is_dead = False
    await chat.stop()
    await chat.say("mine")
    assert [row.text for row in await chat.rows() if row.role == "human"] == ["/long 3000", "mine"]


async def test_case_33_two_tabs_that_send_at_once_lose_nothing(
    page: Page, new_page: NewPage, allowed_problems: list[str]
) -> None:
    chat = await Chat.begin(page)
    other = await second_window(chat, new_page)
    allowed_problems.append("status of 409")
    for tab, text in ((chat, "from the first"), (other, "from the second")):
        await tab.composer.fill(text)
    await chat.composer.press("Enter")
    await other.composer.press("Enter")
    await chat.done()
    await other.done()
    said = [row.text for row in await chat.rows() if row.role == "human"]
    kept = [await tab.composer.input_value() for tab in (chat, other)]
    assert sorted([*said, *filter(None, kept)]) == ["from the first", "from the second"]


async def test_stop_works_from_any_tab(page: Page, new_page: NewPage) -> None:
    chat = await Chat.begin(page, "chat")
    other = await second_window(chat, new_page)
    await chat.send("/long 600")
    await expect(other.live).not_to_be_empty()
    await other.stop()
    for tab in (chat, other):
        await expect(tab.message(1)).to_have_attribute("data-state", "stopped")
        await expect(tab.main).to_have_attribute("data-run-state", "idle")


async def test_an_undo_in_one_tab_shows_in_the_other(page: Page, new_page: NewPage) -> None:
    chat = await Chat.begin(page)
    other = await second_window(chat, new_page)
    await chat.say("a", "b")
    await other.undo()
    await expect(chat.texts).to_have_text(answered("a"))


async def test_a_rename_in_one_window_shows_in_the_other(page: Page, new_page: NewPage) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    other = await second_window(chat, new_page)
    await post(page, f"{page.url}rename/", title="The plan")
    for tab in (chat, other):
        await expect(tab.page.get_by_role("heading", level=1)).to_have_text("The plan")
        await expect(tab.page.locator("a[data-thread-link]")).to_have_text("The plan")


async def test_a_deletion_in_one_window_is_told_in_the_other(page: Page, new_page: NewPage) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    other = await second_window(chat, new_page)
    await post(page, f"{page.url}delete/")
    await expect(other.main).to_have_attribute("data-connection", "offline")
    await expect(other.page.get_by_text("This conversation was deleted.")).to_be_visible()
    await other.page.get_by_role("link", name="Go to the other conversations").click()
    await expect(other.page.locator("a[data-thread-link]")).to_have_count(0)
