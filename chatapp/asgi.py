"""The entry for servers: pages over HTTP, events over WebSocket, and an orderly end."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")
pages = get_asgi_application()  # before our imports: they need the apps to be loaded

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from django.conf import settings  # noqa: E402
from django.db import DatabaseError, connections  # noqa: E402

from branching import leases, recovery  # noqa: E402
from branching.database import on_database  # noqa: E402
from chatapp import engine, routing  # noqa: E402
from chatapp.alone import alone_with  # noqa: E402
from chatapp.runner import runner  # noqa: E402
from chatapp.stage import performances  # noqa: E402

Message = dict[str, Any]


async def lifespan(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Open and close what the process needs. Servers without a lifespan do without: it only makes both prompt."""
    await receive()
    with ExitStack() as held:
        try:
            held.enter_context(alone_with(settings.DATA_DIR))
            await _open()
        except DatabaseError as error:
            message = f"The database is not ready ({error}). Run `manage.py migrate` first."
            return await send({"type": "lifespan.startup.failed", "message": message})
        except BlockingIOError:
            return await send({"type": "lifespan.startup.failed", "message": NOT_ALONE.format(settings.DATA_DIR)})
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await performances.close()
        await runner.close()
        await on_database(connections.close_all)()
    await send({"type": "lifespan.shutdown.complete"})


NOT_ALONE = (
    "Another process already serves the data in {} or the same database. Only one may: what a reply and its pages tell "
    "each other stays within a process. Serve with one worker (no --workers, no WEB_CONCURRENCY), or from other data."
)


async def _open() -> None:
    # This process is the only one, so whoever still runs has died with the last one.
    await leases.bury_all()
    await recovery.recover_all(engine.get())


application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": AuthMiddlewareStack(URLRouter(routing.websocket_urlpatterns)),
        "lifespan": lifespan,
    }
)
