"""The pages that say what each button does, and what a run did of what was said."""

from __future__ import annotations

import asyncio
import html
import re
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test.utils import CaptureQueriesContext

from branching import threads
from branching.assistants.concierge import clock
from branching.database import on_database
from branching.models import IndexedCheckpoint, Run
from chatapp import engine
from chatapp.runner import runner
from tests.branching.conftest import Story
from tests.branching.desk import BOTH, TODAY
from tests.branching.models import HANG, Scripted, models_with
from tests.branching.test_inspection import all_rows
from tests.chatapp.conftest import Tab
from tests.long import plant

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = '<img src=x onerror=alert(1)><b hx-get="/logout/" hx-trigger="load">{{ 7 }}</b>'


async def page(tab: Tab, path: str = "", status: int = 200, **more: Any) -> str:
    response = await tab.client.get(f"{tab.url}explain/{path}", **more)
    assert response.status_code == status, response.content.decode()[-2000:]
    return response.content.decode()


def offered(text: str) -> list[tuple[str, str]]:
    """The buttons that a page tells of, and the addresses where each is explained."""
    found = re.findall(r'hx-get="([^"]*/explain/[^"]*)"[^>]*data-button[^>]*>\s*<summary[^>]*>([^<]*)<', text)
    return [(html.unescape(label), html.unescape(url)) for url, label in found]


async def test_each_button_of_the_page_is_there_and_can_be_read_without_javascript(tab: Tab) -> None:
    await tab.send("h1")
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/")
    await tab.rest()
    before = await all_rows()
    text = await page(tab)
    labels = [label for label, _ in offered(text)]
    assert labels == ["Send", "Undo", "Regenerate", "Several versions at once", "Previous version", "Edit"]
    for _, url in offered(text):
        assert f'href="{html.escape(url)}"' in text
        whole = (await tab.client.get(url)).content.decode()
        piece = (await tab.client.get(url, headers={"HX-Request": "true"})).content.decode()
        assert "data-refused" not in whole and "<html" in whole and "<html" not in piece
        assert "data-python" in piece or "data-nothing" in piece
        assert "data-head-from" in piece
    assert await all_rows() == before


async def test_what_is_said_of_regenerate(tab: Tab) -> None:
    await tab.send("h1")
    text = await page(tab, f"replay/{(await tab.view()).versions[1].pk}/")
    assert re.findall(r'data-added="(\w+)"', text) == ["fork", "loop"]
    assert ('data-runs="reply"' in text, 'data-rests="booking"' in text) == (True, True)
    assert "ainvoke(None, config" in text and "/runs/wait" in text
    assert re.search(r'data-sent="reply" data-exact>.*?h1', text, re.DOTALL)


async def test_the_buttons_of_the_time_machine_are_told_where_they_are(tab: Tab) -> None:
    await tab.send("h1")
    rows = IndexedCheckpoint.objects.filter(thread=tab.thread).order_by("pk")
    ids = [row.checkpoint_id async for row in rows]
    replay = (await tab.client.get(f"{tab.url}checkpoints/{ids[2]}/replay/")).content.decode()
    assert re.findall(r'data-added="(\w+)"', replay) == ["fork", "loop"] and 'data-runs="reply"' in replay
    given = {"node-0": "booking", "set-0-messages": '[{"type": "human", "content": "more"}]', "preview": "1"}
    fork = (await tab.post(f"checkpoints/{ids[3]}/fork/", htmx=False, **given)).content.decode()
    assert re.findall(r'data-added="(\w+)"', fork) == ["update", "loop"] and fork.count("data-request") == 2
    begin = await page(tab, f"branch-off/at/{ids[3]}/")
    assert re.findall(r'data-added="(\w+)"', begin) == ["input", "update", "update"]


async def test_an_arrow_and_undo_run_and_store_nothing(tab: Tab) -> None:
    await tab.send("h1")
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/")
    await tab.rest()
    view = await tab.view()
    for path in (f"switch/{view.versions[1].previous}/", "undo/"):
        text = await page(tab, path)
        assert "data-nothing" in text and "data-python" not in text and f'data-head-from="{view.head}"' in text


async def test_what_one_would_write_is_shown_as_text(tab: Tab) -> None:
    await tab.send(EVIL)
    text = await page(tab, "send/?text=" + "%3Cb%20hx-get%3D/%3Ebold")
    assert "<b hx-get" not in text and "<img" not in text
    assert "&lt;b hx-get=/&gt;bold" in text
    reply = (await tab.view()).versions[1].pk
    assert "<img" not in await page(tab) and "<img" not in await page(tab, f"replay/{reply}/")


async def test_a_button_that_can_not_be_pressed_says_why(tab: Tab) -> None:
    await tab.send("h1")
    text = await page(tab, "resume/", status=409)
    assert "data-refused" in text and "already has its reply" in text
    piece = await page(tab, "resume/", headers={"HX-Request": "true"})
    assert "data-refused" in piece
    await page(tab, "stop/", status=404)
    for path in ("nonsense/", "replay/", "replay/999/", "switch/999/", "send/1/", "decide/at/nowhere/", "go/at/x/"):
        await page(tab, path, status=404)


async def test_what_a_run_did_stands_beside_what_was_said(tab: Tab) -> None:
    await tab.send("h1")
    run = await Run.objects.aget()
    text = await page(tab, f"runs/{run.pk}/")
    assert 'data-agrees="yes"' in text
    assert re.findall(r'data-pair="(\w+)"', text) == ["same"] * 4
    assert set(re.findall(r'data-verdict="(\w+)"', text)) == {"same"}
    assert f"/explain/runs/{run.pk}/" in await page(tab)
    assert f"/explain/runs/{run.pk}/" in (await tab.client.get(f"{tab.url}checkpoints/?run={run.pk}")).content.decode()


async def test_one_that_is_under_way_and_then_stopped(tab: Tab) -> None:
    engine.get().models = models_with(Scripted(replies=(("half", HANG),)))
    chat = Tab(tab.client, await threads.create(tab.thread.owner, assistant="chat"))
    await chat.post("messages/", content="q")
    run = (await chat.view()).run
    assert offered(await page(chat))[0][0] == "Stop"
    for _ in range(500):
        if runner.live(run.id).reply.size:
            break
        await asyncio.sleep(0.01)
    assert "as_node" in await page(chat, "stop/") or "StateUpdate" in await page(chat, "stop/")
    await page(chat, "send/", status=409)
    await chat.post(f"runs/{run.id}/stop/")
    await chat.rest()
    text = await page(chat, f"runs/{run.id}/")
    assert 'data-agrees="yes"' in text and "missing" in re.findall(r'data-pair="(\w+)"', text)


async def test_questions_and_their_answers(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "today", lambda: TODAY)
    guest = Tab(tab.client, await threads.create(tab.thread.owner, assistant="concierge"))
    await guest.send(BOTH)
    found = offered(await page(guest))
    asked = [f"Book this room? · {room}" for room in ("Bell Tower Hotel · Suite", "City Wall Inn · Standard room")]
    labels = [f"{decision} · {each}" for decision in ("Approve", "Reject") for each in [*asked, "all"]]
    assert [label for label, _ in found][:7] == ["Send", *labels]
    told = (await guest.client.get(found[1][1])).content.decode()
    assert "Command(resume=" in told and 'data-runs="tools"' in told and "goes on waiting" in told
    every = (await guest.client.get(found[3][1])).content.decode()
    assert re.findall(r'data-added="(\w+)"', every) == ["loop", "loop"] and 'data-may-run="tools,agent"' in every
    assert "Each gets a result first" in (await guest.client.get(found[0][1])).content.decode()


def fields(text: str) -> dict[str, Any]:
    """What the form on a button's page sends when it is pressed."""
    form = text.partition('<form class="told__form" method="post">')[2].partition("</form>")[0]
    return {name: html.unescape(value) for name, value in re.findall(r'name="([\w-]+)" value="([^"]*)"', form)}


async def pressed(tab: Tab, path: str) -> str:
    """The page to which pressing the button leads."""
    told = await page(tab, path)
    response = await tab.client.post(f"{tab.url}explain/{path}", fields(told))
    assert response.status_code == 302, response.content.decode()[-2000:]
    await tab.rest()
    return (await tab.client.get(response["Location"])).content.decode()


async def test_a_button_is_pressed_where_it_is_explained_and_compared(tab: Tab) -> None:
    for path in ("send/?text=h1", "send/?text=h2"):
        assert 'data-agrees="yes"' in await pressed(tab, path)
    first, reply = [(await tab.view()).versions[at].pk for at in (0, 1)]
    assert re.findall(r'data-pair="(\w+)"', await pressed(tab, f"replay/{reply}/")) == ["same", "same"]
    arrow = (await tab.view()).versions[1].previous
    assert 'data-press="switch"' in await pressed(tab, f"switch/{arrow}/")
    assert await tab.texts() == ["h1", "回复：h1", "h2", "回复：h2"]
    assert 'data-agrees="yes"' in await pressed(tab, f"edit/{first}/?text=other")
    assert await tab.texts() == ["other", "回复：other"]
    assert 'data-press="undo"' in await pressed(tab, "undo/")
    assert len(await tab.texts()) == 4
    reply = (await tab.view()).versions[-1].pk
    assert 'data-agrees="yes"' in await pressed(tab, f"several/{reply}/?count=2")
    assert (await tab.view()).versions[-1].total == 3


async def test_a_page_that_is_stale_presses_nothing(tab: Tab) -> None:
    await tab.send("h1")
    given = fields(await page(tab, "send/?text=late"))
    await tab.send("h2")
    response = await tab.client.post(f"{tab.url}explain/send/", given)
    assert response.status_code == 409 and "moved on" in response.content.decode()
    assert len(await tab.texts()) == 4
    assert (await tab.client.post(f"{tab.url}explain/nonsense/", given)).status_code == 404
    assert (await tab.client.post(f"{tab.url}explain/undo/", {})).status_code == 422


async def test_what_a_dead_run_has_left_is_taken_in_first(tab: Tab) -> None:
    """All its checkpoints were saved: so there is nothing to resume."""
    story = Story(engine.get(), tab.thread)
    await story.send("h1")
    await (await (await story.begin("send", text="h2")).take(4)).crash()
    assert "already has its reply" in await page(tab, "resume/", status=409)
    assert await tab.texts() == ["h1", "回复：h1", "h2", "回复：h2"]


async def test_a_run_whose_checkpoints_are_gone_says_so(tab: Tab) -> None:
    await tab.send("h1")
    run = await Run.objects.aget()
    await IndexedCheckpoint.objects.filter(checkpoint_id=run.tip).adelete()
    assert "can&#x27;t be found" in await page(tab, f"runs/{run.pk}/", status=409)


async def test_2000_messages_cost_as_many_queries_as_20(tab: Tab) -> None:
    found = []
    for length in (20, 2_000):
        long = Tab(tab.client, await threads.create(tab.thread.owner, assistant="echo"))
        line = await on_database(plant)(long.thread, length, range(2, length, 2))
        paths = ("", "send/", f"replay/{line.path[-1]}/", f"switch/{line.forks[-1]}/")
        found.append([await on_database(counted)(long, path) for path in paths])
    assert found[0] == found[1]


def counted(tab: Tab, path: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        async_to_sync(page)(tab, path)
    return len(queries)
