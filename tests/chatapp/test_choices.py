"""The page on which one chooses a thread's model and instructions."""

from __future__ import annotations

import dataclasses

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from branching import threads
from branching.limits import INSTRUCTIONS_MAX
from branching.models import Thread
from chatapp import engine
from tests.branching.models import Scripted, models_with
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)

EVIL = "<script>alert(1)</script>"


@pytest.fixture
async def told(tab: Tab) -> Tab:
    """Alice's empty thread with a model that answers at once, and another that could."""
    other = models_with(Scripted(replies=("from the other",)))
    engine.get().models = dataclasses.replace(models_with(Scripted(replies=("r",))), others={"other:one": other})
    return Tab(tab.client, await threads.create(tab.thread.owner, assistant="chat"))


async def test_what_is_chosen_holds_and_each_reply_shows_it(told: Tab) -> None:
    page = (await told.client.get(f"{told.url}choices/")).content.decode()
    assert "other:one" in page
    response = await told.client.post(f"{told.url}choices/", {"model": "other:one", "instructions": EVIL})
    assert (response.status_code, response["Location"]) == (302, told.url)
    await told.send("q")
    page = (await told.client.get(told.url)).content.decode()
    assert "from the other" in page and "data-settings" in page
    assert EVIL not in page and "&lt;script&gt;alert" in page


async def test_what_is_refused_is_explained_and_nothing_typed_is_lost(told: Tab) -> None:
    long = "x" * (INSTRUCTIONS_MAX + 1)
    for fields, said in (
        ({"instructions": long}, "4,000"),
        ({"model": "nobody", "instructions": "kept"}, "no such model"),
    ):
        response = await told.client.post(f"{told.url}choices/", fields)
        assert response.status_code == 422
        assert said in response.content.decode() and fields["instructions"] in response.content.decode()
    assert (await Thread.objects.aget(pk=told.thread.pk)).instructions == ""


async def test_they_are_the_owners_and_only_where_the_assistant_takes_them(told: Tab, tab: Tab, bob: User) -> None:
    stranger = AsyncClient()
    await stranger.aforce_login(bob)
    assert (await stranger.get(f"{told.url}choices/")).status_code == 404
    assert (await stranger.post(f"{told.url}choices/", {"instructions": "x"})).status_code == 404
    assert (await tab.client.get(f"{tab.url}choices/")).status_code == 404
