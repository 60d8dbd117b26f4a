"""`manage.py prune` says what would be lost, and does it when told to."""

from __future__ import annotations

import re
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from branching import check, sizes
from branching.database import on_database
from branching.models import StoredThread, Thread
from chatapp import engine
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)


async def prune(*arguments: str, **options: Any) -> str:
    """What the command prints."""
    said = StringIO()
    await on_database(call_command)("prune", *arguments, stdout=said, **options)
    return said.getvalue()


@pytest.fixture
async def grown(tab: Tab) -> Tab:
    """h1 ─┬─ e1
    └─ e1' ── h2 ── e2  (HEAD)"""
    await tab.send("h1")
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/")
    await tab.rest()
    await tab.send("h2")
    return tab


async def size(tab: Tab) -> sizes.Size:
    return await on_database(sizes.of)(tab.thread.pk)


async def test_it_says_what_would_be_lost_and_changes_nothing(grown: Tab) -> None:
    before, view = await size(grown), await grown.view()
    said = await prune("--keep", "tips")
    assert re.search(rf"h1 \({grown.thread.pk}\): 0 messages, \d+ saved steps, [\d.]+ (bytes|KB)", said)
    assert "Nothing was changed. --yes does it." in said
    assert (await size(grown), await grown.view()) == (before, view)


async def test_with_yes_it_does_what_it_said(grown: Tab) -> None:
    for keep, messages in (("tips", 0), ("head", 1)):
        before = await size(grown)
        foreseen, done = await prune("--keep", keep), await prune("--keep", keep, "--yes")
        assert foreseen.splitlines()[0] == done.splitlines()[0]
        after = await size(grown)
        assert (before.messages - after.messages, after.bytes < before.bytes) == (messages, True)
    assert await check.check(engine.get(), grown.thread) == []
    assert [each.total for each in (await grown.view()).versions] == [1, 1, 1, 1]
    assert await prune("--keep", "head", "--yes", verbosity=0) == ""
    assert "0 messages, 0 saved steps, 0 bytes, in 0 conversations" in await prune("--keep", "head", "--yes")


async def test_a_young_thread_is_left_alone(grown: Tab) -> None:
    old = ("--keep", "head", "--older-than", "30")
    assert "in 0 conversations" in await prune(*old)
    long_ago = timezone.now() - timedelta(days=31)
    await Thread.objects.filter(pk=grown.thread.pk).aupdate(updated_at=long_ago)
    assert "in 1 conversations" in await prune(*old)
    assert "in 0 conversations" in await prune("--keep", "head", "--older-than", "32")


async def test_an_unanswered_thread_is_left_alone_where_only_finished_ones_count(grown: Tab) -> None:
    await grown.post(f"messages/{(await grown.view()).versions[0].pk}/edit/", content="other")
    assert "in 0 conversations" in await prune("--keep", "head", "--finished")
    assert "in 1 conversations" in await prune("--keep", "head")


async def test_a_thread_that_is_written_to_is_left_alone(chat: Tab) -> None:
    await chat.post("messages/", content="q1")
    before = await size(chat)
    assert "left alone. A reply is still being written." in await prune("--keep", "head", "--yes")
    await chat.rest()
    assert (await size(chat)).messages >= before.messages
    assert await check.check(engine.get(), chat.thread) == []


async def test_what_belongs_to_no_thread_is_named_and_goes(grown: Tab) -> None:
    await on_database(StoredThread.objects.create)(name="left behind")
    assert "left behind" not in await prune("--keep", "tips")  # it takes no room
    await prune("--keep", "tips", "--yes")
    assert not await StoredThread.objects.filter(name="left behind").aexists()


async def test_the_room_goes_back_to_the_disk(grown: Tab) -> None:
    said = await prune("--keep", "head", "--yes", "--vacuum")
    if connection.vendor == "sqlite":
        assert re.search(r"The file has shrunk from [\d.]+ .B to [\d.]+ .B\.", said)
    assert await grown.texts() == ["h1", "回复：h1", "h2", "回复：h2"]


@pytest.mark.parametrize(
    "arguments",
    [[], ["--keep", "latest"], ["--keep", "tips", "--older-than", "soon"], ["--keep", "tips", "--vacuum"]],
)
async def test_what_makes_no_sense_is_refused(arguments: list[str]) -> None:
    with pytest.raises(CommandError):
        await prune(*arguments)
