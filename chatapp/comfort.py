"""What each reader finds comfortable: dark or light, and times as their own clock shows them.

Both are cookies: a page is drawn right from the beginning, for guests and on the log-in page, too.
"""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable, Mapping
from functools import lru_cache
from inspect import iscoroutinefunction
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.decorators import sync_and_async_middleware

THEME, ZONE = "theme", "zone"
THEMES = ("light", "dark")
"""Who has chosen neither gets what their system says."""


def context(request: HttpRequest) -> dict[str, Any]:
    """For all templates: `theme`, empty where the system decides."""
    theme = request.COOKIES.get(THEME, "")
    return {"theme": theme if theme in THEMES else ""}


def zone_of(cookies: Mapping[str, str]) -> zoneinfo.ZoneInfo | None:
    """The reader's time zone, as their browser has told it; None where it has not."""
    return _zone(cookies.get(ZONE, "")[:64])


@sync_and_async_middleware
def readers_zone(get_response: Callable[..., Any]) -> Callable[..., Any]:
    """Middleware: times are those of the reader's zone."""
    if iscoroutinefunction(get_response):

        async def in_zone(request: HttpRequest) -> HttpResponse:
            with timezone.override(zone_of(request.COOKIES)):
                return await get_response(request)

    else:

        def in_zone(request: HttpRequest) -> HttpResponse:
            with timezone.override(zone_of(request.COOKIES)):
                return get_response(request)

    return in_zone


@lru_cache(maxsize=1_000)
def _zone(name: str) -> zoneinfo.ZoneInfo | None:
    try:
        return zoneinfo.ZoneInfo(name) if name else None
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return None
