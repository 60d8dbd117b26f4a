"""The page that finds a step, whose hits lead to the checkpoint before it; the list by turns and by branch."""

from __future__ import annotations

import re

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test.utils import CaptureQueriesContext

from branching.database import on_database
from tests.chatapp.conftest import Tab
from tests.chatapp.test_machine import EVIL, ids, page, rows
from tests.long import plant

pytestmark = pytest.mark.django_db(transaction=True)


async def branched(tab: Tab) -> list[str]:
    """
    0 ── 1 ── 2 ─┬─ 3
                 └─ 4 ── 5 (HEAD)
    """
    await tab.send("h1")
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/")
    await tab.rest()
    return await ids(tab)


async def test_a_step_is_found_by_what_the_state_says_after_it(tab: Tab) -> None:
    known = await branched(tab)
    found = await page(tab, "find/?by=state&field=messages&operator=contains&value=h1")
    assert re.findall(r'data-hit="([^"]*)"', found) == [known[0]]
    assert f"/checkpoints/{known[0]}/replay/" in found and f"/checkpoints/{known[0]}/fork/" in found


async def test_a_step_is_found_by_its_node_on_every_branch(tab: Tab) -> None:
    known = await branched(tab)
    found = await page(tab, "find/?by=node&node=reply")
    assert re.findall(r'data-hit="([^"]*)"', found) == [known[4], known[2]]


async def test_what_is_hostile_stays_text_and_what_is_no_question_is_refused(tab: Tab) -> None:
    await tab.send(EVIL)
    found = await page(tab, "find/?by=state&field=messages&operator=contains&value=onerror")
    assert "data-hit" in found and "<img" not in found
    assert "0 steps found" in await page(tab, "find/?by=error&text=%3Cimg%20src%3Dx%3E")
    await page(tab, "find/?by=state&operator=nonsense", status=422)
    await page(tab, "find/?by=node&node=reply&before=nothing", status=404)


async def test_the_list_by_turns_has_a_line_for_each_end_and_says_what_it_folds(tab: Tab) -> None:
    known = await branched(tab)
    text = await page(tab, "?turns=on")
    assert [row["checkpoint-id"] for row in rows(text)] == [known[5], known[3]]
    assert re.findall(r'data-folded="(\d+)"', text) == ["4", "3"]
    assert 'class="lanes"' in text


async def test_the_list_of_a_branch_has_what_leads_to_its_end(tab: Tab) -> None:
    known = await branched(tab)
    found = rows(await page(tab, f"?tip={known[3]}"))
    assert [row["checkpoint-id"] for row in found] == known[3::-1]


async def test_each_line_says_its_size_and_its_mark_has_a_shape(tab: Tab) -> None:
    await branched(tab)
    text = await page(tab)
    sizes = re.findall(r'class="checkpoint__size">(\d+)[^<]*bytes', text)
    assert len(sizes) == 6 and all(int(size) > 50 for size in sizes)
    assert re.findall(r"lanes__mark--(\w+)", text) == ["head", "step", "tip", "step", "step", "step"]


async def test_by_turns_and_by_state_a_long_thread_takes_the_queries_of_a_short_one(tab: Tab) -> None:
    async def cost(path: str) -> int:
        return await on_database(lambda: _counted(tab, path))()

    await tab.send("h1")
    paths = ("?turns=on", f"?tip={(await ids(tab))[-1]}", "find/?by=node&node=model", "find/?by=error&text=nothing",
             "find/?by=state&field=messages&value=nowhere")  # fmt: skip
    few = [await cost(path) for path in paths]
    await on_database(plant)(tab.thread, 2_000, range(2, 2_000, 2))
    assert await tab.thread.checkpoints.acount() == 3_003
    many = [await cost(path) for path in paths]
    assert all(after <= before for after, before in zip(many, few, strict=True)), (few, many)
    opened = f"?turns=on&open={(await ids(tab))[-1]}"
    assert await cost(opened) <= few[0] + 1


def _counted(tab: Tab, path: str) -> int:
    with CaptureQueriesContext(connection) as queries:
        async_to_sync(page)(tab, path)
    return len(queries)
