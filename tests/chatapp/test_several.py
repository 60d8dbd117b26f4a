"""The page on which several versions are written beside each other."""

from __future__ import annotations

import asyncio
import re
import uuid

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from branching import threads
from branching.models import Run
from chatapp.runner import runner
from tests.chatapp.conftest import Tab
from tests.chatapp.test_consumers import connected

pytestmark = pytest.mark.django_db(transaction=True)


async def begin(tab: Tab, count: int = 3) -> str:
    """The address of the page on which they are written."""
    message = (await tab.view()).versions[-1].pk
    response = await tab.post(f"messages/{message}/several/", htmx=False, count=count)
    assert response.status_code == 302, response.content.decode()[-500:]
    return response["Location"]


async def rest() -> None:
    if tasks := {live.task for live in runner._live.values()}:
        await asyncio.wait(tasks, timeout=10)


async def test_they_are_written_beside_each_other_and_one_is_taken(chat: Tab) -> None:
    await chat.send("q1")
    address = await begin(chat)
    page = (await chat.client.get(address)).content.decode()
    assert page.count('data-state="streaming"') == 3 and "hx-ws:connect" in page
    assert 'id="hint-several"' in (await chat.client.get(chat.url)).content.decode()
    await rest()
    page = (await chat.client.get(address)).content.decode()
    assert page.count('data-state="done"') == 3
    [*_, last] = re.findall(r'name="message" value="(\d+)"', page)
    await chat.post(address.removeprefix(chat.url), htmx=False, message=last)
    view = await chat.view()
    assert (view.versions[1].pk, view.versions[1].total) == (int(last), 4)


async def test_one_of_them_is_stopped_there(chat: Tab) -> None:
    await chat.send("q1")
    address = await begin(chat, 2)
    second = await Run.objects.exclude(beside=None).aget()
    for _ in range(200):
        await asyncio.sleep(0.02)
        if (live := runner.live(second.pk)) and live.reply.size:
            break
    response = await chat.client.post(address, {"stop": str(second.pk)})
    assert response["Location"] == address
    await rest()
    assert {run.status async for run in Run.objects.filter(kind="replay")} == {"done", "stopped"}


async def test_each_grows_frame_by_frame_and_a_tab_that_comes_late_misses_nothing(chat: Tab) -> None:
    await chat.send("q1")
    address = await begin(chat, 2)
    runs = [str(run.pk) async for run in Run.objects.filter(kind="replay")]
    socket, grown = await connected(chat, path=address), dict.fromkeys(runs, 0)
    assert 'hx-target="#several"' in await socket.receive_from(timeout=5)
    late = None
    while True:
        frame = await socket.receive_from(timeout=5)
        for run in runs:
            grown[run] += f'hx-target="#live-{run}-' in frame
        if late is None and all(grown.values()):
            late = await connected(chat, path=address)
            first = await late.receive_from(timeout=5)
            assert first.count("word0") == 2
        if 'data-run-state="idle"' in frame:
            break
    assert all(count > 3 for count in grown.values()) and frame.count("word39") == 2
    while 'data-run-state="idle"' not in (frame := await late.receive_from(timeout=5)):
        pass
    assert frame.count("word39") == 2 and "2 of 2 finished" in frame
    await socket.disconnect()
    await late.disconnect()


async def test_who_was_overtaken_is_told_so_there(chat: Tab) -> None:
    await chat.send("q1")
    address = await begin(chat, 2)
    await rest()
    message = (await chat.view()).versions[-1].pk
    for htmx in (True, False):
        given = {"htmx": htmx, "message": message, "head_version": 0}
        refused = await chat.post(address.removeprefix(chat.url), **given)
        page = refused.content.decode()
        assert refused.status_code == 409 and 'id="several"' in page and "moved on" in page
    moved = await chat.post(address.removeprefix(chat.url), message=message)
    assert moved["HX-Redirect"] == chat.url


async def test_it_is_the_owners_and_what_acts_is_refused_in_words(chat: Tab, bob: User) -> None:
    await chat.send("q1")
    address = await begin(chat, 2)
    await rest()
    stranger = AsyncClient()
    await stranger.aforce_login(bob)
    assert (await stranger.get(address)).status_code == 404
    assert (await stranger.post(address, {"stop": address.split("/")[-2]})).status_code == 404
    message = (await chat.view()).versions[-1].pk
    fields = {"head_version": 1, "key": "k", "count": 2}
    assert (await stranger.post(f"{chat.url}messages/{message}/several/", fields)).status_code == 404
    assert (await chat.client.get(f"{chat.url}several/{uuid.uuid4()}/")).status_code == 404
    desk = Tab(chat.client, await threads.create(chat.thread.owner, assistant="concierge"))
    await desk.send("Which hotels are there from 2027-01-05 for 2 nights?")
    assert 'data-action="several"' not in (await desk.client.get(desk.url)).content.decode()
    message = (await desk.view()).versions[-1].pk
    refused = await desk.post(f"messages/{message}/several/", htmx=False, count=2)
    assert refused.status_code == 422 and "one version at a time" in refused.content.decode()
