"""Storage as one uses it: the page, a deletion that an open tab sees, pruning beside the server, and the admin."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, answered, second_window
from tests.e2e.server import Server

WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


async def grown(page: Page) -> Chat:
    """h1 ─ e1 and h1' ─ e1', which is shown."""
    chat = await Chat.begin(page)
    await chat.say("first wording")
    await chat.edit(0, "second wording")
    return chat


async def open_storage(page: Page) -> None:
    await page.locator("[data-current] summary").click()
    await page.locator("[data-current] [data-action=storage]").click()
    await expect(page.locator("[data-branch]")).to_have_count(2)


async def delete_the_other(page: Page) -> None:
    await page.locator("[data-action=delete-branch]").click()
    await page.locator("[data-action=confirm-delete]").click()
    await expect(page.locator("[data-branch]")).to_have_count(1)


async def test_a_branch_is_shown_or_deleted_and_other_windows_see_it(page: Page, new_page: NewPage) -> None:
    chat = await grown(page)
    other = await second_window(chat, new_page)
    await open_storage(page)
    await expect(page.locator("[data-branch][data-shown] [data-action=delete-branch]")).to_have_count(0)
    await page.locator("[data-action=show-branch]").click()
    await expect(chat.texts).to_have_text(answered("first wording"))
    await expect(other.texts).to_have_text(answered("first wording"))
    await open_storage(page)
    await delete_the_other(page)
    await expect(other.texts).to_have_text(answered("first wording"))
    await expect(other.page.locator("[data-versions]")).to_have_count(0)
    await other.say("and on it goes")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_fits_a_phone_and_works_without_javascript(new_page: NewPage, scheme: str) -> None:
    page = await new_page()
    chat = await grown(page)
    session = await page.context.storage_state()
    size = {"width": 390, "height": 800}
    plain = await new_page(storage_state=session, viewport=size, java_script_enabled=False, color_scheme=scheme)
    await plain.goto(f"{chat.page.url}storage/")
    assert not await plain.evaluate(WIDE)
    await plain.locator("[data-action=delete-branch]").click()
    assert not await plain.evaluate(WIDE)
    await plain.locator("[data-action=confirm-delete]").click()
    await expect(plain.locator("[data-branch]")).to_have_count(1)


async def test_case_66_pruned_beside_the_server_every_arrow_and_button_works(server: Server, page: Page) -> None:
    """Case 66: prune, then every arrow and every Regenerate, on a page that is open all the while."""
    chat = await grown(page)
    await chat.regenerate(1)
    server.manage("prune", "--keep", "tips", "--yes")
    await chat.step(1, "previous")
    await chat.step(0, "previous")
    await expect(chat.texts).to_have_text(answered("first wording"))
    await chat.regenerate(1)
    await chat.edit(0, "third wording")
    assert await chat.versions() == ["3/3", ""]
    server.manage("prune", "--keep", "head", "--yes")
    await chat.reload()
    assert await chat.versions() == ["", ""]
    await chat.regenerate(1)
    await chat.say("and on it goes")
    assert "All threads agree" in server.manage("check_threads")


async def test_the_admin_works_under_our_policy(server: Server, new_page: NewPage) -> None:
    """A breach of it is a console error, which fails the test; `new_page` sees to that."""
    make = "from django.contrib.auth.models import User; User.objects.create_superuser('root', password='root')"
    server.manage("shell", "-c", make)
    page = await new_page()
    await grown(page)
    await page.context.clear_cookies()
    await page.goto("/admin/login/?next=/admin/branching/thread/")
    await page.fill("[name=username]", "root")
    await page.fill("[name=password]", "root")
    await page.locator("[type=submit]").click()
    await expect(page.locator("td.field-size").first).to_contain_text("B")
    await page.locator(".field-title_or_id a").first.click()
    await expect(page.locator("[name=_save]")).to_have_count(0)
    await page.goto("/admin/auth/user/?q=guest")
    await page.locator("#action-toggle").check()
    await page.locator("select[name=action]").select_option("delete_selected")
    await page.locator("button[name=index]").click()
    await expect(page.locator("#content")).to_contain_text("1 conversation")
