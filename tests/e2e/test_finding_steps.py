"""From what went wrong to the step before it, and on; folded and opened turns; a phone of 320 pixels. Case 87 too."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, answered
from tests.e2e.test_storage import WIDE

EVIL = "<script>document.body.dataset.hit=1</script>\u202egpj.exe\u200b <img src=x onerror=document.body.dataset.hit=1>"


async def test_from_a_failure_it_is_two_clicks_to_run_the_step_again(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.say("Hello")
    await chat.send("/fail 1")
    await expect(page.locator("main[data-run-state=failed]")).to_have_count(1)
    url = page.url
    await page.goto(f"{url}checkpoints/find/")
    await page.locator("[data-find=error] input[name=text]").fill("had an error")
    await page.locator("[data-find=error] button").click()
    await expect(page.locator("[data-hit]")).to_have_count(1)
    await expect(page.locator("[data-hit]")).to_contain_text("had an error")
    await page.locator("[data-hit] [data-action=replay-from]").click()
    await page.locator("[data-action=confirm-replay]").click()
    await chat.connected()
    await chat.done()
    await expect(page.locator("article[data-message-id]")).to_have_count(4)


async def test_the_list_leads_to_the_step_before_a_failure_and_before_any_other(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.send("/fail")
    await expect(page.locator("main[data-run-state=failed]")).to_have_count(1)
    await page.goto(f"{page.url}checkpoints/")
    await page.locator("tr[data-head] [data-action=step-before]").click()
    shown = page.locator("article[data-checkpoint-id]")
    await expect(shown).to_have_attribute("data-next", "model")
    await expect(page.locator("[data-action=replay-from], [data-action=fork]")).to_have_count(2)
    parent = await shown.get_attribute("data-parent-id")
    await page.locator("[data-action=step-before]").click()
    await expect(shown).to_have_attribute("data-checkpoint-id", parent or "")


async def test_turns_are_folded_and_one_of_them_opened(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("h1")
    await chat.say("h2")
    await expect(chat.texts).to_have_text(answered("h1", "h2"))
    await page.goto(f"{page.url}checkpoints/")
    rows = page.locator("tr[data-checkpoint-id]")
    await expect(rows).to_have_count(8)
    await page.locator("[name=turns]").check()
    await page.locator("[data-action=sift]").click()
    await expect(rows).to_have_count(2)
    await page.locator("tr[data-head] [data-action=unfold]").click()
    await expect(rows).to_have_count(5)
    await page.locator("[data-action=fold]").click()
    await expect(rows).to_have_count(2)


@pytest.mark.parametrize("width", [320, 390])
async def test_case_87_on_a_phone_hostile_words_of_any_length_fit_and_stay_text(new_page: NewPage, width: int) -> None:
    page = await new_page(viewport={"width": width, "height": 800})
    chat = await Chat.begin(page)
    await chat.say(EVIL + "W" * 400)
    await chat.regenerate(1)
    url = f"{page.url}checkpoints/"
    for path in ("", "?turns=on", "find/?by=node&node=reply", "find/?by=state&field=messages&value=gpj"):
        await page.goto(url + path)
        assert not await page.evaluate(WIDE), path
        await expect(page.locator("body[data-hit], .checkpoint__gist img, .hits__detail img")).to_have_count(0)
    await page.goto(url)
    # The lanes are beside the lines, and have room.
    box = await page.locator("tr[data-head] .lanes--marks").bounding_box()
    text = await page.locator("tr[data-head] .checkpoint__messages").bounding_box()
    assert box and text and box["width"] >= 14 and box["x"] >= 0 and box["x"] + box["width"] <= text["x"]
    assert not await page.locator("tr[data-head] .checkpoint__gist").evaluate(
        "(gist) => getComputedStyle(gist).unicodeBidi === 'normal'"
    ), "what turns the writing round ends with its field"
