"""Links to a version: they show that version for ever, to anybody, and nothing else, until they are taken back."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from branching import check, prune
from branching.database import on_database
from branching.models import Share, Thread
from chatapp import engine
from tests.chatapp.conftest import Tab, texts_of
from tests.long import plant

pytestmark = pytest.mark.django_db(transaction=True)


async def link(tab: Tab, slot: int = -1) -> str:
    """The address of a link to what is shown, up to this message."""
    message = (await tab.view()).versions[slot].pk
    await tab.client.post(f"{tab.url}share/", {"message": message})
    page = (await tab.client.get(f"{tab.url}share/")).content.decode()
    return re.search(r'value="http://[^/]+(/shared/[\w-]+/)"', page)[1]


async def seen(address: str, status: int = 200) -> str:
    """What a stranger without an account sees there, blanks aside."""
    response = await AsyncClient().get(address)
    assert response.status_code == status
    return " ".join(response.content.decode().split())


async def test_a_stranger_reads_exactly_that_version_for_ever(tab: Tab) -> None:
    """
    h1 ─┬─ a1 (shared) ── h2 ── a2
        └─ a1'
    h1'── b1
    """
    await tab.send("h1")
    address = await link(tab)
    before = await seen(address)
    assert texts_of(before) == await tab.texts()
    await tab.send("h2 is a secret")
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/")
    await tab.rest()
    await tab.post(f"messages/{(await tab.view()).versions[0].pk}/edit/", content="another secret")
    await tab.post("rename/", title="a new title")
    assert await seen(address) == before
    assert "secret" not in before and tab.thread.owner.username not in before
    assert str(tab.thread.pk) not in before


async def test_it_is_the_same_link_when_one_asks_again_and_another_for_another_version(tab: Tab) -> None:
    await tab.send("h1")
    first = await link(tab)
    assert await link(tab) == first
    await tab.send("h2")
    assert await link(tab) != first
    assert texts_of(await seen(first)) == ["h1", "回复：h1"]


async def test_what_is_taken_back_leads_nowhere_and_a_new_link_is_another(tab: Tab) -> None:
    await tab.send("h1")
    address = await link(tab)
    share = await Share.objects.aget()
    assert (await tab.client.post(f"{tab.url}share/{share.pk}/revoke/")).status_code == 302
    await seen(address, 404)
    await seen("/shared/nonsense/", 404)
    assert await link(tab) != address


async def test_only_the_owner_makes_lists_and_takes_back(tab: Tab, bob: User) -> None:
    await tab.send("h1")
    address = await link(tab)
    share, message = await Share.objects.aget(), (await tab.view()).versions[1].pk
    stranger = AsyncClient()
    await stranger.aforce_login(bob)
    assert (await stranger.get(f"{tab.url}share/")).status_code == 404
    assert (await stranger.post(f"{tab.url}share/", {"message": message})).status_code == 404
    assert (await stranger.post(f"{tab.url}share/{share.pk}/revoke/")).status_code == 404
    own = await Thread.objects.acreate(owner=bob, assistant="echo")
    assert (await stranger.post(f"/threads/{own.pk}/share/", {"message": message})).status_code == 404
    assert (await stranger.post(f"/threads/{own.pk}/share/{share.pk}/revoke/")).status_code == 404
    assert (await stranger.get(address)).status_code == 200


async def test_it_is_not_to_be_found_by_search_engines_nor_told_to_others_and_makes_no_guest(tab: Tab) -> None:
    await tab.send("h1")
    response = await AsyncClient().get(await link(tab))
    assert response["X-Robots-Tag"] == "noindex, nofollow"
    assert response["Referrer-Policy"] == "no-referrer"
    assert "no-store" in response["Cache-Control"]
    assert not response.cookies
    assert await User.objects.acount() == 1


async def test_a_long_one_is_read_piece_by_piece_and_no_further_than_it_goes(tab: Tab) -> None:
    await on_database(plant)(tab.thread, 200)
    address = await link(tab, slot=-3)
    page = await seen(address)
    shown = texts_of(page)
    assert len(shown) < 70
    [more] = re.findall(r'hx-get="(/shared/[^"]+)"', page)
    piece = (await AsyncClient().get(more, headers={"HX-Request": "true"})).content.decode()
    assert not set(texts_of(piece)) & set(shown)
    assert texts_of(await seen(more)) == texts_of(piece)
    after = (await tab.view()).versions[-1].pk
    await seen(f"{address}{after}/", 404)


async def test_it_outlives_a_rebuilt_index_and_a_pruning_but_not_its_version(tab: Tab) -> None:
    """
    h1 ─┬─ a1 (shared)
        └─ a1' (HEAD)
    """
    await tab.send("h1")
    address = await link(tab)
    before = texts_of(await seen(address))
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/")
    await tab.rest()
    await check.rebuild(engine.get(), await Thread.objects.aget(pk=tab.thread.pk))
    assert texts_of(await seen(address)) == before
    rules = prune.Rules(keep="head")
    await on_database(prune.prune)(await Thread.objects.aget(pk=tab.thread.pk), rules, really=True)
    assert texts_of(await seen(address)) == before
    view = await tab.view()
    response = await tab.post(f"storage/{view.versions[1].previous}/delete/", htmx=False)
    assert response.status_code == 302
    await seen(address, 404)
    page = (await tab.client.get(f"{tab.url}share/")).content.decode()
    assert "the link leads nowhere" in page


async def test_what_is_hostile_stays_text(tab: Tab) -> None:
    await tab.post("rename/", title="<script>t</script>")
    await tab.send("<script>alert(1)</script>")
    page = await seen(await link(tab))
    assert "<script>alert" not in page and "<script>t" not in page
