"""The admin: for the staff alone, to look at threads, and to delete a person with everything."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import AsyncClient
from django.urls import reverse

from branching import sizes
from branching.database import on_database
from tests.branching.test_threads import ROWS, STORED
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = reverse("admin:branching_thread_changelist")


@pytest.fixture
async def staff(tab: Tab) -> AsyncClient:
    """Signed in as one who may do everything."""
    client = AsyncClient()
    await client.aforce_login(await User.objects.acreate_superuser("root"))
    return client


async def left() -> int:
    return sum([await model.objects.acount() for model in ROWS + STORED])


async def test_it_is_closed_to_everybody_else(tab: Tab) -> None:
    for client in (tab.client, AsyncClient()):
        response = await client.get(THREADS)
        assert (response.status_code, response["Location"]) == (302, f"{reverse('admin:login')}?next={THREADS}")


async def test_the_list_tells_the_sizes(tab: Tab, staff: AsyncClient) -> None:
    await tab.send("hello")
    html = (await staff.get(THREADS)).content.decode()
    size = await on_database(sizes.of)(tab.thread.pk)
    cells = dict(re.findall(r'class="field-(\w+)[^"]*">(?:<a[^>]*>)?([^<]*)<', html))
    assert (cells["message_count"], cells["checkpoint_count"]) == (str(size.messages), str(size.checkpoints))
    assert "hello" in html
    assert "KB" in cells["size"] or "bytes" in cells["size"]
    for order in range(1, 7):
        assert (await staff.get(f"{THREADS}?o={order}")).status_code == 200
    assert "hello" in (await staff.get(f"{THREADS}?q=alice")).content.decode()


async def test_a_thread_can_be_looked_at_and_not_changed(tab: Tab, staff: AsyncClient) -> None:
    await tab.send("hello")
    page = reverse("admin:branching_thread_change", args=[tab.thread.pk])
    html = (await staff.get(page)).content.decode()
    assert not re.search(r'name="(_save|head|head_version|title)"', html)
    assert (await staff.post(page, {"title": "x", "head": "x"})).status_code == 403
    assert (await staff.get(reverse("admin:branching_thread_add"))).status_code == 403
    assert (
        await staff.post(reverse("admin:branching_thread_delete", args=[tab.thread.pk]), {"post": "yes"})
    ).status_code == 403
    assert await tab.texts() == ["hello", "回复：hello"]


async def one_by_one(staff: AsyncClient, person: User) -> HttpResponse:
    page = reverse("admin:auth_user_delete", args=[person.pk])
    assert "1 conversation" in (await staff.get(page)).content.decode()
    return await staff.post(page, {"post": "yes"})


async def as_an_action(staff: AsyncClient, person: User) -> HttpResponse:
    given = {"action": "delete_selected", "_selected_action": [person.pk]}
    assert "1 conversation" in (await staff.post(reverse("admin:auth_user_changelist"), given)).content.decode()
    return await staff.post(reverse("admin:auth_user_changelist"), {**given, "post": "yes"})


@pytest.mark.parametrize("delete", [one_by_one, as_an_action])
async def test_case_70_with_a_person_everything_goes(tab: Tab, staff: AsyncClient, delete: Callable[..., Any]) -> None:
    """Case 70: not a row is left, of the checkpoints either."""
    await tab.send("hello")
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/")
    await tab.rest()
    assert await left() > 10
    assert (await delete(staff, tab.thread.owner)).status_code == 302
    assert await left() == 0
    assert not await User.objects.filter(username="alice").aexists()


async def test_case_70_cut_off_in_the_middle_nothing_has_gone(
    tab: Tab, staff: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 70: as if the process were killed between two of the deletions."""
    await tab.send("hello")
    before = await left()

    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("killed")

    monkeypatch.setattr("django.contrib.admin.options.ModelAdmin.log_deletions", fail)
    monkeypatch.setattr(
        "django.contrib.admin.options.ModelAdmin.delete_model", lambda *args: (args[-1].delete(), fail())
    )
    with pytest.raises(OSError, match="killed"):
        await staff.post(reverse("admin:auth_user_delete", args=[tab.thread.owner_id]), {"post": "yes"})
    assert await left() == before
    assert await tab.texts() == ["hello", "回复：hello"]


async def test_the_policy_allows_no_more_than_elsewhere(tab: Tab, staff: AsyncClient) -> None:
    page, home = await staff.get(THREADS), await tab.client.get("/")
    assert page["Content-Security-Policy"] == home["Content-Security-Policy"]
    html = page.content.decode()
    assert not re.search(r"<script(?![^>]*(\ssrc=|application/json))|\son[a-z]+\s*=", html)
