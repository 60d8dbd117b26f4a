"""The whole way through the app, as a person goes it on the first day."""

from __future__ import annotations

from playwright.async_api import Page, Response, expect

from tests.e2e.conftest import OUTAGE, NewPage
from tests.e2e.pages import Chat, answered, log_in, posts, sign_up
from tests.e2e.server import Server

WATCH_THE_STREAM = """() => {
    window.lengths = new Set();
    window.shift = 0;
    const look = () => {
        const live = document.querySelector("article[data-state=streaming] [data-content]");
        if (live) lengths.add(live.textContent.length);
    };
    new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
    const add = (list) => { for (const entry of list.getEntries()) shift += entry.value; };
    new PerformanceObserver(add).observe({type: "layout-shift"});
}"""


async def test_a_reply_grows_in_many_steps_and_nothing_jumps(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 20")
    await page.evaluate(WATCH_THE_STREAM)
    await chat.say("/long 150")
    assert len(await page.evaluate("[...lengths]")) > 8
    assert await page.evaluate("shift") < 0.05


async def test_the_main_way(new_page: NewPage, page: Page) -> None:
    name = await sign_up(page)
    await page.select_option("select[name=assistant]", "chat")
    await page.click("[data-action=new-thread]")
    chat = Chat(page)
    await chat.connected()
    await chat.send("Tell me about the tides")
    await expect(chat.live).to_be_visible()
    await chat.done()
    first = await chat.text(1)

    await chat.regenerate(1)
    second = await chat.text(1)
    assert second != first
    await expect(chat.message(1).locator("[data-versions]")).to_have_text("2 / 2")
    await chat.step(1, "previous")
    await expect(chat.message(1).locator("[data-versions]")).to_have_text("1 / 2")
    assert await chat.text(1) == first

    await chat.edit(0, "Tell me about the moon")
    assert await chat.versions() == ["2/2", ""]
    await chat.step(0, "previous")
    assert [row.text for row in await chat.rows()] == ["Tell me about the tides", first]
    await chat.step(1, "next")
    assert await chat.text(1) == second

    shown = await chat.rows()
    await chat.reload()
    assert await chat.rows() == shown
    elsewhere = await new_page()
    await log_in(elsewhere, name)
    await elsewhere.get_by_role("link", name="Tell me about the tides").click()
    assert await Chat(elsewhere).rows() == shown

    await chat.undo()
    await expect(chat.message(1).locator("[data-versions]")).to_have_text("1 / 2")
    assert await chat.text(1) == first


async def test_an_edit_is_two_requests_and_the_first_shows_it_already(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("first", "second", "third")
    sent, answers = posts(page), []

    async def keep(response: Response) -> None:
        if response.request.method == "POST":
            answers.append(await response.text())

    page.on("response", keep)
    await chat.edit(2, "other")
    assert [path.split("/")[3] for path in sent] == ["messages", "runs"]
    assert sent[0].endswith("/edit/")
    assert "first" in answers[0] and "other" in answers[0]
    assert not any(gone in answers[0] for gone in ("second", "third", "回复：other"))
    await expect(chat.texts).to_have_text(answered("first", "other"))


async def test_undo_takes_each_kind_of_move_back(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a", "b")
    await chat.edit(2, "B")
    await chat.regenerate(3)
    await chat.step(3, "previous")
    for versions in (["", "", "2/2", "2/2"], ["", "", "2/2", "1/2"], ["", "", "1/2", ""]):
        await chat.undo()
        assert await chat.versions() == versions
    await expect(chat.texts).to_have_text(answered("a", "b"))


async def test_undoing_a_message_leaves_a_way_back_to_it(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a", "b")
    await chat.undo()
    await expect(chat.texts).to_have_text(answered("a"))
    await chat.button("show-later").click()
    await expect(chat.texts).to_have_text(answered("a", "b"))


async def test_a_restart_of_the_server_keeps_everything(
    server: Server, page: Page, allowed_problems: list[str]
) -> None:
    chat = await Chat.begin(page)
    await chat.say("a", "b")
    await chat.edit(0, "A")
    shown = await chat.rows()
    allowed_problems.append(OUTAGE)
    server.restart()
    await chat.connected()  # by itself
    assert await chat.rows() == shown
    await chat.reload()
    assert await chat.rows() == shown
    await chat.step(0, "previous")
    await chat.say("c")
    await expect(chat.texts).to_have_text(answered("a", "b", "c"))


async def test_a_thread_is_renamed_in_its_list(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await _open_menu(page)
    await page.fill("input[name=title]", "The plan")
    await page.press("input[name=title]", "Enter")
    await expect(page.get_by_role("heading", name="The plan")).to_be_visible()
    await expect(page.locator("a[data-thread-link]")).to_have_text("The plan")
    await chat.reload()
    await expect(page).to_have_title("The plan · Switchback")


async def test_a_deleted_thread_is_gone(page: Page, allowed_problems: list[str]) -> None:
    await (await Chat.begin(page)).say("kept")
    chat = await Chat.begin(page)
    await chat.say("deleted")
    url = page.url
    await _open_menu(page)
    await page.click("[data-action=delete]:visible")
    await expect(page.get_by_text("deleted", exact=True)).to_be_visible()
    await page.click("[data-action=confirm-delete]")
    await expect(page.locator("a[data-thread-link]")).to_have_text("kept")
    allowed_problems.append("status of 404")
    assert (await page.goto(url)).status == 404


async def _open_menu(page: Page) -> None:
    current = page.locator("li").filter(has=page.locator("a[data-thread-link][aria-current=page]"))
    await current.locator("summary").click()
