"""No page has anything that axe-core finds wrong: in each of its states, wide and narrow, light and dark."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.e2e.axe import Axe
from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, post
from tests.e2e.test_concierge import CHINESE, ENGLISH
from tests.e2e.test_several import begin, idle, live

RICH = """# A heading

Text with `code`, a [link](https://example.com/), **weight** and *stress*.[^1]

- [x] done
- [ ] to do

| a | b |
|---|--:|
| 1 | 2 |

> Quoted, with $x^2$.

```python
def f(x):
    return '<b>' * x  # a comment
```

[^1]: A note.
"""


async def look(page: Page, *addresses: str) -> None:
    """Nothing is wrong with any of these pages; with none given, with the page as it is."""
    axe, found = Axe(page), []
    for address in addresses or (None,):
        if address:
            await page.goto(address)
        found += [f"{page.url}: {each}" for each in await axe.all_violations()]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
async def test_the_pages_around_the_chat(new_page: NewPage, allowed_problems: list[str], locale: str) -> None:
    allowed_problems.append("status of 404")
    page = await new_page(locale=locale)
    await look(page, "/", "/login/", "/signup/", "/import/", "/search/", "/search/?q=nothing", "/nowhere/")
    await page.goto("/login/")
    await page.fill("input[name=username]", "nobody")
    await page.fill("input[name=password]", "wrong")
    await page.press("input[name=password]", "Enter")
    await expect(page.get_by_role("alert")).to_be_visible()
    await look(page)


async def test_a_conversation_without_and_with_versions(page: Page) -> None:
    chat = await Chat.begin(page)
    await look(page)
    await chat.say(RICH, "second")
    await chat.regenerate(1)
    await chat.step(1, "previous")
    await chat.step(1, "next")
    await expect(page.locator("[data-notices] [role=status]")).to_be_visible()
    await look(page)
    await (await chat.open_edit(0)).fill("half")
    await page.locator("[data-current] summary").click()
    await look(page)
    await page.set_viewport_size({"width": 390, "height": 844})
    await page.locator(".topbar__menu").click()
    assert not await Axe(page).violations()


async def test_a_reply_that_is_written_and_stopped(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.send("/long 4000")
    await expect(chat.live).not_to_be_empty()
    await look(page)
    await chat.stop()
    await expect(chat.message(1)).to_have_attribute("data-state", "stopped")
    await look(page)


async def test_a_reply_that_failed_and_an_edit_that_is_refused(page: Page, allowed_problems: list[str]) -> None:
    allowed_problems.append("status of 4(09|22)")
    chat = await Chat.begin(page, "chat")
    await chat.send("/fail auth")
    await expect(chat.main).to_have_attribute("data-run-state", "failed")
    await look(page)
    await (await chat.open_edit(0)).fill(" ")
    await chat.button("save-edit", 0).click()
    await expect(page.locator("[data-edit] [role=alert]")).to_be_visible()
    await look(page)


@pytest.mark.parametrize("words", [ENGLISH, CHINESE], ids=["English", "Chinese"])
async def test_a_card_that_waits_and_the_actions(new_page: NewPage, words: object) -> None:
    page = await new_page(locale=words.locale)
    chat = await Chat.begin(page, "concierge")
    await chat.send(words.suite)
    card = page.locator("[data-question]")
    await expect(card).to_be_visible()
    await card.locator("summary").click()
    await look(page)
    await page.locator("[data-action=approve]").click()
    await chat.done()
    for step in await page.locator("details[data-step] > summary").all():
        await step.click()
    await look(page)
    await look(page, await page.locator(".topbar a[href$='/actions/']").get_attribute("href"))


async def test_the_pages_of_a_conversation(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("first", "second")
    await chat.regenerate(1)
    await chat.edit(0, "other words")
    url, pk = page.url, await chat.message(0).get_attribute("data-pk")
    places = [
        "map/",
        "share/",
        "storage/",
        "delete/",
        *(f"messages/{pk}/{each}" for each in ("", "label/", "compare/")),
    ]
    await look(page, *(f"{url}{each}" for each in places))
    await page.goto(f"{url}storage/")
    await page.locator("[data-action=delete-branch]").first.click()
    await look(page)
    await page.goto(url)
    await look(page, await page.locator("article a[href*='/checkpoints/']").first.get_attribute("href"))
    await post(page, f"{url}share/")
    await page.goto(f"{url}share/")
    await look(page)


async def test_several_at_once(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.say("/long 150")
    attempts = await begin(chat, 2)
    await expect(live(attempts, 1)).not_to_be_empty()
    await look(page)
    await attempts.nth(0).locator("[data-action=stop]").click()
    await idle(page)
    await look(page)


async def test_a_version_that_is_deleted(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("first", "second")
    await chat.regenerate(1)
    url = page.url
    await chat.message(1).locator("[data-action=delete-version]").click()
    await expect(page.locator("[data-going]")).to_be_visible()
    await look(page)
    await page.locator("[data-action=confirm-delete]").click()
    await expect(page.locator("[data-deleted]")).to_be_visible()
    await look(page)
    await look(page, f"{url}map/", f"{url}checkpoints/")


async def test_what_the_buttons_do_and_what_a_conversation_is_told(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.say("first")
    url, pk = page.url, await chat.message(1).get_attribute("data-pk")
    await look(page, *(f"{url}{each}" for each in ("choices/", "explain/", "explain/send/", f"explain/replay/{pk}/")))
    await page.goto(f"{url}explain/")
    await look(page, await page.locator("a[href*='/explain/runs/']").first.get_attribute("href"))


async def test_a_shared_version(page: Page, other_page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say(RICH)
    await page.goto(f"{page.url}share/")
    await page.locator("button[data-action=share]").click()
    await look(other_page, await page.locator("[data-address]").input_value())


async def test_the_time_machine(page: Page) -> None:
    chat = await Chat.begin(page)
    await chat.say("first", "second")
    await chat.regenerate(1)
    head, url = await chat.main.get_attribute("data-head"), page.url
    places = ["", "check/", "find/", *(f"{head}/{each}/" for each in ("state", "difference", "replay", "fork"))]
    await look(page, *(f"{url}checkpoints/{each}" for each in places))


async def test_the_lesson(page: Page) -> None:
    await page.goto("/")
    await page.locator("main [data-action=lesson]").click()
    await page.locator("[data-action=press]").click()
    await expect(page.locator("[data-came]")).to_be_visible()
    await look(page)


async def test_what_is_wrong_is_found(page: Page) -> None:
    """An audit that finds nothing anywhere proves little."""
    await page.goto("/login/")
    await page.evaluate("document.querySelector('main').append(document.createElement('button'))")
    await page.evaluate("document.querySelector('h1').style.color = '#999'")
    assert {each.split(":")[0] for each in await Axe(page).violations()} == {"button-name", "color-contrast"}
