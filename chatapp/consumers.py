"""One socket per open thread page: authorise, join, send what is there, relay. Commands come by POST."""

from __future__ import annotations

from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from django.http import HttpRequest
from django.utils import translation

from branching import threads
from branching.exceptions import NoSuchThread
from chatapp import pages, stream

NOT_SIGNED_IN, NO_SUCH_THREAD = 4401, 4404


class ThreadConsumer(AsyncWebsocketConsumer):
    """Relays what happens on one thread to one tab."""

    group: str | None = None
    shown: tuple[str, int] = ("", 0)
    """The run and the frame that the tab has seen: older frames may still be under way to it."""

    async def connect(self) -> None:
        """Join before reading, so that nothing that happens in between is missed."""
        await self.accept()  # a refused handshake would be retried for ever; a close code says why
        user, thread_id = self.scope["user"], self.scope["url_route"]["kwargs"]["thread_id"]
        if not user.is_authenticated:
            return await self.close(code=NOT_SIGNED_IN)
        if await threads.find(thread_id, owner=user) is None:
            return await self.close(code=NO_SUCH_THREAD)
        self.thread_id, self.group = thread_id, stream.group(thread_id)
        await self.channel_layer.group_add(self.group, self.channel_name)
        await self.thread_changed({})

    async def disconnect(self, code: int) -> None:
        """Leave the group."""
        if self.group:
            await self.channel_layer.group_discard(self.group, self.channel_name)

    async def thread_changed(self, event: dict[str, Any]) -> None:
        """Send the thread as it is now, whatever the event was about."""
        try:
            page = await pages.current(self.thread_id)
        except NoSuchThread:
            return await self.close(code=NO_SUCH_THREAD)
        self.shown = page.seen
        with translation.override(self._language()):
            await self.send(text_data=stream.transcript(**page.context))

    async def run_frame(self, event: dict[str, Any]) -> None:
        """Pass a frame of the live reply on, unless the tab has seen what came after it."""
        run, seen = self.shown
        if event["run"] != run or event["seq"] > seen:
            self.shown = event["run"], event["seq"]
            await self.send(text_data=event["html"])

    def _language(self) -> str:
        """The language of the page, by the cookie that Django's language view sets, else by the browser's wish."""
        headers = {name.decode("latin1").lower(): value.decode("latin1") for name, value in self.scope["headers"]}
        request = HttpRequest()
        request.COOKIES = self.scope.get("cookies", {})
        request.META["HTTP_ACCEPT_LANGUAGE"] = headers.get("accept-language", "")
        return translation.get_language_from_request(request)
