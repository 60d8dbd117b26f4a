"""Under pressure: floods of tokens, readers that don't read, many tabs, many runs, connects that come to nothing."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

import pytest
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator
from langchain_core.messages import BaseMessage
from pydantic import PrivateAttr

from branching import commands, threads
from branching.local_model import LocalModel
from chatapp import consumers, engine, stream
from chatapp.asgi import application
from chatapp.consumers import ThreadConsumer
from chatapp.markdown import Growing, render
from chatapp.runner import Live, runner
from tests.branching.models import Scripted, models_with
from tests.chatapp.conftest import WORDS, Tab
from tests.chatapp.test_consumers import connected
from tests.page import Screen, parse
from tests.texts import sections

pytestmark = pytest.mark.django_db(transaction=True)

FLOOD = "".join(f"w{number} " for number in range(5_000))


async def chat_with(tab: Tab, model: LocalModel) -> Tab:
    """Another thread of Alice's, with this model."""
    engine.get().models = models_with(model)
    engine.get().graphs.clear()
    return Tab(tab.client, await threads.create(tab.thread.owner, assistant="chat"))


async def seen(
    socket: WebsocketCommunicator, *, until: Callable[[Screen], bool], screen: Screen | None = None
) -> Screen:
    """What the tab shows once that is so."""
    screen = screen or Screen()
    while not (screen.frames and until(screen)):
        screen.hear(await socket.receive_from(timeout=20))
    return screen


def shows(*texts: str) -> Callable[[Screen], bool]:
    return lambda screen: screen.run_state == "idle" and screen.texts == [text.strip() for text in texts]


async def leave(*sockets: WebsocketCommunicator) -> None:
    for socket in sockets:
        await socket.disconnect()


class SlowTab:
    """A socket whose other end reads only when it is told to: until then, what is sent to it waits in the consumer."""

    def __init__(self, tab: Tab) -> None:
        self.socket = None
        self._tab, self._reading = tab, asyncio.Event()
        self._reading.set()

    async def open(self) -> WebsocketCommunicator:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            async def slowly(message: Any) -> None:
                await self._reading.wait()
                await send(message)

            await application(scope, receive, slowly)

        self.socket = await connected(self._tab, app)
        return self.socket

    def stop_reading(self) -> None:
        self._reading.clear()

    def read_on(self) -> None:
        self._reading.set()


async def test_case_77_a_flood_of_tokens_arrives_whole_in_every_tab(tab: Tab) -> None:
    chat = await chat_with(tab, Scripted(replies=(FLOOD,)))
    sockets = [await connected(chat) for _ in range(3)]
    await chat.post("messages/", content="h1")
    for screen in await asyncio.gather(*(seen(each, until=shows("h1", FLOOD)) for each in sockets)):
        assert screen.size < 5 * len(FLOOD)
    await leave(*sockets)


async def test_case_77_a_slow_reader_gets_the_whole_text_and_what_comes_later(tab: Tab) -> None:
    chat = await chat_with(tab, Scripted(replies=(FLOOD, "a2")))
    slow = SlowTab(chat)
    socket = await slow.open()
    screen = await seen(socket, until=lambda screen: True)
    slow.stop_reading()
    await chat.send("h1")
    slow.read_on()
    await seen(socket, until=shows("h1", FLOOD), screen=screen)
    await chat.send("h2")
    await seen(socket, until=shows("h1", FLOOD, "h2", "a2"), screen=screen)
    await leave(socket)


async def test_case_77_beyond_the_capacity_of_the_channel_layer_nothing_is_lost_for_good(tab: Tab, monkeypatch) -> None:
    """More events than the layer keeps for one channel, for longer than it keeps them: it forgets the tab."""
    monkeypatch.setattr(consumers, "PULSE", 0.1)
    layer = get_channel_layer()
    monkeypatch.setattr(layer, "expiry", 0.3)
    slow = SlowTab(tab)
    socket = await slow.open()
    screen = await seen(socket, until=lambda screen: True)
    slow.stop_reading()
    for _ in range(layer.capacity + 100):
        await stream.announce(tab.thread.pk)
    await asyncio.sleep(0.5)
    await tab.send("h1")
    slow.read_on()
    await seen(socket, until=shows("h1", "回复：h1"), screen=screen)
    await tab.send("h2")
    await seen(socket, until=shows("h1", "回复：h1", "h2", "回复：h2"), screen=screen)
    await leave(socket)


async def test_fifty_tabs_on_one_thread_all_show_the_same_reply(tab: Tab) -> None:
    reply = "".join(f"word{number} " for number in range(60))
    chat = await chat_with(tab, Scripted(replies=(reply,), token_delay=0.005))
    sockets = [await connected(chat) for _ in range(50)]
    await chat.post("messages/", content="h1")
    screens = await asyncio.gather(*(seen(each, until=shows("h1", reply)) for each in sockets))
    assert all(screen.frames > 3 for screen in screens)
    await leave(*sockets)


class Waiting(Scripted):
    """Begins to write when it is let."""

    _let: asyncio.Event = PrivateAttr(default_factory=asyncio.Event)

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        await self._let.wait()
        async for piece in super().write(messages):
            yield piece


async def test_a_hundred_runs_at_a_time_all_end_whole(tab: Tab) -> None:
    model = Waiting(replies=(WORDS,))
    chat = await chat_with(tab, model)
    tabs = [chat, *[Tab(chat.client, await threads.create(tab.thread.owner, assistant="chat")) for _ in range(99)]]
    for each in tabs:
        await runner.begin(commands.send, each.thread.pk, text="h1", head_version=0)
    assert len([task for task in asyncio.all_tasks() if task.get_name().startswith("run ")]) == 100
    model._let.set()
    await asyncio.gather(*(each.rest() for each in tabs))
    assert [await each.texts() for each in tabs] == [["h1", WORDS]] * 100


LONG = sections(200_000)


class Gushing(Scripted):
    """Says much at a time."""

    async def paced(self, text: str) -> AsyncIterator[str]:
        for start in range(0, len(text), 60):
            await asyncio.sleep(0)
            yield text[start : start + 60]


async def test_case_89_a_long_reply_costs_three_times_its_html_at_most(tab: Tab) -> None:
    """All frames, the final transcript included; and what one sees grows on."""
    chat = await chat_with(tab, Gushing(replies=(LONG,)))
    socket = await connected(chat)
    screen = await seen(socket, until=lambda screen: True)
    screen.size = 0
    await chat.post("messages/", content="h1")
    lengths = [0]

    def note_and_look(screen: Screen) -> bool:
        lengths.append(sum(len(text) for text in screen.texts))
        return screen.run_state == "idle" and len(screen.texts) == 2

    await seen(socket, until=note_and_look, screen=screen)
    assert screen.texts == ["h1", parse(render(LONG)).text.strip()]
    assert screen.size < 3 * len(render(LONG).encode())
    assert len(set(lengths)) > 4
    assert sorted(lengths) == lengths
    assert lengths[-2] > 0.2 * lengths[-1], "the reply stood still long before its end"
    await leave(socket)


def left_here() -> dict[str, int]:
    """What this process has at the moment, of all that could be left behind."""
    gc.collect()
    return {
        "tasks": len(asyncio.all_tasks()),
        "threads": threading.active_count(),  # each may hold a connection to the database
        "open files": len(os.listdir("/proc/self/fd")),
        "groups": len(get_channel_layer().groups),
        "objects": sum(type(each) in (ThreadConsumer, Live, Growing) for each in gc.get_objects()),
    }


async def come_and_go(chat: Tab, number: int) -> None:
    """Open the page's socket and hang up: at once, after the first frame, or in the middle of a command."""
    socket = await connected(chat)
    if number % 3 == 1:
        await socket.receive_from(timeout=20)
    if number % 6 == 2:
        command = asyncio.create_task(chat.post("messages/", content=f"h{number}"))
        await asyncio.sleep(0.001 * (number % 20))
        command.cancel()
        await asyncio.wait({command})
    await socket.disconnect()


async def test_case_80_three_hundred_connects_and_aborts_leave_nothing_behind(tab: Tab) -> None:
    chat = await chat_with(tab, Scripted(replies=("a reply",)))
    for start in range(0, 320, 20):
        await asyncio.gather(*(come_and_go(chat, number) for number in range(start, start + 20)))
        await chat.rest()
        if start == 0:
            before = left_here()
    assert left_here() == before


async def test_a_socket_that_breaks_while_it_is_sent_to_leaves_nothing_behind(tab: Tab) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def broken(message: Any) -> None:
            if "Another title" in message.get("text", ""):
                raise ConnectionResetError
            await send(message)

        with suppress(ConnectionResetError):  # as a server does
            await application(scope, receive, broken)

    await tab.send("h1")
    before = left_here()
    socket = await connected(tab, app)
    await socket.receive_from()
    await tab.post("rename/", title="Another title")
    await socket.wait()
    assert left_here() == before
