"""The time machine as one uses it: a list that follows a run, a state that is changed, something run again."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, answered, second_window
from tests.e2e.test_storage import WIDE

EVIL = "<img src=x onerror=document.body.dataset.hit=1><b hx-get=/logout/ hx-trigger=load>bold</b>"


async def open_machine(chat: Chat) -> None:
    await chat.page.locator(".topbar [data-action=time-machine]").click()
    await expect(chat.page.locator("tr[data-head]")).to_have_count(1)


async def test_the_list_follows_a_run_in_another_window(page: Page, new_page: NewPage) -> None:
    chat = await Chat.begin(page)
    await chat.say("h1")
    other = await second_window(chat, new_page)
    await open_machine(chat)
    rows = page.locator("table[data-checkpoints] tr[data-checkpoint-id]")
    await expect(rows).to_have_count(4)
    await other.say("h2")
    await expect(rows).to_have_count(8)
    await other.regenerate(1)
    await expect(rows).to_have_count(10)
    await expect(page.locator("tr[data-on-path]")).to_have_count(5)
    await expect(rows.first).to_have_attribute("data-head", "")
    await page.locator("[name=source]").select_option("fork")
    await page.locator("[data-action=sift]").click()
    await expect(rows).to_have_count(1)
    await expect(rows.first).to_have_attribute("data-next", "reply")


async def test_a_state_is_changed_and_goes_on_from_there(page: Page) -> None:
    """As `reply` it would lead nowhere, which is said before; as `booking` the reply comes next."""
    chat = await Chat.begin(page)
    await chat.say("h1")
    await open_machine(chat)
    await page.locator("tr[data-next=__start__] .checkpoint__name a").first.click()
    await expect(page.locator("article[data-checkpoint-id]")).to_have_attribute("data-source", "input")
    await page.locator("[data-action=fork]").click()
    await page.locator("[name=set-0-messages]").fill('[{"type": "human", "content": "by hand"}]')
    await page.locator("[name=node-0]").select_option("reply")
    await page.locator("[data-action=preview]").click()
    await expect(page.locator("[data-looked]")).to_contain_text("leads nowhere")
    await page.locator("[name=node-0]").select_option("booking")
    await page.locator("[data-action=preview]").click()
    await expect(page.locator("[data-looked='reply']")).to_be_visible()
    await page.locator("[data-action=confirm-fork]").click()
    await chat.connected()
    await expect(chat.texts).to_have_text(["by hand"])
    await chat.retry()
    await chat.done()
    await expect(chat.texts).to_have_text(answered("by hand"))
    assert await chat.versions() == ["2/2", ""]
    await chat.undo()
    await expect(chat.texts).to_have_text(answered("h1"))


async def test_something_runs_again_from_a_checkpoint_and_two_are_compared(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("h1")
    await open_machine(chat)
    await page.locator("tr[data-next=reply] .checkpoint__name a").first.click()
    await page.locator("[data-action=pick]").click()
    await page.locator("tr[data-head] [data-action=compare]").click()
    await expect(page.locator("[data-difference=messages]")).to_contain_text("回复：h1")
    await page.go_back()
    await page.locator("tr[data-next=reply] .checkpoint__name a").first.click()
    await page.locator("[data-action=replay-from]").click()
    await page.locator("[data-action=confirm-replay]").click()
    await chat.connected()
    await chat.done()
    assert await chat.versions() == ["", "2/2"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_case_87_it_fits_a_phone_without_javascript_and_what_is_hostile_stays_text(
    new_page: NewPage, scheme: str
) -> None:
    page = await new_page()
    chat = await Chat.begin(page)
    await chat.say(EVIL)
    session = await page.context.storage_state()
    size = {"width": 390, "height": 800}
    plain = await new_page(
        storage_state=session, viewport=size, java_script_enabled=scheme == "dark", color_scheme=scheme
    )
    await plain.goto(f"{chat.page.url}checkpoints/")
    assert not await plain.evaluate(WIDE)
    await plain.locator("tr[data-next=reply] .checkpoint__name a").first.click()
    for action in ("fork", "replay-from"):
        await plain.locator(f"[data-action={action}]").click()
        assert not await plain.evaluate(WIDE)
        await plain.go_back()
    await expect(plain.locator("body[data-hit], b")).to_have_count(0)
    await expect(plain.locator(".state__gist").first).to_have_text(EVIL)
