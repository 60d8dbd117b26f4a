"""Searching, pinning and archiving as the browser asks for them."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from branching import threads
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)


async def page(tab: Tab, address: str) -> str:
    return (await tab.client.get(address)).content.decode()


async def test_what_was_found_is_marked_and_hostile_words_are_only_words(tab: Tab) -> None:
    await tab.send("<script>alert(1)</script> tides")
    html = await page(tab, "/search/?q=<script>alert+tides")
    assert "<mark>&lt;script&gt;alert</mark>" in html and "<mark>tides</mark>" in html
    assert "<script>alert" not in html


async def test_a_hit_on_another_version_opens_that_version_at_that_message(tab: Tab) -> None:
    await tab.send("an old boat")
    old = (await tab.view()).versions[0].pk
    await tab.post(f"messages/{old}/edit/", content="a new ship")
    assert "data-on-branch" not in await page(tab, "/search/?q=boat")
    response = await tab.post("head/", htmx=False, message=old)
    assert (response.status_code, response["Location"]) == (302, f"{tab.url}messages/{old}/")
    assert (await tab.texts())[0] == "an old boat"


@pytest.mark.parametrize("address", ["/search/?q=%00", "/search/?q=" + "x" * 5_000, "/search/?q=a&before=1"])
async def test_odd_questions_are_answered(tab: Tab, address: str) -> None:
    assert (await tab.client.get(address)).status_code == 200


async def test_a_page_that_cannot_be_is_missing(tab: Tab) -> None:
    assert (await tab.client.get("/search/?q=a&before=x")).status_code == 404


async def test_archived_is_out_of_the_list_and_comes_back(tab: Tab) -> None:
    await tab.send("tides")
    await tab.post("keep/", archived="true")
    item = f'id="thread-{tab.thread.pk}"'
    assert item not in await page(tab, "/") and item in await page(tab, "/search/")
    await tab.post("keep/", archived="false")
    assert item in await page(tab, "/") and item not in (await page(tab, "/search/")).partition('class="thread"')[2]


async def test_pinned_is_first_and_said_so(tab: Tab) -> None:
    await threads.create(tab.thread.owner, assistant="echo")
    response = await tab.post("keep/", htmx=False, pinned="true")
    assert response.status_code == 302
    html = await page(tab, "/")
    assert html.index("Pinned") < html.index(f"thread-{tab.thread.pk}") < html.index("Today")


async def test_nobody_else_pins_it(tab: Tab, bob: User) -> None:
    client = AsyncClient()
    await client.aforce_login(bob)
    assert (await client.post(f"{tab.url}keep/", {"pinned": "true"})).status_code == 404
