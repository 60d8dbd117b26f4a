"""Who is asking: signed-in people and guests, and what happens to a guest's threads when the guest gets a name.

A guest is a `User` without a usable password, known by its session alone.
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import OriginValidator
from django.conf import settings
from django.contrib.auth import aget_user, alogin, get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser, User
from django.contrib.auth.views import redirect_to_login
from django.contrib.sessions.backends.db import SessionStore
from django.core.exceptions import DisallowedHost
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.functional import SimpleLazyObject
from django_htmx.http import HttpResponseClientRedirect

from branching.models import HeadMove, Thread

AsyncView = Callable[..., Awaitable[HttpResponse]]


def is_guest(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether this is an account that only its session can open."""
    return user.is_authenticated and not user.has_usable_password()


async def person(request: HttpRequest) -> User | None:
    """Who is asking, made a guest where guests are welcome; None where one has to log in.

    Afterwards `request.user` is a plain object: templates of async views may ask for it.
    """
    user = await request.auser()
    if user.is_authenticated:
        request.user = user
        return user
    return await _new_guest(request) if _makes_guest(request) else None


def person_required(view: AsyncView) -> AsyncView:
    """Let an async view be seen by a person only; anybody else is sent to the log-in page."""

    @wraps(view)
    async def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if await person(request) is None:
            return to_login(request)
        return await view(request, *args, **kwargs)

    return guarded


def to_login(request: HttpRequest) -> HttpResponse:
    """A redirect to the log-in page that leads back to the page one was on."""
    if request.htmx:
        # A plain redirect would be followed by htmx and put the log-in page into a corner of this one.
        page = redirect_to_login(request.htmx.current_url_abs_path or "/")
        return HttpResponseClientRedirect(page.url)
    return redirect_to_login(request.get_full_path() if request.method in ("GET", "HEAD") else "/")


async def is_still_signed_in(session_key: str, user: User) -> bool:
    """Whether the session is still there, not out of date, and `user`'s, with the password it was opened with."""
    request = HttpRequest()
    request.session = SessionStore(session_key)
    return (await aget_user(request)).pk == user.pk


def language_of(scope: dict[str, Any]) -> str:
    """The language of a socket's page: what Django's language view has set, else what the browser asks for."""
    return translation.get_language_from_request(_handshake(scope))


def is_our_page(scope: dict[str, Any]) -> bool:
    """Whether the page that opens this socket is one of ours: of the same host and port, or of a trusted origin.

    A browser sends the cookies along whoever asks. What counts is what counts for forms, except for the scheme, which
    a proxy may hide.
    """
    request = _handshake(scope)
    try:
        ours = [f"{scheme}://{request.get_host()}" for scheme in ("http", "https")]
        origin = urlsplit(request.META.get("HTTP_ORIGIN", ""))
        trusted = [each.replace("*", "") for each in settings.CSRF_TRUSTED_ORIGINS]
        return OriginValidator(None, ours + trusted).valid_origin(origin)
    except (DisallowedHost, ValueError):
        return False


def _handshake(scope: dict[str, Any]) -> HttpRequest:
    """The request with which a socket began, as far as Django asks for it."""
    request = HttpRequest()
    request.COOKIES = scope.get("cookies", {})
    for name, value in scope["headers"]:
        request.META[f"HTTP_{name.decode('latin1').upper().replace('-', '_')}"] = value.decode("latin1")
    return request


def adopt(guest: AbstractBaseUser | AnonymousUser, user: User) -> None:
    """Give all threads of a guest to `user` and remove the guest. Anybody but a guest keeps everything."""
    if not is_guest(guest) or guest.pk == user.pk:
        return
    with transaction.atomic():
        Thread.objects.filter(owner_id=guest.pk).update(owner=user)
        HeadMove.objects.filter(by_id=guest.pk).update(by=user)
        get_user_model().objects.filter(pk=guest.pk).delete()


def context(request: HttpRequest) -> dict[str, Any]:
    """For all templates: `is_guest`, asked only where a template uses it."""
    return {"is_guest": SimpleLazyObject(lambda: is_guest(request.user))}


def _makes_guest(request: HttpRequest) -> bool:
    """Pages and commands bring a guest in; a fragment belongs to a page whose person is gone."""
    return settings.CHAT_GUESTS and (request.method == "POST" or (request.method == "GET" and not request.htmx))


async def _new_guest(request: HttpRequest) -> User:
    guest = await get_user_model().objects.acreate_user(f"guest-{secrets.token_hex(8)}")
    await alogin(request, guest)
    request.auser = _answering(guest)
    return guest


def _answering(user: User) -> Callable[[], Awaitable[User]]:
    """What `request.auser` is once the person is known: the middleware's own would still say "nobody"."""

    async def auser() -> User:
        return user

    return auser
