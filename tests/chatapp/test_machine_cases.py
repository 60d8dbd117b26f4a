"""The time machine's pages under what has broken elsewhere: cases 24, 64, 75 and 87 of the field log."""

from __future__ import annotations

import json
from html import unescape
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from branching import threads
from branching.database import on_database
from branching.models import IndexedCheckpoint, Message, Run, StoredCheckpoint, Thread
from chatapp import engine
from tests.branching.models import Scripted, models_with
from tests.chatapp.conftest import Tab
from tests.chatapp.test_machine import ids, page, rows, send_form

pytestmark = pytest.mark.django_db(transaction=True)

RIGHT_TO_LEFT, ZERO_WIDTH = "\u202e", "\u200b\u200d\ufeff"
HOSTILE = {
    "script": "<script>window.harmed=1</script>",
    "image": "<img src=x onerror=window.harmed=1>",
    "htmx": '<div hx-get="/logout/" hx-trigger="load" id="checkpoints" hx-swap-oob="true">x</div>',
    "quotes": "\"' onmouseover=window.harmed=1 x='",
    "template": "{{ request.user }}{% load i18n %}",
    "turned": f"abc{RIGHT_TO_LEFT}gpj.exe",
    "nothing to see": ZERO_WIDTH,
    "a word": "W" * 5_000,
}


class Live(HTMLParser):
    """What in a page does something that we have not put there."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if any(name.startswith("on") for name in given) or given.get("hx-get") == "/logout/" or given.get("src") == "x":
            self.found.append(self.get_starttag_text() or tag)

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script" and "harmed" in data:
            self.found.append(data)


async def sources(tab: Tab) -> list[str]:
    found = IndexedCheckpoint.objects.filter(thread=tab.thread).order_by("id").values_list("source", flat=True)
    return [each async for each in found]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("", "application/x-www-form-urlencoded"),
        ("   ", "application/x-www-form-urlencoded"),
        ("content=&input=", "application/x-www-form-urlencoded"),
        ("null", "application/json"),
        ("{}", "application/json"),
        ("", "text/plain"),
    ],
)
async def test_case_24_a_replay_whose_request_says_nothing_is_refused(tab: Tab, body: str, kind: str) -> None:
    """Of a message and of a checkpoint: without the page's own fields it is no command, and nothing is begun anew."""
    await tab.send("h1")
    before = await sources(tab)
    reply = (await tab.view()).versions[1].pk
    for path in (f"messages/{reply}/replay/", f"checkpoints/{(await ids(tab))[2]}/replay/"):
        response = await tab.client.post(tab.url + path, data=body, content_type=kind)
        assert response.status_code == 422
    await tab.rest()
    assert await sources(tab) == before


@pytest.mark.parametrize("given", [{}, {"content": ""}, {"content": "  \n"}, {"input": "null"}, {"input": "{}"}])
async def test_case_24_a_replay_takes_no_input_whatever_comes_with_it(tab: Tab, given: dict[str, str]) -> None:
    await tab.send("h1")
    before = await sources(tab)
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/", **given)
    await tab.rest()
    assert (await sources(tab))[len(before) :] == ["fork", "loop"]
    await send_form(tab, f"checkpoints/{(await ids(tab))[2]}/replay/".removeprefix("checkpoints/"), **given)
    await tab.rest()
    assert (await sources(tab))[len(before) + 2 :] == ["fork", "loop"]


async def test_case_64_a_checkpoint_within_a_step_has_no_page_and_no_button(tab: Tab) -> None:
    tab = Tab(tab.client, await threads.create(tab.thread.owner, assistant="planner"))
    await tab.send("Two days in Xi'an")
    inner = StoredCheckpoint.objects.filter(thread__name=str(tab.thread.pk)).exclude(ns="")
    names = [name async for name in inner.values_list("checkpoint_id", flat=True)]
    listed = {row["checkpoint-id"] for row in rows(await page(tab))}
    assert names and listed and not listed & set(names)
    for path in ("state/", "state/?raw", "fork/", "replay/", f"difference/?with={min(listed)}"):
        await page(tab, f"{names[0]}/{path}", status=404)
    await page(tab, f"?tip={names[0]}", status=404)
    before = await ids(tab)
    for path in ("replay/", "fork/"):
        response = await send_form(tab, f"{names[0]}/{path}", **{"node-0": "__start__"})
        assert response.status_code == 404
    assert await ids(tab) == before


async def test_case_75_what_an_edit_and_a_change_by_hand_have_saved_is_found_by_run_source_and_person(tab: Tab) -> None:
    """
    0 ─┬─ 1 ── 2 ── 3
       ├─ 4 (edit) ── 5
       └─ 6 (by hand)
    """
    await tab.send("h1")
    await tab.post(f"messages/{(await tab.view()).versions[0].pk}/edit/", content="h1'")
    await tab.rest()
    await tab.post("runs/")
    await tab.rest()
    known = await ids(tab)
    words = json.dumps([{"type": "human", "content": "by hand"}])
    await send_form(tab, f"{known[0]}/fork/", **{"node-0": "booking", "set-0-messages": words})
    known = await ids(tab)
    updates = [row["checkpoint-id"] for row in rows(await page(tab, "?source=update"))]
    assert len(updates) == 2 and updates[0] == known[-1]
    for kind, name in (("edit", updates[1]), ("fork", updates[0])):
        run = await Run.objects.aget(thread=tab.thread, kind=kind)
        text = await page(tab, f"?run={run.pk}")
        assert name in [row["checkpoint-id"] for row in rows(text)]
        assert text.count('<span class="checkpoint__by">you</span>') == len(rows(text))


@pytest.mark.parametrize("name", HOSTILE)
async def test_case_87_in_every_field_what_is_hostile_is_text(tab: Tab, name: str) -> None:
    """What was said and answered, an error, the title, a version's name, and what the address says."""
    evil = HOSTILE[name]
    said = f"say {evil} again"
    engine.get().models = models_with(Scripted(replies=(f"I say {evil}", ValueError(f"failed: {evil}"))))
    tab = Tab(tab.client, await threads.create(tab.thread.owner, assistant="chat"))
    await tab.send(said)
    await tab.send("fail")
    await Thread.objects.filter(pk=tab.thread.pk).aupdate(title=evil)
    await Message.objects.filter(thread=tab.thread).aupdate(label=evil[:60])
    known = await ids(tab)
    asked = quote(evil[:60])
    for path in (
        "", "?turns=on", f"?turns=on&open={known[-1]}", f"?compare={known[0]}", "check/",
        f"{known[-1]}/state/", f"{known[-1]}/fork/", f"{known[-2]}/replay/",
        f"{known[0]}/difference/?with={known[-1]}",
        "find/?by=error&text=failed", "find/?by=node&node=model",
        f"find/?by=state&field=messages&operator=contains&value={asked}",
    ):  # fmt: skip
        assert not Live(await page(tab, path)).found, path
    assert repr(f"failed: {evil}")[1:40] in unescape(await page(tab, "find/?by=error&text=failed"))
    for key in ("node", "tip", "before", "open", "compare", "source", "run", "seen"):
        response = await tab.client.get(f"{tab.url}checkpoints/?turns=on&{key}={asked}")
        assert response.status_code in (200, 404, 422) and not Live(response.content.decode()).found, key


async def test_an_address_that_names_no_checkpoint_is_an_error_and_no_crash(tab: Tab) -> None:
    await tab.send("h1")
    for path in ("?compare=a/b", "?tip=a/b", "?before=a/b", "?turns=on&open=a/b", "find/?by=node&before=a/b"):
        await page(tab, path, status=404)
    assert await on_database(IndexedCheckpoint.objects.filter(thread=tab.thread).count)() == 4
