"""Under pressure: floods of tokens, readers that don't read, many tabs, many runs, connects that come to nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from channels.layers import get_channel_layer
from channels.testing import WebsocketCommunicator

from branching import threads
from branching.local_model import LocalModel
from chatapp import consumers, engine, stream
from chatapp.asgi import application
from tests.branching.models import Scripted, models_with
from tests.chatapp.conftest import Tab
from tests.chatapp.test_consumers import connected
from tests.page import Screen

pytestmark = pytest.mark.django_db(transaction=True)

FLOOD = "".join(f"w{number} " for number in range(5_000))


async def chat_with(tab: Tab, model: LocalModel) -> Tab:
    """Another thread of Alice's, with this model."""
    (await engine.get()).models = models_with(model)
    (await engine.get()).graphs.clear()
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
        assert screen.size < 4 * len(FLOOD)
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
