"""Chinese from end to end: no English is left on any page, and the chosen language holds wherever one goes."""

from __future__ import annotations

import re

import pytest_asyncio
from playwright.async_api import Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import PASSWORD, Chat

NAMES = {"Switchback", "English", "Markdown", "CHAT_MODEL", "API", "HEAD", "JSON", "LangGraph", "UTC"}
NAMES |= {"Enter", "Shift", "Ctrl", "Alt", "Esc"}
"""What stays as it is in every language."""

# All texts and labels, also those that are hidden or wait in a template; without what people and models wrote.
SHOWN = """() => {
    const written = "script, style, textarea, [data-content], [data-kept]";
    const labels = ["aria-label", "title", "placeholder", "alt"];
    const shown = [document.title];
    const visit = (node) => {
        if (node.nodeType === Node.TEXT_NODE) shown.push(node.data);
        if (node.nodeType === Node.ELEMENT_NODE) {
            shown.push(...labels.map((name) => node.getAttribute(name) ?? ""));
            shown.push(...Object.values(node.dataset).filter((value) => /\\s/.test(value)));
            if (node.matches(written)) return;
        }
        (node.content ?? node).childNodes.forEach(visit);
    };
    visit(document.body);
    return shown.map((text) => text.trim()).filter(Boolean);
}"""


async def english_on(page: Page) -> list[str]:
    """The texts on the page that hold words in Latin letters, names aside."""
    return [text for text in await page.evaluate(SHOWN) if set(re.findall(r"[A-Za-z_]{3,}", text)) - NAMES]


async def assert_all_chinese(page: Page) -> None:
    """The page says that it is Chinese, and it is."""
    await expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    assert not await english_on(page)


@pytest_asyncio.fixture(loop_scope="session")
async def page(new_page: NewPage) -> Page:
    """A guest whose browser asks for Chinese."""
    return await new_page(locale="zh-CN")


async def test_the_pages_around_the_chat_are_all_chinese(page: Page, allowed_problems: list[str]) -> None:
    allowed_problems.append("status of 404")
    for address in ("/", "/login/", "/signup/", "/nowhere/"):
        await page.goto(address)
        await assert_all_chinese(page)


async def test_refusals_at_the_door_are_all_chinese(page: Page) -> None:
    await page.goto("/login/")
    await page.fill("input[name=username]", "无名氏")
    await page.fill("input[name=password]", "不对")
    await page.press("input[name=password]", "Enter")
    await expect(page.get_by_role("alert")).to_be_visible()
    await assert_all_chinese(page)
    await page.goto("/signup/")
    await page.fill("input[name=username]", "有 空格")
    await page.fill("input[name=password1]", "1234")
    await page.fill("input[name=password2]", "1234")
    await page.press("input[name=password2]", "Enter")
    await expect(page.get_by_role("alert").first).to_be_visible()
    await assert_all_chinese(page)


async def test_a_conversation_is_all_chinese(page: Page, allowed_problems: list[str]) -> None:
    """Empty, answered, forked, in the edit box, refused, undone, by link, and asked about before it is deleted."""
    chat = await Chat.begin(page, "chat")
    await assert_all_chinese(page)
    await chat.say("你好", "再说一次")
    await chat.regenerate(3)
    await chat.edit(0, "早上好")
    await chat.go(0, 1)
    await assert_all_chinese(page)
    await chat.go(0, 2)
    await expect(page.locator("[data-notices] [role=status]")).to_be_visible()
    await assert_all_chinese(page)
    allowed_problems.append("status of 422")
    await (await chat.open_edit(0)).fill(" ")
    await chat.button("save-edit", 0).click()
    await expect(page.locator("[data-edit] [role=alert]")).to_be_visible()
    await assert_all_chinese(page)
    await page.goto(await page.locator("article a[href*='/checkpoints/']").first.get_attribute("href"))
    await assert_all_chinese(page)
    await page.goto(await page.locator("[data-current] a[data-action=delete]").get_attribute("href"))
    await assert_all_chinese(page)


async def test_what_goes_wrong_with_a_reply_is_told_in_chinese(page: Page) -> None:
    chat = await Chat.begin(page, "chat")
    await chat.say("你好")
    await chat.send("/fail auth")
    await expect(chat.main).to_have_attribute("data-run-state", "failed")
    await assert_all_chinese(page)
    await chat.send("/slow")
    await chat.stop()
    await expect(chat.main).to_have_attribute("data-run-state", "idle")
    await assert_all_chinese(page)


async def test_the_language_stays_through_pages_tabs_and_the_socket(new_page: NewPage) -> None:
    """Chosen on one page; another tab of the same browser hears of a message and shows it in Chinese."""
    page = await new_page()
    await page.goto("/")
    await expect(page.locator("html")).to_have_attribute("lang", "en")
    assert len(await english_on(page)) > 10
    await page.click("button[name=language][value=zh-hans]")
    await assert_all_chinese(page)
    chat = await Chat.begin(page)
    await assert_all_chinese(page)
    other = await Chat.open(await new_page(page.context), page.url)
    await chat.say("你好")
    await other.done()
    await expect(other.button("regenerate", 1)).to_have_attribute("title", "重新生成")
    await assert_all_chinese(other.page)
    await chat.reload()
    await assert_all_chinese(page)
    await page.goto("/signup/")
    await page.fill("input[name=username]", "小明")
    await page.fill("input[name=password1]", PASSWORD)
    await page.fill("input[name=password2]", PASSWORD)
    await page.press("input[name=password2]", "Enter")
    await expect(page.get_by_text("小明")).to_be_visible()
    await assert_all_chinese(page)
    await page.click("button[name=language][value=en]")
    await expect(page.locator("html")).to_have_attribute("lang", "en")
    await expect(page.locator("form[action='/logout/'] button")).to_have_text("Log out")
