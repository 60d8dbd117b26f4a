"""Stop, errors, and requests that come twice or not at all. The numbers are those of the field log."""

from __future__ import annotations

import asyncio
import time
from urllib.parse import urlencode, urlsplit

import pytest
from playwright.async_api import Page, Route, WebSocketRoute, expect

from tests.e2e.conftest import OUTAGE, NewPage
from tests.e2e.pages import Chat, answered, credentials, post, posts
from tests.e2e.server import Server

TROUBLE = "The model's provider reported an error. Your message is kept."


async def stopped_midway(page: Page) -> tuple[Chat, str]:
    """A thread whose reply was stopped, and what one had read of it by then."""
    chat = await Chat.begin(page, "chat")
    await chat.send("/long 600")
    await expect(chat.live.locator("p").nth(2)).to_be_visible()
    read = (await chat.live.inner_text()).split()
    started = time.monotonic()
    await chat.stop()
    assert time.monotonic() - started < 1.5
    return chat, " ".join(read[:-1])


async def test_case_47_stop_keeps_what_was_there_to_read(page: Page) -> None:
    chat, read = await stopped_midway(page)
    assert [(row.role, row.state) for row in await chat.rows()] == [("human", "done"), ("ai", "stopped")]
    await expect(chat.message(1).get_by_text("Stopped")).to_be_visible()
    await expect(chat.main).to_have_attribute("data-run-state", "idle")
    kept = await chat.message(1).locator("[data-content]").inner_text()
    assert len(read.split()) > 20 and " ".join(kept.split()).startswith(read)
    await chat.reload()
    assert [(row.role, row.state) for row in await chat.rows()] == [("human", "done"), ("ai", "stopped")]
    assert await chat.message(1).locator("[data-content]").inner_text() == kept


async def test_case_47_a_stopped_reply_is_a_version_like_any_other(page: Page) -> None:
    chat, _ = await stopped_midway(page)
    stopped = await chat.text(1)
    await chat.say("/long 5")
    assert [row.state for row in await chat.rows()] == ["done", "stopped", "done", "done"]
    await chat.start_regenerating(1)
    await expect(chat.live).not_to_be_empty()  # stopped before its first word it would be no version
    await chat.stop()
    assert await chat.versions() == ["", "2/2"]
    await chat.step(1, "previous")
    assert await chat.versions() == ["", "1/2", "", ""]
    assert await chat.text(1) == stopped


async def test_a_reply_stopped_before_its_first_word_can_be_had_later(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.send("/slow")
    await chat.stop()
    await expect(page.get_by_text("This reply was stopped before its first word.")).to_be_visible()
    await chat.reload()
    await chat.retry()
    await expect(chat.live).to_be_visible()
    await chat.done()
    assert len(await chat.rows()) == 2


async def test_case_51_stop_is_there_exactly_while_a_reply_is_written(page: Page) -> None:
    """While it is written, when it is done or has failed, in a regeneration of it, and after a stop."""
    chat = await Chat.begin(page, "chat")
    await _can_send(chat)
    await chat.send("/long 60")
    await _can_stop(chat)
    await chat.done()
    await _can_send(chat)
    await chat.send("/fail 1")
    await expect(chat.button("retry")).to_be_visible()
    await _can_send(chat)
    await chat.retry()
    await chat.done()
    await chat.send("/long 600")
    await _can_stop(chat)
    await chat.stop()
    await _can_send(chat)
    await chat.start_regenerating(5)
    await _can_stop(chat)
    await chat.stop()
    await chat.say("/long 5")
    await _can_send(chat)


async def _can_send(chat: Chat) -> None:
    await expect(chat.button("send")).to_be_visible()
    await expect(chat.button("stop")).to_have_count(0)


async def _can_stop(chat: Chat) -> None:
    await expect(chat.button("stop")).to_be_visible()
    await expect(chat.button("send")).to_have_count(0)


async def test_case_43_an_edit_while_a_reply_is_written_waits_for_its_end(
    page: Page, allowed_problems: list[str]
) -> None:
    """Of the message that is being answered, and of an earlier one: refused with the rule, the text kept in its box."""
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 5")
    await chat.send("/long 600")
    await expect(chat.live).not_to_be_empty()
    await chat.reload()  # only now the message that was just sent can be edited
    allowed_problems.append("status of 409")
    for number in (2, 0):
        await chat.button("edit", number).press("Enter")  # a mouse would have to catch it: the page follows the reply
        box = chat.message(number).locator("form[data-edit] textarea")
        await box.fill("/long 6")
        await box.press("Control+Enter")
        await expect(chat.message(number).get_by_role("alert")).to_contain_text("Wait for it or stop it")
        await expect(chat.live).to_have_count(1)
        await expect(chat.messages).to_have_count(4)
    await chat.stop()
    stopped = await chat.text(3)
    await chat.button("save-edit", 2).click()
    await expect(chat.texts.nth(2)).to_have_text("/long 6")
    await chat.done()
    assert await chat.versions() == ["", "", "2/2", ""]
    await chat.step(2, "previous")
    assert (await chat.rows())[3][2:4] == ("stopped", stopped)
    await expect(chat.edit_boxes).to_have_value("/long 6")


async def test_case_48_retrying_until_it_works_leaves_one_message_and_one_reply(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.send("/fail 2")
    for _ in range(2):
        await expect(page.get_by_text(TROUBLE)).to_be_visible()
        await expect(chat.main).to_have_attribute("data-run-state", "failed")
        assert [(row.role, row.state) for row in await chat.rows()] == [("human", "done"), ("ai", "failed")]
        await chat.retry()
    await chat.done()
    rows = await chat.rows()
    assert [(row.role, row.state, row.versions) for row in rows] == [("human", "done", ""), ("ai", "done", "")]
    await chat.reload()
    assert await chat.rows() == rows


async def test_case_48_saying_the_failed_message_again_does_not_double_it(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.send("/fail 1")
    await expect(chat.button("retry")).to_be_visible()
    await chat.composer.fill("/fail 1")
    await chat.composer.press("Enter")
    await chat.done()
    assert [(row.role, row.state, row.versions) for row in await chat.rows()] == [
        ("human", "done", ""),
        ("ai", "done", ""),
    ]


async def test_a_failure_survives_a_reload_and_a_failed_regeneration_keeps_the_reply(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.send("/fail 1")
    await chat.retry()
    await chat.done()
    good = await chat.text(1)
    await chat.edit(0, "/long 5")
    await chat.start_editing(0, "/fail network")
    await expect(page.get_by_text("The model could not be reached")).to_be_visible()
    await chat.reload()
    await expect(page.get_by_text("The model could not be reached")).to_be_visible()
    await chat.go(0, 1)
    assert await chat.text(1) == good


@pytest.mark.parametrize("fate", ["lost", "failed"])
async def test_case_53_an_edit_whose_run_never_comes_waits_for_generate_reply(
    page: Page, allowed_problems: list[str], fate: str
) -> None:
    chat = await Chat.begin(page)
    await chat.say("a", "b")
    await page.route("**/runs/", lambda route: route.abort() if fate == "lost" else route.fulfill(status=500))
    allowed_problems.append("ERR_FAILED|Failed to fetch|status of 500")
    await chat.start_editing(0, "A")
    await expect(page.get_by_text("This message has no reply yet.")).to_be_visible()
    await expect(chat.texts).to_have_text(["A"])
    assert await chat.versions() == ["2/2"]
    await page.unroute("**/runs/")
    await chat.reload()
    await expect(chat.button("retry")).to_have_text("Generate reply")
    await chat.button("retry").dblclick()
    await expect(chat.texts).to_have_text(answered("A"))
    await chat.done()
    await chat.reload()
    await expect(chat.texts).to_have_text(answered("A"))
    assert await chat.versions() == ["2/2", ""]
    await chat.step(0, "previous")
    await expect(chat.texts).to_have_text(answered("a", "b"))


async def test_case_53_a_tab_that_dies_between_the_two_requests_leaves_a_sound_thread(
    page: Page, new_page: NewPage, allowed_problems: list[str]
) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await page.route("**/runs/", lambda route: route.abort())
    allowed_problems.append("ERR_FAILED|Failed to fetch")
    await chat.start_editing(0, "A")
    url = page.url
    other = await Chat.open(await new_page(page.context), url)
    await page.close()
    await expect(other.texts).to_have_text(["A"])
    await other.retry()
    await expect(other.texts).to_have_text(answered("A"))


async def test_case_53_a_message_can_be_sent_after_the_unanswered_edit(page: Page, allowed_problems: list[str]) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await page.route("**/runs/", lambda route: route.abort())
    allowed_problems.append("ERR_FAILED|Failed to fetch")
    async with page.expect_event("requestfailed"):  # the page may hear of the edit before its answer has come
        await chat.start_editing(0, "A")
    await expect(chat.button("retry")).to_be_visible()
    await page.unroute("**/runs/")
    await chat.say("b")
    assert (await chat.rows())[-1].text == "回复：b"
    assert [row.text for row in await chat.rows() if row.role == "human"] == ["A", "b"]


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
async def test_a_reply_that_a_restart_interrupts_can_be_resumed(
    server: Server, page: Page, allowed_problems: list[str], kill: bool
) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.send("/long 600")
    await expect(chat.live).not_to_be_empty()
    allowed_problems.append(OUTAGE)
    server.restart(kill=kill)
    await chat.connected()
    await expect(page.get_by_text("This reply was interrupted")).to_be_visible()
    await expect(chat.button("retry")).to_have_text("Resume")
    await chat.retry()
    await expect(chat.live).not_to_be_empty()
    await chat.stop()
    assert [(row.role, row.state, row.versions) for row in await chat.rows()] == [
        ("human", "done", ""),
        ("ai", "stopped", ""),
    ]


@pytest.mark.parametrize("delay", [0, 0.3])
async def test_case_44_a_double_click_sends_once(page: Page, delay: float) -> None:
    chat = await Chat.begin(page)
    await _slow_down(page, delay)
    await chat.composer.fill("a")
    await chat.button("send").dblclick()
    await expect(chat.texts).to_have_text(answered("a"))
    await chat.done()
    await chat.reload()
    await expect(chat.texts).to_have_text(answered("a"))


async def test_case_44_enter_and_a_click_send_once(page: Page) -> None:
    chat = await Chat.begin(page)
    await _slow_down(page, 0.3)
    await chat.composer.fill("a")
    await chat.composer.press("Enter")
    await chat.button("send").click()
    await expect(chat.texts).to_have_text(answered("a"))
    await chat.done()
    await chat.reload()
    await expect(chat.texts).to_have_text(answered("a"))


@pytest.mark.parametrize("delay", [0, 0.3])
async def test_case_44_a_double_click_regenerates_once(page: Page, delay: float) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await _slow_down(page, delay)
    sent = posts(page)
    await chat.button("regenerate", 1).dblclick()
    await chat.at(1, 2)
    await chat.done()
    await chat.reload()
    assert await chat.versions() == ["", "2/2"]
    assert len(sent) == 1


async def test_case_44_what_is_sent_while_the_socket_is_down_comes_once(
    page: Page, allowed_problems: list[str]
) -> None:
    sockets: list[WebSocketRoute] = []
    is_down = False

    async def connect(socket: WebSocketRoute) -> None:
        sockets.append(socket)
        await socket.close(code=1012) if is_down else socket.connect_to_server()

    await page.route_web_socket("**/ws/**", connect)
    chat = await Chat.begin(page)
    allowed_problems.append(OUTAGE)
    is_down = True
    await sockets[0].close(code=1012)
    await expect(chat.main).to_have_attribute("data-connection", "reconnecting")
    await chat.composer.fill("a")
    await chat.button("send").dblclick()
    await expect(chat.humans).to_have_count(1)
    is_down = False
    await chat.connected()
    await chat.done()
    await expect(chat.texts).to_have_text(answered("a"))
    await chat.reload()
    await expect(chat.texts).to_have_text(answered("a"))


@pytest.mark.parametrize("action", ["send", "regenerate", "edit"])
async def test_case_44_a_repeated_request_gets_the_first_answer_and_changes_nothing(page: Page, action: str) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    async with page.expect_request(lambda request: request.method == "POST") as caught:
        if action == "send":
            await chat.say("b")
        elif action == "regenerate":
            await chat.regenerate(1)
        else:
            await chat.edit(0, "A")
    await chat.done()
    shown = await chat.rows()
    request = await caught.value
    headers = {name: value for name, value in (await request.all_headers()).items() if name[0] != ":"}
    again = await page.request.post(request.url, data=request.post_data, headers=headers)
    assert again.status == 200
    await chat.reload()
    assert await chat.rows() == shown


async def test_hanging_up_on_a_command_leaves_no_reply_that_never_comes(server: Server, page: Page) -> None:
    """A tab that is closed or reloaded at once cancels its request, wherever the server is in it."""
    await page.goto("/")
    threads = [(await post(page, "/threads/", assistant="echo")).url for _ in range(10)]
    token, cookies = await credentials(page)
    for step, url in enumerate(threads):
        fields = {"content": "a", "head_version": "0", "key": str(step)}
        body = urlencode(fields).encode()
        head = f"POST {urlsplit(url).path}messages/ HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        head += f"X-CSRFToken: {token}\r\nCookie: {cookies}\r\nHX-Request: true\r\n"
        head += f"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {len(body)}\r\n\r\n"
        _, line = await asyncio.open_connection("127.0.0.1", server.port)
        line.write(head.encode() + body)
        await line.drain()
        await asyncio.sleep(step * 0.005)
        line.close()
    for url in threads:
        chat = await Chat.open(page, url)
        if await chat.messages.count():
            await chat.done()
            await expect(chat.texts).to_have_text(answered("a"))


async def _slow_down(page: Page, seconds: float) -> None:
    """A slow line: each command waits before it leaves."""

    async def wait(route: Route) -> None:
        if route.request.method == "POST":
            await asyncio.sleep(seconds)
        await route.continue_()

    await page.route("**/threads/**", wait)
