"""The list of checkpoints by turns and by branch, page and address: what is folded can be opened, from any line."""

from __future__ import annotations

import html
import json
import re

import pytest

from branching import threads
from chatapp import engine
from tests.branching.models import Scripted, models_with
from tests.chatapp.conftest import Tab
from tests.chatapp.test_find import branched
from tests.chatapp.test_machine import ids, page, rows, send_form

pytestmark = pytest.mark.django_db(transaction=True)


def link(text: str, action: str) -> str:
    """Where the first link with this action leads, without what is only for the eye."""
    found = re.findall(rf'href="([^"]*)"[^>]*data-action="{action}"', text)
    return html.unescape(found[0]).partition("#")[0]


async def listed(tab: Tab, path: str) -> list[int]:
    known = await ids(tab)
    return [known.index(row["checkpoint-id"]) for row in rows(await page(tab, path))]


async def test_what_is_folded_opens_in_place_and_folds_again(tab: Tab) -> None:
    """
    0 ── 1 ── 2 ─┬─ 3
                 └─ 4 ── 5 (HEAD)
    """
    await branched(tab)
    unfold = link(await page(tab, "?turns=on"), "unfold")
    assert await listed(tab, unfold) == [5, 4, 3, 2, 1, 0]
    text = await page(tab, unfold)
    assert text.count('class="lanes"') == 6 and "data-folded" not in text
    assert await listed(tab, link(text, "fold")) == [5, 3]
    await page(tab, "?turns=on&open=nothing", status=404)


async def test_an_end_that_no_run_has_made_opens_too(tab: Tab) -> None:
    """
    0 ─┬─ 1 ── 2 ── 3
       └─ 4 (by hand, HEAD)
    """
    await tab.send("h1")
    given = {"node-0": "reply", "set-0-messages": json.dumps([{"type": "human", "content": "by hand"}])}
    await send_form(tab, f"{(await ids(tab))[0]}/fork/", **given)
    assert await listed(tab, link(await page(tab, "?turns=on"), "unfold")) == [4, 3, 0]


async def test_heads_mark_shows_what_failed_there(tab: Tab) -> None:
    engine.get().models = models_with(Scripted(replies=(ValueError("as planned"),)))
    tab = Tab(tab.client, await threads.create(tab.thread.owner, assistant="chat"))
    await tab.send("q1")
    text = await page(tab)
    assert re.findall(r"lanes__mark--(\w+)", text) == ["head", "failed", "step"]
    assert f'href="{tab.url}checkpoints/{(await ids(tab))[-1]}/state/" data-action="step-before"' in text


async def test_a_branch_stays_chosen_when_more_is_asked_of_it(tab: Tab) -> None:
    """
    0 ── 1 ── 2 ─┬─ 3
                 └─ 4 ── 5 (HEAD)
    """
    known = await branched(tab)
    branch = link(await page(tab, "?turns=on"), "branch")
    text = await page(tab, branch)
    assert [row["checkpoint-id"] for row in rows(text)] == [known[3]]
    assert f'<input type="hidden" name="tip" value="{known[3]}">' in text
    assert await listed(tab, f"?tip={known[3]}&node=reply") == [2]
    assert await listed(tab, f"?tip={known[3]}&path=on") == [2, 1, 0]
    assert (await page(tab, f"?tip={known[3]}")).count('class="lanes"') == 4
    assert 'class="lanes"' not in await page(tab, f"?tip={known[3]}&node=reply")
    await page(tab, "?tip=nothing", status=404)
