"""The app for everyone: any screen, theme, direction, clock, on paper, and read aloud. Cases 92, 96 and 97."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.e2e.axe import Axe
from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat
from tests.e2e.test_storage import WIDE

BACKGROUND = "getComputedStyle(document.body).backgroundColor"
DIRECTION = "(place) => getComputedStyle(place).direction"
CONTROLS = "button, a[href], summary, input:not([type=hidden]), textarea, select"
NAMELESS = """(controls) => controls
    .filter((each) => !each.textContent.trim() && !each.labels?.length)
    .filter((each) => !each.matches("[aria-label], [aria-labelledby]"))
    .map((each) => each.outerHTML)"""
HEBREW = "שלום 123 `code`\n\nabc def\n\n- שלום"


async def test_the_theme_is_chosen_and_holds_on_every_page(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("a")
    await page.emulate_media(color_scheme="light")
    light = await page.evaluate(BACKGROUND)
    await page.click("button[name=theme][value=dark]")
    await chat.connected()
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    dark = await page.evaluate(BACKGROUND)
    assert dark != light
    assert not await Axe(page).violations()
    await page.goto("/search/")
    assert await page.evaluate(BACKGROUND) == dark
    await page.click("button[name=theme][value=system]")
    await expect(page.locator("html:not([data-theme])")).to_be_attached()
    assert await page.evaluate(BACKGROUND) == light


async def test_times_are_those_of_the_readers_zone(new_page: NewPage) -> None:
    page = await new_page(timezone_id="Asia/Shanghai")
    chat = await Chat.begin(page)
    await expect(page.get_by_text("Times are those of UTC.")).to_be_visible()
    await chat.say("a")
    await page.goto(f"{page.url}checkpoints/")
    await expect(page.get_by_text("Times are those of Asia/Shanghai.")).to_be_visible()
    shown = await page.locator("tr[data-checkpoint-id] time").first.evaluate(
        "(time) => [time.dateTime, time.innerText]"
    )
    assert shown[0].endswith("+08:00") and shown[0][11:19] == shown[1]


@pytest.mark.parametrize("width", [320, 390, 768, 1280, 3840])
async def test_from_the_smallest_phone_to_the_largest_screen(new_page: NewPage, width: int) -> None:
    page = await new_page(viewport={"width": width, "height": 900})
    chat = await Chat.begin(page, "chat")
    await chat.say("What is a title that people can read?")
    await chat.regenerate(1)
    assert not await page.evaluate(WIDE)
    title = await page.locator("#thread-title").bounding_box()
    assert title and title["width"] >= 200
    for text in await chat.texts.all():
        box = await text.bounding_box()
        assert box and box["width"] <= 800


async def test_case_92_each_block_has_its_direction_and_the_counter_is_not_mirrored(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say(HEBREW)
    await chat.regenerate(1)
    await chat.composer.fill("שלום")
    await page.evaluate("document.documentElement.dir = 'rtl'")
    reply = chat.message(1).locator("[data-content]")
    assert await reply.locator("p", has_text="abc def").first.evaluate(DIRECTION) == "ltr"
    assert await reply.locator("li").first.evaluate(DIRECTION) == "rtl"
    assert await chat.composer.evaluate(DIRECTION) == "rtl"
    versions = chat.message(1).locator("[data-versions]")
    await expect(versions).to_have_text("2 / 2")
    assert await versions.evaluate(DIRECTION) == "ltr"
    previous, following = [await chat.arrow(1, way).bounding_box() for way in ("previous", "next")]
    assert previous and following and previous["x"] < following["x"]
    assert not await page.evaluate(WIDE)
    assert not await Axe(page).violations()


async def test_case_96_one_voice_tells_how_a_reply_stands_and_no_word_of_it(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    live = "[aria-live], [role=status], [role=log], [role=alert], output"
    await expect(page.locator(live)).to_have_count(1)
    voice = page.locator("[data-announcer][role=status]")
    await chat.send("/long 200")
    await expect(voice).to_have_text("A reply is being written.")
    await expect(page.locator(live)).to_have_count(1)
    await chat.done()
    await expect(voice).to_have_text("The reply is finished.")
    await chat.regenerate(1)
    await chat.step(1, "previous")
    await expect(voice).to_have_text("Version 1 of 2")
    await chat.send("/fail auth")
    await expect(voice).to_have_text("The reply failed.")


async def test_case_97_every_control_has_a_name(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("```python\nx = 1\n```")
    await chat.regenerate(1)
    await chat.open_edit(0)
    assert await page.locator(CONTROLS).evaluate_all(NAMELESS) == []


async def test_who_wants_no_motion_sees_none(page: Page) -> None:
    await page.emulate_media(reduced_motion="reduce")
    chat = await Chat.begin(page, "chat")
    await chat.send("/long 500")
    await expect(chat.live).not_to_be_empty()
    moving = "document.getAnimations().filter((each) => each.effect.getComputedTiming().iterations > 1).length"
    assert await page.evaluate(moving) == 0
    await chat.stop()


async def test_on_paper_a_conversation_is_a_document(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say(f"See [there](https://example.com/page).\n\n```\n{'long ' * 100}\n```")
    await chat.regenerate(1)
    await page.emulate_media(media="print")
    await page.set_viewport_size({"width": 700, "height": 900})
    for hidden in (".sidebar", "[data-composer]", ".message__actions", "[data-action=previous-version]", ".code__copy"):
        await expect(page.locator(hidden).first).to_be_hidden()
    await expect(page.locator("#thread-title")).to_be_visible()
    await expect(chat.texts).to_have_count(2)
    assert not await page.evaluate(WIDE)
    code = page.locator("pre").first
    assert await code.evaluate("(pre) => pre.scrollWidth <= pre.clientWidth")
    link = page.locator("[data-content] a").first
    assert "https://example.com/page" in await link.evaluate("(link) => getComputedStyle(link, '::after').content")
