"""One socket per open thread page: authorise, join, send what is there, pass on what comes. Commands come by POST."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

from channels.exceptions import ChannelFull
from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils import translation

from branching import recovery, threads
from branching.exceptions import NoSuchThread
from chatapp import accounts, engine, pages, stream
from chatapp.markdown import Growing
from chatapp.runner import Live, runner

NOT_SIGNED_IN, FOREIGN_PAGE, NO_SUCH_THREAD = 4401, 4403, 4404
TALKS_TOO_MUCH, SAYS_TOO_MUCH = 1008, 1009

PULSE = 20.0
"""Seconds between two looks at what no event may have told: a session that ran out, a change that got lost.

Well under the 60 seconds after which the channel layer forgets a tab that is slow to read."""

MESSAGES_HEARD, MESSAGE_SIZE = 20, 1_000
"""A page sends nothing; who sends more than this, or anything longer, is no page of ours."""

SMALL = 1_000
"""So many characters of a live reply are sent again, as they grow, whatever it has cost."""

SPARE, SHARE, RATE = 24_000, 1.1, 4_000
"""What more than that may cost: so many characters, so many for each of its own HTML, and so many for each second.

The last block is sent again and again while it grows. At the pace at which one reads that is nothing; but a flood of
text must not become a flood of repetitions."""


class ThreadConsumer(AsyncWebsocketConsumer):
    """Shows one thread to one tab, for as long as its person is signed in."""

    groups_joined: tuple[str, ...] = ()
    change: int = 0
    """The newest change that the tab shows."""
    pulse: asyncio.Task[None] | None = None
    live: Live | None = None
    """The run whose reply is being written on the tab's page."""
    reply: Growing | None = None
    size: int = 0
    """How many characters of the reply the tab has."""
    settled: int = 0
    """How many of its blocks the tab has for good."""
    spent: int = 0
    """How many characters it was sent for them."""
    since: float = 0
    """When that began."""
    heard: int = 0

    async def dispatch(self, message: dict[str, Any]) -> None:
        """Hand an event to its method. Channels looks after the database first, in a thread that all tabs share; what
        comes twenty times a second has nothing to do with the database, and need not queue for that."""
        await (self.run_news(message) if message["type"] == "run.news" else super().dispatch(message))

    async def connect(self) -> None:
        """Join before reading, so that nothing that happens in between is missed."""
        await self.accept()  # a refused handshake would be retried for ever; a close code says why
        if not accounts.is_our_page(self.scope):
            return await self.close(code=FOREIGN_PAGE)
        self.user, self.thread_id = self.scope["user"], self.scope["url_route"]["kwargs"]["thread_id"]
        if not self.user.is_authenticated:
            return await self.close(code=NOT_SIGNED_IN)
        if await threads.find(self.thread_id, owner=self.user) is None:
            return await self.close(code=NO_SUCH_THREAD)
        self.language = accounts.language_of(self.scope)
        self.session_key = self.scope["session"].session_key
        self.groups_joined = (
            stream.thread_group(self.thread_id),
            stream.person_group(self.user.pk),
            stream.session_group(self.session_key),
        )
        await self._join()
        await self.thread_changed({})
        self.pulse = asyncio.create_task(self._beat())

    async def __call__(self, *args: Any) -> None:
        """Serve the socket, and leave nothing behind, however it ends: a send to who has gone raises."""
        try:
            await super().__call__(*args)
        finally:
            if self.pulse:
                self.pulse.cancel()
            for group in self.groups_joined:
                await self.channel_layer.group_discard(group, self.channel_name)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        """Hear nothing, and not for ever."""
        self.heard += 1
        if len(text_data or bytes_data or "") > MESSAGE_SIZE:
            return await self.close(code=SAYS_TOO_MUCH)
        if self.heard > MESSAGES_HEARD:
            await self.close(code=TALKS_TOO_MUCH)

    async def thread_changed(self, event: dict[str, Any]) -> None:
        """Send the thread as it is now, whatever the event was about, unless the tab has that already."""
        change = event.get("change")
        if change is not None and change <= self.change:
            return
        try:
            page, html = await pages.rendered(self.thread_id, self.language, change)
        except NoSuchThread:
            await self.send(text_data=self._speaking(stream.gone))
            return await self.close(code=NO_SUCH_THREAD)
        view = page.context["view"]
        self.revision, self.head_version = view.revision, view.head_version
        self.change, self.live, self.reply = page.change, page.live, page.reply
        self.size, self.settled = page.size, page.settled
        self.spent, self.since = sum(len(block) for _, block in page.context["blocks"]), time.monotonic()
        await self.send(text_data=html)

    async def run_news(self, event: dict[str, Any]) -> None:
        """Send what the tab lacks of the reply that is on its page. Of others it hears nothing."""
        live = self.live
        if live is None or event["run"] != str(live.run.pk):
            return
        if runner.live(live.run.pk) is None:
            return await self.thread_changed({})
        reply = self.reply
        # Another reply of the run has been announced, and the tab will hear of that presently.
        if reply is not live.reply or reply.size == self.size:
            return
        allowed = SPARE + SHARE * reply.weight + RATE * (time.monotonic() - self.since)
        if reply.open_size <= SMALL or self.spent + reply.open_size <= allowed:
            frame = stream.live(live.run.pk, self.settled, reply.blocks()[self.settled :])
            self.size, self.settled, self.spent = reply.size, reply.growing, self.spent + len(frame)
            await self.send(text_data=frame)

    async def threads_changed(self, event: dict[str, Any]) -> None:
        """Send the list of threads as it is now."""
        listed = {"threads": await threads.of(self.user), "current": self.thread_id}
        await self.send(text_data=self._speaking(stream.threads, listed))

    async def session_ended(self, event: dict[str, Any]) -> None:
        """Send nothing more to who has logged out."""
        await self.close(code=NOT_SIGNED_IN)

    async def pulse_felt(self, event: dict[str, Any]) -> None:
        """Look at what no event may have told."""
        if not await accounts.is_still_signed_in(self.session_key, self.user):
            return await self.close(code=NOT_SIGNED_IN)
        await self._join()
        await runner.renew(self.thread_id)
        await recovery.recover(engine.get(), self.thread_id)
        # A run under way makes revisions that show nothing new, and its end is told of.
        is_live = self.live is not None and runner.live(self.live.run.pk) is self.live
        revision, head_version = await threads.numbers(self.thread_id)
        if head_version != self.head_version or (revision != self.revision and not is_live):
            await self.thread_changed({})

    async def _join(self) -> None:
        for group in self.groups_joined:
            await self.channel_layer.group_add(group, self.channel_name)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(PULSE)
            # A tab that is so far behind will feel the next one.
            with suppress(ChannelFull):
                await self.channel_layer.send(self.channel_name, {"type": "pulse.felt"})

    def _speaking(self, render: Any, *args: Any) -> str:
        with translation.override(self.language):
            return render(*args)
