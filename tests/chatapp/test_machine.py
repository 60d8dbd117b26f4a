"""The time machine's pages: lists, one checkpoint, forks and replays by form, without JavaScript. Cases 67 and 87."""

from __future__ import annotations

import html
import json
import re
import uuid
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.http import HttpResponse
from django.test.utils import CaptureQueriesContext

from branching import threads
from branching.database import on_database
from branching.models import Booking, IndexedCheckpoint, Message, Thread
from chatapp import engine
from tests.branching.models import Scripted, models_with
from tests.branching.test_inspection import all_rows
from tests.chatapp.conftest import Tab
from tests.long import plant

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = '<img src=x onerror=alert(1)><div hx-get="/logout/" hx-trigger="load" id="composer">{{ 7 }}</div>'


async def page(tab: Tab, path: str = "", status: int = 200) -> str:
    response = await tab.client.get(f"{tab.url}checkpoints/{path}")
    assert response.status_code == status, response.content.decode()[-2000:]
    return response.content.decode()


def rows(text: str) -> list[dict[str, str]]:
    """The lines of a list, by their hooks."""
    return [dict(re.findall(r'data-([\w-]+)(?:="([^"]*)")?', row)) for row in re.findall(r"<tr id=[^>]*>", text)]


async def send_form(tab: Tab, path: str, **fields: Any) -> HttpResponse:
    return await tab.post(f"checkpoints/{path}", htmx=False, **fields)


async def ids(tab: Tab) -> list[str]:
    found = IndexedCheckpoint.objects.filter(thread=tab.thread).order_by("id").values_list("checkpoint_id", flat=True)
    return [each async for each in found]


async def test_the_list_tells_each_checkpoint_by_its_hooks(tab: Tab) -> None:
    await tab.send("h1")
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/")
    await tab.rest()
    found = rows(await page(tab))
    assert [(row["source"], row["step"], row["next"]) for row in found] == [
        ("loop", "3", ""), ("fork", "2", "reply"), ("loop", "2", ""), ("loop", "1", "reply"), ("loop", "0", "booking"),
        ("input", "-1", "__start__"),
    ]  # fmt: skip
    known = await ids(tab)
    assert [row["checkpoint-id"] for row in found] == known[::-1]
    assert [row["parent-id"] for row in found] == [known[4], known[2], known[2], known[1], known[0], ""]
    assert ["head" in row for row in found] == [True, *[False] * 5]
    assert ["on-path" in row for row in found] == [True, True, False, True, True, True]


async def test_case_67_it_goes_on_with_older_ones_and_says_where(tab: Tab) -> None:
    for number in range(14):
        await tab.send(f"h{number}")
    first = await page(tab)
    older = html.unescape(re.findall(r'href="([^"]*)" data-action="older"', first)[0])
    second = (await tab.client.get(older)).content.decode()
    assert [row["checkpoint-id"] for row in rows(first) + rows(second)] == (await ids(tab))[::-1]
    assert (len(rows(first)), len(rows(second)), 'data-action="older"' in second) == (50, 6, False)
    sifted = await page(tab, "?source=input&path=on")
    assert {row["source"] for row in rows(sifted)} == {"input"} and len(rows(sifted)) == 14
    await page(tab, "?source=nonsense", status=422)
    await page(tab, "?before=nowhere", status=404)


async def test_3000_checkpoints_cost_as_many_queries_as_30(tab: Tab) -> None:
    short, long = tab, Tab(tab.client, await threads.create(tab.thread.owner, assistant="echo"))
    await on_database(plant)(short.thread, 20, range(2, 20, 2))
    await on_database(plant)(long.thread, 2_000, range(2, 2_000, 2))
    assert await IndexedCheckpoint.objects.filter(thread=long.thread).acount() == 2_999
    await page(short)
    assert await on_database(counted)(short) == await on_database(counted)(long) < 10
    assert (len(rows(await page(short))), len(rows(await page(long)))) == (29, 50)


def counted(tab: Tab) -> int:
    with CaptureQueriesContext(connection) as queries:
        async_to_sync(page)(tab)
    return len(queries)


async def test_an_open_list_hears_of_news_only(tab: Tab) -> None:
    await tab.send("h1")
    poll = html.unescape(re.findall(r'hx-get="([^"]*)" hx-trigger="every 2s"', await page(tab))[0])
    htmx = {"HX-Request": "true"}
    assert (await tab.client.get(poll, headers=htmx)).status_code == 204
    await tab.send("h2")
    response = await tab.client.get(poll, headers=htmx)
    assert response.status_code == 200
    assert response.content.decode().lstrip().startswith('<div id="checkpoints"')
    assert len(rows(response.content.decode())) == 8


async def test_one_checkpoint_is_read_and_nothing_is_written(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    before = await all_rows()
    text = await page(tab, f"{known[2]}/state/")
    raw = (await tab.client.get(f"{tab.url}checkpoints/{known[2]}/state/?raw")).json()
    form = await page(tab, f"{known[2]}/fork/")
    await page(tab, f"{known[2]}/replay/")
    await page(tab, f"{known[2]}/difference/?with={known[3]}")
    assert await all_rows() == before
    assert f'data-checkpoint-id="{known[2]}"' in text and known[1] in text and known[3] in text
    assert (raw["next"], raw["values"]["messages"][0]["content"], raw["children"]) == (["reply"], "h1", [known[3]])
    nexts = dict(re.findall(r'<option value="([^"]+)" data-next="([^"]*)"', form))
    assert nexts == {"__start__": "booking", "booking": "reply", "reply": ""}
    assert "leads nowhere" in form


async def test_what_is_missing_is_missing_on_every_page(tab: Tab) -> None:
    await tab.send("h1")
    for path in ("state/", "state/?raw", "fork/", "replay/", "difference/?with=x"):
        await page(tab, f"nowhere/{path}", status=404)
    await page(tab, f"{(await ids(tab))[0]}/difference/?with=nowhere", status=404)


async def test_a_fork_is_looked_at_and_then_made(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    given = {"node-0": "booking", "set-0-messages": '[{"type": "human", "content": "more"}]'}
    looked = await send_form(tab, f"{known[3]}/fork/", preview="1", **given)
    assert 'data-looked="reply"' in looked.content.decode()
    assert looked.content.decode().count("data-request") == 2 and "abulk_update_state" in looked.content.decode()
    assert "&quot;content&quot;: &quot;more&quot;" in looked.content.decode(), "what was typed is still there"
    assert await ids(tab) == known
    made = await send_form(tab, f"{known[3]}/fork/", **given)
    assert (made.status_code, made["Location"]) == (302, tab.url)
    assert await tab.texts() == ["h1", "回复：h1", "more"]
    await tab.post("runs/")
    await tab.rest()
    assert await tab.texts() == ["h1", "回复：h1", "more", "回复：more"]


async def test_two_updates_are_one_checkpoint(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    one, two = (json.dumps([{"type": "human", "content": text}]) for text in ("one", "two"))
    await send_form(tab, f"{known[3]}/fork/", **{
        "node-0": "__start__", "set-0-messages": one, "node-1": "booking", "set-1-messages": two,
    })  # fmt: skip
    assert len(await ids(tab)) == len(known) + 1
    assert await tab.texts() == ["h1", "回复：h1", "one", "two"]


async def test_what_is_wrong_with_a_fork_is_said_at_its_field(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    for given, said in (
        ({"node-0": "booking", "set-0-messages": "hello"}, "This is no JSON"),
        ({"node-0": "booking", "set-0-messages": "NaN"}, "This is no JSON"),
        ({"node-0": "booking", "set-0-messages": "[" * 9_999}, "This is no JSON"),
        ({"node-0": "booking", "set-0-messages": "7"}, "Messages are a list"),
        ({"node-0": "nobody"}, "has no node “nobody”"),
        ({"node-0": "booking", "set-0-next": '["reply"]'}, "can't be changed like this"),
        ({}, "Say as which node"),
    ):
        response = await send_form(tab, f"{known[3]}/fork/", **given)
        assert response.status_code == 422
        assert said in html.unescape(response.content.decode())
    assert await ids(tab) == known


async def test_a_stale_page_changes_nothing_and_keeps_what_was_typed(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    for path, given in ((f"{known[3]}/fork/", {"node-0": "booking"}), (f"{known[2]}/replay/", {})):
        response = await send_form(tab, path, head_version=0, **given)
        assert response.status_code == 409
        assert "moved on" in response.content.decode()
    assert await ids(tab) == known


async def test_running_again_from_a_checkpoint(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    response = await send_form(tab, f"{known[2]}/replay/")
    assert (response.status_code, response["Location"]) == (302, tab.url)
    await tab.rest()
    assert (await tab.view()).versions[1].total == 2


async def test_running_again_where_the_graph_had_ended_says_that_nothing_will_run(tab: Tab) -> None:
    """One more row, source fork, in the list to which it leads."""
    await tab.send("h1")
    known = await ids(tab)
    assert "One more row is added: source fork, same content. Nothing will run." in await page(
        tab, f"{known[3]}/replay/"
    )
    response = await send_form(tab, f"{known[3]}/replay/")
    assert (response.status_code, response["Location"]) == (302, f"{tab.url}checkpoints/")
    await tab.rest()
    [copy, *_] = rows(await page(tab))
    assert (copy["source"], copy["parent-id"], copy["next"], "head" in copy) == ("fork", known[3], "", True)
    assert 'data-findings="0"' in await page(tab, "check/")


async def test_case_21_what_acts_on_the_world_asks_first_and_names_it(tab: Tab) -> None:
    """On a page that shows what was booked, and refuses without a yes."""
    tab = Tab(tab.client, await threads.create(tab.thread.owner, assistant="concierge"))
    await tab.send("Book the suite in Bell Tower Hotel for 2 nights from 2027-06-05")
    [asked] = (await tab.view()).waiting
    await tab.post(f"checkpoints/{asked.checkpoint_id}/answer/", question=asked.interrupt_id, decision="approve")
    await tab.rest()
    assert await Booking.objects.acount() == 1
    text = await page(tab, f"{asked.checkpoint_id}/replay/")
    assert 'data-done="book_hotel"' in text and "data-consent" in text and "XA-" in text
    refused = await send_form(tab, f"{asked.checkpoint_id}/replay/")
    assert refused.status_code == 409 and "act on the world again" in refused.content.decode()
    refused = await send_form(tab, f"{asked.checkpoint_id}/fork/", **{"node-0": "agent", "set-0-budget": "700"})
    assert refused.status_code == 409
    given = {"node-0": "agent", "set-0-budget": "700", "confirmed": "on"}
    assert (await send_form(tab, f"{asked.checkpoint_id}/fork/", **given)).status_code == 302
    assert (await send_form(tab, f"{asked.checkpoint_id}/replay/", confirmed="on")).status_code == 302
    await tab.rest()
    assert len((await tab.view()).waiting) == 1


async def test_case_87_hostile_content_is_inert_everywhere(tab: Tab) -> None:
    """In what was said, what was answered, the title, an error, and the metadata."""
    engine.get().models = models_with(Scripted(replies=(EVIL, ValueError(EVIL))))
    tab = Tab(tab.client, await threads.create(tab.thread.owner, assistant="chat"))
    await tab.send(EVIL)
    await tab.send("again")
    await Thread.objects.filter(pk=tab.thread.pk).aupdate(title=EVIL)
    known = await ids(tab)
    paths = ["", f"{known[-1]}/state/", f"{known[-1]}/fork/", f"{known[-2]}/replay/"]
    for path in [*paths, f"{known[0]}/difference/?with={known[-1]}"]:
        text = await page(tab, path)
        assert "<img src=x" not in text and '<div hx-get="/logout/"' not in text, path
        assert "&lt;img src=x onerror=alert(1)&gt;" in text, path
    response = await send_form(tab, f"{known[-1]}/fork/", **{"node-0": EVIL, "set-0-messages": EVIL})
    assert "<img src=x" not in response.content.decode()
    raw = await tab.client.get(f"{tab.url}checkpoints/{known[-1]}/state/?raw")
    assert raw["Content-Type"] == "application/json" and raw["X-Content-Type-Options"] == "nosniff"


async def test_a_link_from_the_conversation_leads_there(tab: Tab) -> None:
    await tab.send(f"h {uuid.uuid4()}")
    text = (await tab.client.get(tab.url)).content.decode()
    assert f'href="{tab.url}checkpoints/"' in text
    assert await Message.objects.filter(thread=tab.thread).acount() == 2


async def test_the_lanes_are_drawn_where_the_list_has_no_gaps(tab: Tab) -> None:
    await tab.send("h1")
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/")
    await tab.rest()
    assert re.findall(r'data-lane="(\d+)"', await page(tab)) == ["0", "0", "1", "0", "0", "0"]
    assert 'class="lanes"' not in await page(tab, "?source=loop")


async def test_the_check_says_that_all_agrees_or_what_does_not(tab: Tab) -> None:
    await tab.send("h1")
    assert 'data-findings="0"' in await page(tab, "check/")
    await IndexedCheckpoint.objects.filter(thread=tab.thread, next=["reply"]).aupdate(step=9)
    text = await page(tab, "check/")
    assert 'data-findings="1"' in text and "step is 9, not 1" in text and "--repair" in text
