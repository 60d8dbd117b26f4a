"""The entry for servers: pages over HTTP, events over WebSocket, and an orderly end."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "chatapp.settings")
pages = get_asgi_application()  # before our imports: they need the apps to be loaded

from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from django.db import DatabaseError  # noqa: E402

from branching import leases  # noqa: E402
from chatapp import engine, routing  # noqa: E402
from chatapp.runner import runner  # noqa: E402

Message = dict[str, Any]


async def lifespan(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Open and close what the process needs. Servers without a lifespan do without: it only makes both prompt."""
    await receive()
    try:
        await engine.get()
        # The channel layer is this process's own, so it is the only one: who still runs has died with the last one.
        await leases.bury_all()
    except DatabaseError as error:
        message = f"The database is not ready ({error}). Run `manage.py migrate` first."
        return await send({"type": "lifespan.startup.failed", "message": message})
    await send({"type": "lifespan.startup.complete"})
    await receive()
    await runner.close()
    await engine.close()
    await send({"type": "lifespan.shutdown.complete"})


application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(routing.websocket_urlpatterns))),
        "lifespan": lifespan,
    }
)
