"""The map's page and the names of versions, without JavaScript."""

from __future__ import annotations

import re
import uuid

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from branching.database import on_database
from tests.chatapp.conftest import Tab
from tests.long import plant

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = "<script>alert(1)</script>"


async def page(tab: Tab, path: str = "map/") -> str:
    response = await tab.client.get(tab.url + path)
    assert response.status_code == 200
    return response.content.decode()


async def branched(tab: Tab) -> None:
    """
    h1 ─┬─ a1
        └─ a1' (HEAD)
    """
    await tab.send(EVIL)
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/")
    await tab.rest()


async def test_pressing_a_spot_shows_that_version_and_what_is_hostile_stays_text(tab: Tab) -> None:
    await branched(tab)
    text = await page(tab)
    assert EVIL not in text and "&lt;script&gt;alert" in text
    spots = re.findall(r'data-spot="(\d+)"', text)
    assert len(spots) == 3
    key, version = uuid.uuid4().hex, re.search(r'name="head_version" value="(\d+)"', text)[1]
    fields = {"head_version": version, "key": key, "message": spots[1]}
    response = await tab.client.post(f"{tab.url}head/", fields)
    assert response["Location"] == f"{tab.url}messages/{spots[1]}/"
    assert (await tab.view()).versions[1].pk == int(spots[1])


async def test_a_long_thread_is_folded_and_unfolds_by_its_address(tab: Tab) -> None:
    await on_database(plant)(tab.thread, 900)
    text = await page(tab)
    [address] = re.findall(r'href="([^"#]*)#[^"]*" data-action="unfold"', text)
    unfolded = await page(tab, f"map/{address.replace('&amp;', '&')}")
    assert len(re.findall(r"data-spot=", text)) == 2
    assert len(re.findall(r"data-spot=", unfolded)) == 400 and "1 / 3" in unfolded


async def test_a_long_map_opens_where_one_is_or_at_what_was_found(tab: Tab) -> None:
    """Of 900 messages 400 are on a page; what one steps to may be on another."""
    rows = await on_database(plant)(tab.thread, 900)
    del rows
    first = (await tab.view()).versions[0]
    path = f"map/?open={await tab.thread.messages.order_by('pk').values_list('pk', flat=True).afirst()}"
    assert "1 / 3" in await page(tab, path)
    assert "3 / 3" in await page(tab, f"{path}&at={first.pk}")
    found = await page(tab, f"map/?q=%22{first.text[:12]}%22")
    steps = re.findall(r'href="([^"]+)" data-step="(\d+)"', found)
    assert steps
    for address, pk in steps[-1:]:
        assert f'id="spot-{pk}"' in await page(tab, f"map/{address.replace('&amp;', '&').split('#')[0]}")


async def test_a_version_is_named_on_its_page_and_shown_so(tab: Tab) -> None:
    await branched(tab)
    pk = (await tab.view()).versions[1].pk
    response = await tab.client.post(f"{tab.url}messages/{pk}/label/", {"label": EVIL[:60], "from": "map"})
    assert response["Location"] == f"{tab.url}map/?at={pk}#spot-{pk}"
    for path in ("map/", "", f"messages/{pk}/label/"):
        text = await page(tab, path)
        assert EVIL not in text and "&lt;script&gt;alert(1)" in text
    refused = await tab.client.post(f"{tab.url}messages/{pk}/label/", {"label": "y" * 61})
    assert refused.status_code == 422 and "y" * 61 in refused.content.decode()


async def test_both_are_their_owners(tab: Tab, bob: User) -> None:
    await branched(tab)
    pk = (await tab.view()).versions[1].pk
    stranger = AsyncClient()
    await stranger.aforce_login(bob)
    assert (await stranger.get(f"{tab.url}map/")).status_code == 404
    assert (await stranger.get(f"{tab.url}messages/{pk}/label/")).status_code == 404
    assert (await stranger.post(f"{tab.url}messages/{pk}/label/", {"label": "x"})).status_code == 404
    assert (await tab.client.get(f"{tab.url}messages/{pk + 99}/label/")).status_code == 404
