"""Versions and the arrows between them, as a person meets them. The numbers are those of the field log."""

from __future__ import annotations

from playwright.async_api import Page, expect

from tests.e2e.conftest import OUTAGE
from tests.e2e.pages import Chat, answered, log_in, log_out, posts, sign_up
from tests.e2e.server import Server

SEEN_COUNTS = """() => {
    window.counts = new Set();
    const look = () => {
        for (const place of document.querySelectorAll("[data-versions]")) counts.add(place.innerText.trim());
    };
    look();
    new MutationObserver(look).observe(document.body, {subtree: true, childList: true, attributes: true});
}"""
SEEN_TRANSCRIPTS = """() => {
    window.transcripts = [];
    const look = () => {
        const texts = [...document.querySelectorAll("article [data-content]")].map((place) => place.textContent.trim());
        transcripts.push(texts);
    };
    new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
}"""


async def test_case_1_edits_of_the_version_shown_stay_flat(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    for position, text in enumerate("bcde", 2):
        await chat.edit(0, text)
        assert await chat.versions() == [f"{position}/{position}", ""]
    for position, text in zip((4, 3, 2, 1), "dcba", strict=True):
        await chat.step(0, "previous")
        await expect(chat.texts).to_have_text(answered(text))
        assert await chat.versions() == [f"{position}/5", ""]


async def test_case_1_regenerations_of_any_version_stay_flat(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 5")
    seen = [await chat.text(1)]
    for start in (1, 2, 3, 4, 1, 3):  # always the newest, and at last 1/5 and 3/6
        if start < len(seen):
            await chat.go(1, start)
        await chat.regenerate(1)
        seen.append(await chat.text(1))
        assert await chat.versions() == ["", f"{len(seen)}/{len(seen)}"]
    assert len(set(seen)) == 7
    for position in range(6, 0, -1):
        await chat.step(1, "previous")
        assert await chat.text(1) == seen[position - 1]


async def test_case_2_an_edit_above_a_regenerated_reply_keeps_all_arrows(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("one")
    await chat.regenerate(1)
    regenerated = await chat.rows()
    await chat.edit(0, "uno")
    edited = await chat.rows()
    assert [row.versions for row in edited] == ["2/2", ""]
    await chat.step(0, "previous")
    assert await chat.versions() == ["1/2", "2/2"]
    assert [row.id for row in await chat.rows()] == [row.id for row in regenerated]
    await chat.step(1, "previous")
    first = await chat.rows()
    assert [row.versions for row in first] == ["1/2", "1/2"]
    assert len({row.id for row in [*regenerated, *edited, *first]}) == 5


async def test_case_5_regenerating_in_the_middle_keeps_what_stood_below(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a", "b", "c")
    await chat.regenerate(1)
    await expect(chat.texts).to_have_text(answered("a"))
    await chat.step(1, "previous")
    await expect(chat.texts).to_have_text(answered("a", "b", "c"))
    assert await chat.versions() == ["", "1/2", "", "", "", ""]


async def test_case_9_leaving_a_version_says_where_its_messages_are_and_coming_back_finds_them(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await chat.regenerate(1)
    await chat.say("b", "c", "d")
    await chat.edit(4, "C")  # the last turn shown is now C, without d
    await chat.step(4, "previous")
    left = await chat.rows()
    await chat.step(1, "previous")
    await expect(chat.texts).to_have_text(answered("a"))
    await expect(page.get_by_text("Later messages belong to the other version.")).to_be_visible()
    await chat.step(1, "next")
    await expect(chat.texts).to_have_text(answered("a", "b", "c", "d"))
    assert await chat.rows() == left
    await expect(page.get_by_text("Later messages belong to the other version.")).to_be_hidden()


async def test_case_13_arrows_stop_at_the_ends(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await chat.regenerate(1, times=2)
    for way, key, position in (("next", "ArrowRight", 3), ("previous", "ArrowLeft", 1)):
        await chat.go(1, position)
        sent = posts(page)
        await expect(chat.arrow(1, way)).to_be_disabled()
        await chat.arrow(1, way).click(force=True)
        await chat.button("copy", 1).focus()
        await page.keyboard.press(f"Alt+{key}")
        await chat.reload()
        assert sent == [] and await chat.versions() == ["", f"{position}/3"]


async def test_case_13_ten_fast_presses_never_leave_the_range(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await chat.regenerate(1, times=2)
    await page.evaluate(SEEN_COUNTS)
    for way, end in (("previous", 1), ("next", 3)):
        box = await chat.arrow(1, way).bounding_box()
        for _ in range(10):
            await page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        await chat.quiet()
        await chat.go(1, end)
    assert set(await page.evaluate("[...counts]")) == {"1 / 3", "2 / 3", "3 / 3"}


async def test_case_13_ten_fast_presses_by_keyboard_never_leave_the_range(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await chat.regenerate(1, times=2)
    await page.evaluate(SEEN_COUNTS)
    for way, key, end in (("previous", "ArrowLeft", 1), ("next", "ArrowRight", 3)):
        await chat.arrow(1, way).focus()
        for _ in range(10):
            await page.keyboard.press(f"Alt+{key}")
        await chat.quiet()
        await chat.go(1, end)
    assert set(await page.evaluate("[...counts]")) == {"1 / 3", "2 / 3", "3 / 3"}


async def test_case_15_editing_the_first_message_starts_over_and_keeps_the_old_thread(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a", "b", "c", "d", "e")
    await chat.edit(0, "A")
    await expect(chat.texts).to_have_text(answered("A"))
    await chat.edit(0, "AA")
    assert await chat.versions() == ["3/3", ""]
    await chat.go(0, 1)
    await expect(chat.texts).to_have_text(answered("a", "b", "c", "d", "e"))
    assert await chat.versions() == ["1/3", *[""] * 9]


async def test_case_15_the_model_reads_nothing_but_the_new_first_message(page: Page) -> None:
    """The demo model's words follow from all it reads: so they are those of a fresh thread."""
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 5")
    await chat.edit(0, "/long 6")
    reply = await chat.text(1)
    fresh = await Chat.begin(page, "chat")
    await fresh.say("/long 6")
    assert await fresh.text(1) == reply


async def test_case_26_an_edit_without_a_change_makes_no_version(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    before, sent = await chat.rows(), posts(page)
    await chat.open_edit(0)
    await chat.button("save-edit", 0).click()
    await expect(chat.edit_boxes).to_have_count(0)
    await chat.reload()
    assert await chat.rows() == before
    assert len(sent) == 1 and sent[0].endswith("/edit/")


async def test_case_26_an_empty_edit_is_refused_with_a_word(page: Page, allowed_problems: list[str]) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    before = await chat.rows()
    box = await chat.open_edit(0)
    await box.fill("   ")
    await chat.button("save-edit", 0).click()
    allowed_problems.append("status of 422")
    await expect(chat.message(0).get_by_role("alert")).to_have_text("The message is empty. Write something first.")
    await box.press("Escape")
    assert await chat.rows() == before


async def test_case_26_escape_and_cancel_restore_the_message(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    before, sent = await chat.rows(), posts(page)
    await (await chat.open_edit(0)).fill("something else")
    await page.keyboard.press("Escape")
    await expect(chat.edit_boxes).to_have_count(0)
    await expect(chat.button("edit", 0)).to_be_focused()
    box = await chat.open_edit(0)
    await expect(box).to_have_value("a")
    await box.fill("something else")
    await chat.button("cancel-edit", 0).click()
    await expect(chat.texts.first).to_be_visible()
    assert await chat.rows() == before and sent == []


async def test_case_26_ctrl_enter_saves(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await (await chat.open_edit(0)).fill("b")
    await page.keyboard.press("Control+Enter")
    await expect(chat.texts).to_have_text(answered("b"))


async def test_case_26_two_open_edits_do_not_mix(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a", "b")
    first, second = await chat.open_edit(0), await chat.open_edit(2)
    await first.fill("A")
    await second.fill("B")
    await chat.button("save-edit", 2).click()
    await expect(chat.texts.nth(3)).to_have_text("回复：B")
    await expect(first).to_have_value("A")
    assert await chat.versions() == ["", "", "2/2", ""]
    await chat.button("save-edit", 0).click()
    await expect(chat.texts).to_have_text(answered("A"))
    await chat.step(0, "previous")
    await expect(chat.texts).to_have_text(answered("a", "B"))


async def test_case_30_the_chosen_versions_outlive_everything(
    server: Server, page: Page, other_page: Page, allowed_problems: list[str]
) -> None:
    name = await sign_up(page)
    chat = await Chat.begin(page)
    await chat.say("a")
    await chat.regenerate(1, times=4)
    await chat.go(1, 3)
    await chat.say("b")
    await chat.regenerate(3)
    await chat.step(3, "previous")
    chosen = await chat.rows()
    assert [row.versions for row in chosen] == ["", "3/5", "", "1/2"]

    await chat.step(1, "previous")  # leave it, and come back
    await chat.step(1, "next")
    await expect(chat.messages).to_have_count(4)
    assert await chat.rows() == chosen
    await chat.reload()
    assert await chat.rows() == chosen
    url = page.url
    await log_out(page)
    await log_in(page, name)
    await Chat.open(page, url)
    assert await chat.rows() == chosen
    await log_in(other_page, name)
    assert await (await Chat.open(other_page, url)).rows() == chosen
    allowed_problems.append(OUTAGE)
    server.restart()
    await chat.reload()
    assert await chat.rows() == chosen


async def test_case_38_what_is_sent_on_an_older_version_stays_on_it(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await chat.regenerate(1)
    await chat.say("newer")
    await chat.step(1, "previous")
    await chat.say("x", "y")
    await chat.reload()
    await chat.say("z")
    await expect(chat.texts).to_have_text(answered("a", "x", "y", "z"))
    assert await chat.versions() == ["", "1/2", *[""] * 6]
    await chat.step(1, "next")
    await expect(chat.texts).to_have_text(answered("a", "newer"))


async def test_case_40_a_link_shows_its_version_for_ever_and_to_its_owner_alone(
    page: Page, other_page: Page, allowed_problems: list[str]
) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 5")
    reply = await chat.text(1)
    link = await chat.message(1).locator("a[href*='/checkpoints/']").get_attribute("href")
    await chat.regenerate(1)
    await page.goto(link)
    await expect(chat.texts).to_have_text(["/long 5", reply])
    await expect(page.get_by_text("You are looking at one version.")).to_be_visible()
    await other_page.goto("/")
    allowed_problems.append("status of 404")
    assert (await other_page.goto(link)).status == 404


async def test_case_40_one_can_go_on_from_a_link(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    link = await chat.message(1).locator("a[href*='/checkpoints/']").get_attribute("href")
    await chat.regenerate(1)
    await page.goto(link)
    await chat.button("continue").click()
    await chat.connected()
    assert await chat.versions() == ["", "1/2"]


async def test_case_42_later_turns_go_at_once_and_the_reply_grows_under_the_edited_message(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("one", "two", "three", "four", "five", "six")
    edited = "a longer wording " * 10
    await page.evaluate(SEEN_TRANSCRIPTS)
    await chat.start_editing(2, edited)
    await expect(chat.live).to_contain_text("回复：")
    await expect(chat.messages).to_have_count(4)
    await chat.done()
    seen = [texts for texts in await page.evaluate("transcripts") if edited.strip() in texts]
    assert seen and all(texts[:3] == ["one", "回复：one", edited.strip()] for texts in seen)
    assert all(len(texts) <= 4 for texts in seen), "a later turn stood under the edited message"
    assert all(text and f"回复：{edited}".startswith(text) for texts in seen for text in texts[3:] if text)
