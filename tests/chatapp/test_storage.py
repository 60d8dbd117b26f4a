"""The page that tells how much room a thread takes, and deletes a branch without JavaScript."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.http import HttpResponse

from branching import sizes
from tests.chatapp.conftest import Tab, texts_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def grown(tab: Tab) -> Tab:
    """h1 ── e1 and, shown, h1' ── e1'."""
    await tab.send("first wording")
    version = (await tab.view()).versions[0]
    await tab.post(f"messages/{version.pk}/edit/", content="second wording")
    await tab.post("runs/")
    await tab.rest()
    return tab


async def page(tab: Tab) -> str:
    response = await tab.client.get(f"{tab.url}storage/")
    assert response.status_code == 200
    return response.content.decode()


def other(html: str) -> str:
    """The address at which the branch that is not shown is deleted."""
    [path] = re.findall(r'href="[^"]*?(storage/\d+/delete/)"', html)
    return path


def command(html: str) -> dict[str, Any]:
    """The fields of the last form of a page."""
    return dict(re.findall(r'name="(head_version|key|message)" value="([^"]*)"', html.split("<form")[-1]))


async def press(tab: Tab, path: str, fields: dict[str, Any]) -> HttpResponse:
    return await tab.client.post(tab.url + path, fields)


async def test_it_tells_the_total_and_each_branch(grown: Tab) -> None:
    html = await page(grown)
    found = await sizes.storage(grown.thread)
    assert f'data-storage="{found.size.bytes}"' in html
    assert [int(each) for each in re.findall(r'data-own-bytes="(\d+)"', html)] == [
        branch.own_bytes for branch in sorted(found.branches, key=lambda each: not each.is_shown)
    ]
    assert "first wording" in html
    assert "Shown now" in html
    assert html.count('data-action="delete-branch"') == html.count('data-action="show-branch"') == 1


async def test_an_empty_thread_has_no_branches(tab: Tab) -> None:
    html = await page(tab)
    assert 'data-storage="0"' in html
    assert "Nothing has been said yet." in html


async def test_show_leads_to_the_branch(grown: Tab) -> None:
    html = await page(grown)
    form = html.split('data-action="show-branch"')[0].split("<form")[-1]
    response = await press(grown, "head/", command(f"<form{form}"))
    assert response.status_code == 302
    assert await grown.texts() == ["first wording", "回复：first wording"]


async def test_delete_asks_and_then_deletes(grown: Tab) -> None:
    path = other(await page(grown))
    question = (await grown.client.get(grown.url + path)).content.decode()
    assert "2 messages go" in question
    assert len((await grown.view()).versions) == 2
    response = await press(grown, path, command(question))
    assert (response.status_code, response["Location"]) == (302, f"{grown.url}storage/")
    assert (await page(grown)).count("data-branch=") == 1
    assert (await grown.view()).versions[0].total == 1
    assert (await press(grown, path, command(question))).status_code == 302, "pressed twice it is done once"
    assert (await grown.client.get(grown.url + path)).status_code == 404


async def test_what_is_shown_now_is_not_deleted_and_the_page_says_why(grown: Tab) -> None:
    last = (await grown.view()).versions[-1].pk
    assert (await grown.client.get(f"{grown.url}storage/{last}/delete/")).status_code == 404
    response = await grown.post(f"storage/{last}/delete/", htmx=False)
    assert response.status_code == 409
    assert "is shown now" in response.content.decode()
    assert len((await grown.view()).versions) == 2


async def test_a_page_that_is_stale_deletes_nothing(grown: Tab) -> None:
    path = other(await page(grown))
    question = command((await grown.client.get(grown.url + path)).content.decode())
    await grown.send("more")
    response = await press(grown, path, question)
    assert response.status_code == 409
    assert "moved on" in response.content.decode()
    assert (await page(grown)).count("data-branch=") == 2


async def test_the_conversation_is_as_it_was(grown: Tab) -> None:
    path = other(await page(grown))
    await press(grown, path, command((await grown.client.get(grown.url + path)).content.decode()))
    html = (await grown.client.get(grown.url)).content.decode()
    assert texts_of(html) == ["second wording", "回复：second wording"]
    assert f"{grown.url}storage/" in html
