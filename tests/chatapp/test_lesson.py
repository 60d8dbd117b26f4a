"""The lesson: what it says of each button is what the button does."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from branching import check, threads
from branching.models import IndexedCheckpoint, Thread
from chatapp import engine
from chatapp.lesson import CHAPTERS
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)


async def begun(tab: Tab) -> Tab:
    """The tab, on a lesson's thread."""
    response = await tab.client.post("/lesson/")
    assert response.status_code == 302
    return Tab(tab.client, await Thread.objects.aget(pk=response["Location"].split("/")[2]))


async def press(tab: Tab, name: str) -> str:
    """The page of the chapter after its press, when all is at rest."""
    response = await tab.post(f"lesson/{name}/", htmx=False)
    assert response.status_code == 302, response.content.decode()
    await tab.rest()
    return (await tab.client.get(response["Location"])).content.decode()


async def test_each_chapter_adds_what_it_says(tab: Tab) -> None:
    lesson = await begun(tab)
    for chapter in CHAPTERS:
        page = await press(lesson, chapter.name)
        assert "data-as-said" in page, chapter.name
        assert f'data-came="{len(chapter.adds)}"' in page
        assert page.count("data-fresh") == len(chapter.adds)
    assert not await check.check(engine.get(), lesson.thread)


async def test_the_chain_of_the_whole_lesson(tab: Tab) -> None:
    """
    0 ── 1 ── 2 ─┬─ 3 ── 4 ── 5 ── 6 ── 7
     │           └─ 8 ── 9
     ├─ 10 ── 11 ── 12
     └─ 13                       and 14 beside 2: it grows from 1
    """
    lesson = await begun(tab)
    for chapter in CHAPTERS:
        await press(lesson, chapter.name)
    rows = [row async for row in IndexedCheckpoint.objects.filter(thread=lesson.thread).order_by("pk")]
    number = {row.checkpoint_id: at for at, row in enumerate(rows)}
    assert [number.get(row.parent_id) for row in rows] == [None, 0, 1, 2, 3, 4, 5, 6, 2, 8, 0, 10, 11, 0, 1]
    assert [row.source for row in rows[8:]] == ["fork", "loop", "update", "loop", "loop", "update", "fork"]


async def test_a_press_that_comes_too_early_is_refused_in_words(tab: Tab) -> None:
    lesson = await begun(tab)
    for name in ("regenerate", "switch", "edit", "dead-end"):
        response = await lesson.post(f"lesson/{name}/", htmx=False)
        assert response.status_code == 409
        assert "press the button there first" in response.content.decode()
    assert not await lesson.thread.checkpoints.aexists()


async def test_an_open_page_hears_of_news_only(tab: Tab) -> None:
    lesson = await begun(tab)
    page = await press(lesson, "send")
    [poll] = re.findall(r'hx-get="([^"]*lesson[^"]*)"', page)
    headers = {"HX-Request": "true"}
    assert (await tab.client.get(poll.replace("&amp;", "&"), headers=headers)).status_code == 204
    await lesson.send("by another hand")
    piece = (await tab.client.get(poll.replace("&amp;", "&"), headers=headers)).content.decode()
    assert piece.count("data-checkpoint-id") == 8
    assert "by another hand as well" in piece


async def test_only_echos_threads_have_one_and_only_their_owner_takes_it(tab: Tab, bob: User) -> None:
    chat = await threads.create(tab.thread.owner, assistant="chat")
    assert (await tab.client.get(f"/threads/{chat.pk}/lesson/send/")).status_code == 404
    assert (await tab.client.get(f"{tab.url}lesson/nothing/")).status_code == 404
    stranger = AsyncClient()
    await stranger.aforce_login(bob)
    assert (await stranger.get(f"{tab.url}lesson/send/")).status_code == 404
    assert (await stranger.post(f"{tab.url}lesson/send/", {"head_version": 0, "key": "k"})).status_code == 404
