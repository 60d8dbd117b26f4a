"""One socket per tab: what it is sent on arrival, while a reply is written, and after each change."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings

from chatapp import stream
from chatapp.asgi import application
from tests.chatapp.conftest import WORDS, Tab, texts_of

pytestmark = pytest.mark.django_db(transaction=True)


async def connected(tab: Tab) -> WebsocketCommunicator:
    cookie = tab.client.cookies[settings.SESSION_COOKIE_NAME].value
    headers = [
        (b"origin", b"http://localhost"),
        (b"host", b"localhost"),
        (b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode()),
    ]
    socket = WebsocketCommunicator(application, f"/ws{tab.url}", headers=headers)
    assert (await socket.connect())[0]
    return socket


async def under_way(chat: Tab) -> None:
    """Begin a reply, and wait until another tab has seen some of it."""
    witness = await connected(chat)
    await chat.post("messages/", content="h1")
    while "word4" not in await witness.receive_from(timeout=5):
        pass
    await witness.disconnect()


async def frames(socket: WebsocketCommunicator) -> AsyncIterator[str]:
    """What the tab gets, up to the transcript in which nothing runs."""
    while True:
        frame = await socket.receive_from(timeout=5)
        yield frame
        if 'data-run-state="idle"' in frame and "word39" in frame:
            return


async def test_a_tab_gets_the_thread_on_arrival(tab: Tab) -> None:
    await tab.send("h1")
    socket = await connected(tab)
    assert texts_of(await socket.receive_from()) == ["h1", "回复：h1"]
    await socket.disconnect()


async def test_a_reply_grows_frame_by_frame_and_ends_with_the_truth(chat: Tab) -> None:
    socket = await connected(chat)
    await socket.receive_from()
    await chat.post("messages/", content="h1")
    seen = [texts_of(frame) or [frame] async for frame in frames(socket)]
    lengths = [len(frame[-1]) for frame in seen if "live-" in frame[-1]]
    assert len(lengths) > 3
    assert lengths == sorted(lengths)
    assert seen[-1] == ["h1", WORDS.strip()]
    await socket.disconnect()


async def test_a_tab_that_comes_in_the_middle_gets_the_text_so_far_first(chat: Tab) -> None:
    await under_way(chat)
    socket = await connected(chat)
    first = texts_of(await socket.receive_from())
    assert first[0] == "h1"
    assert first[1].startswith("word0 word1")
    last = [frame async for frame in frames(socket)][-1]
    assert texts_of(last) == ["h1", WORDS.strip()]
    await socket.disconnect()


async def test_a_frame_that_the_tab_has_seen_already_is_dropped(chat: Tab) -> None:
    await under_way(chat)
    socket = await connected(chat)
    await socket.receive_from()
    await stream.publish(chat.thread.pk, (await chat.view()).run.id, 1, "an old frame")
    assert not [frame async for frame in frames(socket) if "an old frame" in frame]
    await socket.disconnect()


async def test_a_change_from_elsewhere_reaches_the_tab(tab: Tab) -> None:
    await tab.send("h1")
    socket = await connected(tab)
    await socket.receive_from()
    await tab.post(f"messages/{(await tab.view()).versions[0].pk}/edit/", content="h1 again")
    assert texts_of(await socket.receive_from()) == ["h1 again"]
    await socket.disconnect()


async def test_the_tab_of_a_deleted_thread_is_closed(tab: Tab) -> None:
    socket = await connected(tab)
    await socket.receive_from()
    await tab.client.post(f"{tab.url}delete/")
    await stream.announce(tab.thread.pk)
    assert (await socket.receive_output())["code"] == 4404


async def test_what_a_tab_sends_is_not_heard(tab: Tab) -> None:
    socket = await connected(tab)
    await socket.receive_from()
    await socket.send_to(text_data='{"content": "h1", "head_version": 0}')
    assert await socket.receive_nothing(timeout=0.2)
    assert await tab.texts() == []
    await socket.disconnect()


async def test_the_tab_is_spoken_to_in_its_own_language(tab: Tab) -> None:
    tab.client.cookies["django_language"] = "zh-hans"
    page = await tab.client.get(tab.url)
    assert 'lang="zh-hans"' in page.content.decode()
