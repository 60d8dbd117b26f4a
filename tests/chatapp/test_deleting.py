"""A version is deleted where it stands, brought back from the line that tells of it, without JavaScript too."""

from __future__ import annotations

import re
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from branching import deleting
from branching.limits import UNDO_FOR
from branching.models import Deletion, IndexedCheckpoint
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = "<script>alert(1)</script>"


async def page(tab: Tab, path: str = "") -> str:
    response = await tab.client.get(tab.url + path)
    assert response.status_code == 200
    return response.content.decode()


async def press(tab: Tab, text: str, action: str, **more: str) -> int:
    """Post the form of the page that has this button."""
    [form] = [form for form in re.findall(r"<form.*?</form>", text, re.DOTALL) if f'data-action="{action}"' in form]
    fields = dict(re.findall(r'name="(head_version|key|from)" value="([^"]*)"', form))
    address = re.search(r'<form[^>]* action="([^"]+)"', form)
    response = await tab.client.post(address[1] if address else tab.url + more.pop("path"), fields)
    return response.status_code


async def branched(tab: Tab) -> int:
    """
    h1 ─┬─ a1 ── h2 ── a2
        └─ a1' (HEAD)
    """
    await tab.send(EVIL)
    first = (await tab.view()).versions[1].pk
    await tab.send("h2")
    await tab.post(f"messages/{first}/replay/")
    await tab.rest()
    return first


async def test_it_is_asked_told_and_brought_back(tab: Tab) -> None:
    first = await branched(tab)
    path = f"messages/{first}/delete/"
    asked = await page(tab, path)
    assert 'data-later="2"' in asked
    assert await press(tab, asked, "confirm-delete", path=path) == 302
    assert (await tab.view()).versions[1].total == 1
    shown = await page(tab)
    assert shown.count("data-deleted") == 1 and EVIL not in shown
    assert await press(tab, shown, "restore") == 302
    assert (await tab.view()).versions[1].total == 2
    assert "data-deleted" not in await page(tab)


async def test_from_the_map_one_comes_back_to_the_map(tab: Tab) -> None:
    first = await branched(tab)
    response = await tab.post(f"messages/{first}/delete/", **{"from": "map"})
    assert response["Location"] == f"{tab.url}map/"
    text = await page(tab, "map/")
    assert text.count("data-spot=") == 2 and text.count("data-deleted") == 1
    assert await press(tab, text, "restore") == 302
    assert (await page(tab, "map/")).count("data-spot=") == 5


async def test_the_time_machine_marks_what_is_on_the_way_out(tab: Tab) -> None:
    first = await branched(tab)
    assert "data-deleted" not in await page(tab, "checkpoints/")
    await tab.post(f"messages/{first}/delete/")
    rows = re.findall(r"<tr id=.*?</tr>", await page(tab, "checkpoints/"), re.DOTALL)
    hidden = [re.search(r'data-checkpoint-id="([^"]+)"', row)[1] for row in rows if "data-deleted" in row]
    gone = tab.thread.messages.filter(deletion__isnull=False).values("pk")
    held = IndexedCheckpoint.objects.filter(message__in=gone).order_by("-pk").values_list("checkpoint_id", flat=True)
    assert hidden == [each async for each in held]
    assert 0 < len(hidden) < len(rows)
    assert not any("data-on-path" in row for row in rows if "data-deleted" in row)


async def test_it_goes_with_the_next_opening_after_its_time(tab: Tab) -> None:
    first = await branched(tab)
    await tab.post(f"messages/{first}/delete/")
    assert "data-deleted" in await page(tab)
    past = timezone.now() - UNDO_FOR - timedelta(seconds=1)
    await Deletion.objects.aupdate(created_at=past)
    assert "data-deleted" not in await page(tab)
    assert await tab.thread.messages.acount() == 2


async def test_it_can_be_removed_at_once_and_then_is_gone_for_good(tab: Tab) -> None:
    first = await branched(tab)
    await tab.post(f"messages/{first}/delete/")
    [going] = await deleting.pending(tab.thread.pk)
    assert (await tab.post(f"deletions/{going.pk}/remove/")).status_code == 200
    assert await tab.thread.messages.acount() == 2
    response = await tab.post(f"deletions/{going.pk}/restore/")
    assert response.status_code == 409 and "brought back any more" in response.content.decode()


async def test_a_page_of_before_is_refused(tab: Tab) -> None:
    first = await branched(tab)
    fields = {"head_version": 0, "key": uuid.uuid4().hex}
    response = await tab.client.post(f"{tab.url}messages/{first}/delete/", fields)
    assert response.status_code == 409
    assert (await tab.view()).versions[1].total == 2
    assert (await tab.client.get(f"{tab.url}messages/{first + 99}/delete/")).status_code == 404


async def test_the_storage_page_says_what_is_hidden_and_offers_not_to_show_it(tab: Tab) -> None:
    first = await branched(tab)
    await tab.post(f"messages/{first}/delete/")
    text = await page(tab, "storage/")
    assert text.count("data-branch=") == 2 and "show-branch" not in text
    end = (await deleting.pending(tab.thread.pk))[0].later + first
    assert (await tab.post(f"storage/{end}/delete/")).status_code == 302
    assert await tab.thread.messages.acount() == 2
    assert await deleting.pending(tab.thread.pk) == []
