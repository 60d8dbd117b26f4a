"""One socket per tab: what it is sent on arrival, while a reply is written, and after each change."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.sessions.models import Session

from branching import threads
from branching.threads import rename as renamed
from chatapp import consumers, engine
from chatapp.asgi import application
from tests.branching.models import Scripted, models_with
from tests.chatapp.conftest import WORDS, Tab, texts_of

pytestmark = pytest.mark.django_db(transaction=True)


async def connected(tab: Tab, app: Any = application, *, path: str = "") -> WebsocketCommunicator:
    cookie = tab.client.cookies[settings.SESSION_COOKIE_NAME].value
    headers = [
        (b"origin", b"http://localhost"),
        (b"host", b"localhost"),
        (b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode()),
    ]
    socket = WebsocketCommunicator(app, f"/ws{path or tab.url}", headers=headers)
    assert (await socket.connect())[0]
    return socket


async def under_way(chat: Tab, path: str = "messages/") -> None:
    """Begin a reply, and wait until another tab has seen some of it grow."""
    witness = await connected(chat)
    await chat.post(path, content="h1")
    while not re.search(r"<hx-partial hx-target=.#live-.*word4", await witness.receive_from(timeout=5), re.DOTALL):
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


async def test_case_41_a_tab_on_another_version_hears_nothing_of_the_reply(chat: Tab) -> None:
    await chat.send("h1")
    reply = (await chat.view()).versions[1]
    await under_way(chat, f"messages/{reply.pk}/replay/")
    socket = await connected(chat)
    await socket.receive_from()
    await chat.post("head/", message=reply.pk)
    while texts_of(await socket.receive_from()) != ["h1", WORDS.strip()]:
        pass
    heard = [frame async for frame in frames(socket)]
    assert [texts_of(frame) for frame in heard if "word" in frame] == [["h1", WORDS.strip()]]
    await socket.disconnect()


async def test_case_76_stop_is_heard_while_the_same_tab_is_sent_a_reply(chat: Tab) -> None:
    """Its socket is no place for commands, and what fills it keeps none waiting."""
    long = "".join(f"word{number} " for number in range(10_000))
    engine.get().models = models_with(Scripted(replies=(long,), token_delay=0.003))
    socket = await connected(chat)
    await chat.post("messages/", content="h1")
    while "word40 " not in (await socket.receive_from(timeout=5)):
        pass
    start = time.monotonic()
    await chat.post(f"runs/{(await chat.view()).run.id}/stop/")
    while 'data-state="stopped"' not in await socket.receive_from(timeout=5):
        pass
    assert time.monotonic() - start < 1
    await socket.disconnect()


async def test_case_76_stop_and_send_in_the_same_moment_leave_a_thread_at_rest(chat: Tab) -> None:
    """Whichever is carried out first, and however often both are pressed."""
    for number in range(5):
        sending = asyncio.create_task(chat.post("messages/", content=f"h{number}"))
        while not (run := (await chat.view()).run):  # noqa: ASYNC110 - as soon as there is something to stop
            await asyncio.sleep(0)
        stops = await asyncio.gather(*(chat.post(f"runs/{run.id}/stop/") for _ in range(2)))
        assert [each.status_code for each in (await sending, *stops)] == [200] * 3
        await chat.rest()
        assert (await chat.view()).run_state == "idle"
    view = await chat.view()
    assert [each.text for each in view.versions if each.kind == "human"] == [f"h{number}" for number in range(5)]


async def test_a_long_reply_costs_little_more_than_itself(tab: Tab) -> None:
    """The live frames of a reply of 200,000 characters in blocks of all sizes, up to 28,000."""
    text = "".join(f"{'ten-letters ' * (10 * 2 ** (number % 9))}\n\n" for number in range(36))
    engine.get().models = models_with(Scripted(replies=(text,)))
    chat = Tab(tab.client, await threads.create(tab.thread.owner, assistant="chat"))
    socket = await connected(chat)
    await socket.receive_from()
    await chat.post("messages/", content="h1")
    sizes = []
    while True:
        frame = await socket.receive_from(timeout=20)
        if 'data-run-state="idle"' in frame:
            break
        sizes.append(len(frame))
    assert len(text) > 200_000
    assert sum(sizes) < 1.5 * len(text)
    await socket.disconnect()


async def test_who_logs_out_stops_receiving_at_once(chat: Tab) -> None:
    socket = await connected(chat)
    await socket.receive_from()
    await chat.client.post("/logout/")
    assert (await socket.receive_output())["code"] == 4401


async def test_who_is_signed_out_elsewhere_stops_receiving_at_the_next_pulse(chat: Tab, monkeypatch) -> None:
    monkeypatch.setattr(consumers, "PULSE", 0.05)
    socket = await connected(chat)
    await socket.receive_from()
    await Session.objects.all().adelete()
    assert (await socket.receive_output())["code"] == 4401


async def test_a_change_that_nobody_told_of_is_found_at_the_next_pulse(tab: Tab, monkeypatch) -> None:
    monkeypatch.setattr(consumers, "PULSE", 0.05)
    socket = await connected(tab)
    await socket.receive_from()
    await renamed(tab.thread.pk, title="Another title")
    assert "Another title" in await socket.receive_from()
    await socket.disconnect()


async def test_who_talks_to_the_socket_is_shown_out(tab: Tab) -> None:
    socket = await connected(tab)
    await socket.receive_from()
    for _ in range(consumers.MESSAGES_HEARD + 1):
        await socket.send_to(text_data="{}")
    assert (await socket.receive_output())["code"] == 1008


async def test_who_sends_something_long_is_shown_out_at_once(tab: Tab) -> None:
    socket = await connected(tab)
    await socket.receive_from()
    await socket.send_to(text_data="x" * (consumers.MESSAGE_SIZE + 1))
    assert (await socket.receive_output())["code"] == 1009


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
    assert "was deleted" in await socket.receive_from()
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
