"""What only a real server and a real browser can prove about the platform."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import Page, expect

from tests.e2e.conftest import OUTAGE, NewPage
from tests.e2e.server import ROOT, Server


async def test_the_server_shows_its_pages_and_survives_a_restart(
    server: Server, page: Page, allowed_problems: list[str]
) -> None:
    await page.goto("/login/")
    allowed_problems.append(OUTAGE)  # the icon may still have been on its way
    before = len(server.log())
    server.restart()
    await page.reload()
    await expect(page.locator("input[name=username]")).to_be_visible()
    assert "Traceback" not in server.log()[before:]


async def test_static_files_come_without_a_collecting_step(page: Page) -> None:
    assets = [path.relative_to(ROOT) for path in (ROOT / "static").rglob("*.css")]
    answers = [await page.request.get(f"/{path}") for path in assets]
    assert answers and all(answer.ok for answer in answers)


async def test_inline_script_is_refused_and_noticed(page: Page, allowed_problems: list[str]) -> None:
    """Proves the policy, and that these fixtures would fail a test on a breach."""
    seen: list[str] = []
    page.on("console", lambda message: seen.append(message.text))
    await page.goto("/login/")
    script = "Object.assign(document.createElement('script'), {text: 'window.bad = 1'})"
    await page.evaluate(f"document.body.append({script})")
    assert await page.evaluate("window.bad") is None
    assert re.search("Content Security Policy", " ".join(seen))
    allowed_problems.append("Content Security Policy")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_log_in_fits_a_phone(new_page: NewPage, scheme: str) -> None:
    page = await new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    await page.goto("/login/")
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390


async def test_a_guest_who_signs_up_is_the_same_person_with_a_name(page: Page) -> None:
    await page.goto("/")
    cookie = {c["name"]: c for c in await page.context.cookies()}["sessionid"]
    assert cookie["httpOnly"] and cookie["sameSite"] == "Lax"
    await page.goto("/signup/")
    await page.fill("input[name=username]", "grace")
    await page.fill("input[name=password1]", "correct-horse-battery")
    await page.fill("input[name=password2]", "correct-horse-battery")
    await page.press("input[name=password2]", "Enter")
    await expect(page.get_by_text("grace")).to_be_visible()
