"""One socket per open thread page: authorise, join, send what is there, pass on what comes. Commands come by POST."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from channels.exceptions import ChannelFull
from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils import timezone, translation

from branching import recovery, threads
from branching.exceptions import NoSuchRun, NoSuchThread
from chatapp import accounts, beside, comfort, engine, pages, stream
from chatapp.following import Following
from chatapp.runner import runner

NOT_SIGNED_IN, FOREIGN_PAGE, NO_SUCH_THREAD = 4401, 4403, 4404
TALKS_TOO_MUCH, SAYS_TOO_MUCH = 1008, 1009

PULSE = 20.0
"""Seconds between two looks at what no event may have told: a session that ran out, a change that got lost.

Well under the 60 seconds after which the channel layer forgets a tab that is slow to read."""

MESSAGES_HEARD, MESSAGE_SIZE = 20, 1_000
"""A page sends nothing; who sends more than this, or anything longer, is no page of ours."""


class ThreadConsumer(AsyncWebsocketConsumer):
    """Shows one thread to one tab, for as long as its person is signed in."""

    groups_joined: tuple[str, ...] = ()
    change: int = 0
    """The newest change that the tab shows."""
    pulse: asyncio.Task[None] | None = None
    following: Following | None = None
    """The reply that is being written on the tab's page."""
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
        self.change = page.change
        spent = sum(len(block) for block in page.context["blocks"])
        self.following = page.live and Following(page.live, page.reply, page.size, page.settled, spent)
        await self.send(text_data=html)

    async def run_news(self, event: dict[str, Any]) -> None:
        """Send what the tab lacks of the reply that is on its page. Of others it hears nothing."""
        following = self.following
        if following is None or event["run"] != str(following.live.run.pk):
            return
        if runner.live(following.live.run.pk) is None:
            return await self.thread_changed({})
        if frame := following.frame():
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
        revision, head_version = await threads.numbers(self.thread_id)
        if head_version != self.head_version or (revision != self.revision and not self.is_live):
            await self.thread_changed({})

    @property
    def is_live(self) -> bool:
        """Whether a reply is being written on the tab's page."""
        return self.following is not None and runner.live(self.following.live.run.pk) is self.following.live

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
        zone = comfort.zone_of(self.scope.get("cookies", {}))
        with translation.override(self.language), timezone.override(zone):
            return render(*args)


class SeveralConsumer(ThreadConsumer):
    """Shows several replies of one thread to one tab, each as it is written."""

    each: list[Following] = []
    """The replies that are being written on the tab's page."""

    async def thread_changed(self, event: dict[str, Any]) -> None:
        """Send all of them as they are now, unless the tab has that already."""
        change = event.get("change")
        if change is not None and change <= self.change:
            return
        seen, first = stream.changes, self.scope["url_route"]["kwargs"]["run_id"]
        try:
            given = {"owner": self.user, "language": self.language}
            context, following, html = await beside.rendered(self.thread_id, first, **given)
        except (NoSuchThread, NoSuchRun):
            return await self.close(code=NO_SUCH_THREAD)
        thread = context["thread"]
        self.revision, self.head_version = thread.revision, thread.head_version
        self.change, self.each = seen, following
        await self.send(text_data=html)

    async def run_news(self, event: dict[str, Any]) -> None:
        """Send what the tab lacks of that reply."""
        for following in self.each:
            if event["run"] == str(following.live.run.pk) and (frame := following.frame()):
                await self.send(text_data=frame)

    @property
    def is_live(self) -> bool:
        """Whether a reply is being written on the tab's page."""
        return any(runner.live(each.live.run.pk) is each.live for each in self.each)
