"""Lines that break, pages that sleep, and people who go and come back while a reply is written. Cases 54, 55 and 85."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Page, expect

from tests.e2e.conftest import OUTAGE, NewPage
from tests.e2e.pages import Chat, Line, answered, post, second_window

ENDLESS = "/long 3000"
"""A reply that is stopped before its end."""
SHOW = """(shown) => {
    Object.defineProperty(document, "hidden", { value: !shown, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
}"""
GROWN = """(length) => {
    const live = document.querySelector("article[data-state=streaming] [data-content]");
    return live && live.textContent.replace(/\\s/g, "").length > length;
}"""


def letters(text: str) -> str:
    """The text without blanks, which a page puts between its blocks, and without the stars of emphasis still open."""
    return "".join(text.replace("*", "").split())


async def grown(chat: Chat, seen: list[str]) -> None:
    """Wait until there is more of the reply than was seen, and note it, but for its last words."""
    await chat.page.wait_for_function(GROWN, arg=len(seen[-1]) + 60 if seen else 60)
    [live] = await chat.live.all_text_contents()
    seen.append(letters(live)[:-20])


async def is_whole(chat: Chat, seen: list[str], state: str = "done") -> None:
    """The reply goes on from everything that was seen of it, stands there once, and is what is stored."""
    await chat.done()
    rows = await chat.rows()
    assert [(row.role, row.state) for row in rows] == [("human", "done"), ("ai", state)]
    assert all(letters(rows[1].text).startswith(part) for part in seen)
    await chat.reload()
    assert await chat.rows() == rows


async def test_case_54_a_reload_in_mid_stream_shows_the_text_so_far_and_then_the_rest(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.send(ENDLESS)
    seen: list[str] = []
    for _ in range(3):
        await grown(chat, seen)
        await chat.reload()
    await chat.stop()
    await is_whole(chat, seen, "stopped")


async def test_case_54_a_tab_that_is_closed_is_opened_again_in_the_middle_and_after_the_end(
    page: Page, new_page: NewPage
) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.send("/long 200")
    seen: list[str] = []
    await grown(chat, seen)
    url, context = page.url, page.context
    await page.close()
    back = await Chat.open(await new_page(context), url)
    await grown(back, seen)
    await back.page.close()
    await is_whole(await Chat.open(await new_page(context), url), seen)


async def test_five_cuts_in_one_reply_lose_nothing_and_double_nothing(page: Page, allowed_problems: list[str]) -> None:
    line = await Line.of(page)
    chat = await Chat.begin(page, "chat")
    allowed_problems.append(OUTAGE)
    await chat.send(ENDLESS)
    seen: list[str] = []
    for _ in range(5):
        await grown(chat, seen)
        await line.renew()
        await chat.connected()
    await grown(chat, seen)
    assert len(line.sockets) == 6
    await chat.stop()
    await is_whole(chat, seen, "stopped")


async def test_offline_one_is_told_so_and_online_everything_is_there(
    page: Page, new_page: NewPage, allowed_problems: list[str]
) -> None:
    line = await Line.of(page)
    chat = await Chat.begin(page, "chat")
    other = await second_window(chat, new_page)
    allowed_problems += [OUTAGE, "ERR_INTERNET_DISCONNECTED", "Failed to fetch"]
    line.is_down = True
    await page.context.set_offline(True)
    await line.cut()
    await expect(chat.main).to_have_attribute("data-connection", "offline")
    await expect(page.get_by_text("Offline", exact=True)).to_be_visible()
    await chat.composer.fill("/long 5")
    await chat.composer.press("Enter")
    await expect(page.get_by_text("The server could not be reached.")).to_be_visible()
    await expect(chat.composer).to_have_value("/long 5")
    await other.say("/long 40")
    line.is_down = False
    await page.context.set_offline(False)
    await chat.connected()
    await expect(page.get_by_text("Offline", exact=True)).to_be_hidden()
    await expect(chat.messages).to_have_count(2)
    assert await chat.rows() == await other.rows()
    await chat.composer.press("Enter")
    await expect(chat.humans).to_have_count(2)
    await chat.done()
    assert [row.text for row in await chat.rows() if row.role == "human"] == ["/long 40", "/long 5"]


async def test_a_change_of_network_makes_a_new_line(page: Page) -> None:
    """The old one may be dead and not know it."""
    line = await Line.of(page)
    chat = await Chat.begin(page)
    line.is_dead = True
    await post(page, f"{page.url}rename/", title="Another title")
    await page.context.set_offline(True)
    await page.context.set_offline(False)
    line.is_dead = False
    await expect(page.get_by_role("heading", level=1)).to_have_text("Another title")
    await chat.connected()
    assert len(line.sockets) == 2


async def test_case_54_a_phone_that_slept_for_two_minutes_shows_how_things_stand(page: Page) -> None:
    """Its line went dead meanwhile, and nobody told it."""
    line = await Line.of(page)
    await page.clock.install()
    chat = await Chat.begin(page, "chat")
    await chat.send("/long 60")
    seen: list[str] = []
    await grown(chat, seen)
    line.is_dead = True
    await _written(page)
    await expect(chat.live).to_have_count(1)
    line.is_dead = False
    await page.clock.fast_forward("02:00")
    await chat.done()
    assert len(line.sockets) == 2
    await is_whole(chat, seen)


async def test_a_hidden_tab_that_is_put_to_sleep_catches_up(page: Page) -> None:
    line = await Line.of(page)
    chat = await Chat.begin(page, "chat")
    await chat.send("/long 100")
    seen: list[str] = []
    await grown(chat, seen)
    browser = await page.context.new_cdp_session(page)
    await page.evaluate(SHOW, False)
    await browser.send("Page.setWebLifecycleState", {"state": "frozen"})
    await _written(page)
    await browser.send("Page.setWebLifecycleState", {"state": "active"})
    await page.evaluate(SHOW, True)
    await chat.done()
    assert len(line.sockets) == 1, "a short look away needs no new line"
    await is_whole(chat, seen)


async def test_case_55_between_two_threads_no_word_goes_astray(page: Page) -> None:
    first = await Chat.begin(page, "chat")
    await first.say("/long 5")
    url = page.url
    second = await Chat.begin(page)
    await second.say("b")
    await page.go_back()
    await page.wait_for_url(url)
    await first.connected()
    await first.send(ENDLESS)
    seen: list[str] = []
    for said in (["b", "c"], ["b", "c", "d"]):
        await grown(first, seen)
        await page.locator("a[data-thread-link]", has_text="b").click()
        await second.connected()
        await second.say(said[-1])
        await expect(second.texts).to_have_text(answered(*said))
        await (page.go_back() if len(said) == 2 else page.locator("a[data-thread-link]", has_text="/long 5").click())
        await page.wait_for_url(url)
        await first.connected()
    await first.stop()
    assert [row.state for row in await first.rows()] == ["done", "done", "done", "stopped"]
    reply = letters(await first.text(3))
    assert [part for part in seen if not reply.startswith(part)] == [], reply


@pytest.mark.parametrize("code", [1000, 1011, 4001])
async def test_case_85_a_line_that_the_server_closes_is_told_and_renewed(
    page: Page, allowed_problems: list[str], code: int
) -> None:
    """A code that nobody knows is told, and not tried again."""
    line = await Line.of(page)
    chat = await Chat.begin(page)
    allowed_problems.append(OUTAGE)
    line.is_down = True
    await line.cut(code)
    state = "offline" if code == 4001 else "reconnecting"
    await expect(chat.main).to_have_attribute("data-connection", state)
    await expect(page.get_by_text(state.capitalize(), exact=True)).to_be_visible()
    await post(page, f"{page.url}rename/", title="Another title")
    line.is_down = False
    if code != 4001:
        await chat.connected()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Another title")


async def _written(page: Page) -> None:
    """Wait until nothing runs on the page's thread, without looking at the page."""
    while 'data-run-state="running"' in await (await page.request.get(page.url)).text():  # noqa: ASYNC110
        await asyncio.sleep(0.2)
