"""Why a run failed: a short code for the record, and the sentence for the person."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator

from django.utils.translation import gettext_lazy as _

SENTENCES = {
    "auth": _(
        "The model's provider refused the key. Your message is kept. Check the API key on the server, then press Retry."
    ),
    "rate": _(
        "The model's provider takes no more requests for now: too many at once, or the quota is used up. "
        "Your message is kept. Wait a little, then press Retry."
    ),
    "timeout": _("The model took too long to answer. Your message is kept. Press Retry."),
    "network": _(
        "The model could not be reached, or the connection broke. Your message is kept. "
        "Check the server's network, then press Retry."
    ),
    "context": _(
        "This conversation is longer than the model can read. Go back to an earlier message and edit it, "
        "or start a new conversation."
    ),
    "recursion": _(
        "The assistant went round in circles and was stopped. Your message is kept. Edit it or press Retry."
    ),
    "refused": _("The model's provider declined to answer this. Edit your message to say it differently."),
    "unavailable": _(
        "The configured model can't be used. Your message is kept. "
        "Check CHAT_MODEL and what it needs on the server, then press Retry."
    ),
    "script": _(
        "This conversation plays a scenario, and that has no reply for this, or this server plays none. "
        "Your message is kept. Edit the scenario, or go on in another conversation."
    ),
    "model": _("The model's provider reported an error. Your message is kept. Press Retry in a moment."),
    "graph": _("The assistant itself failed: this is a fault in its program. Your message is kept. Press Retry."),
    "error": _("Something went wrong while the reply was written. Your message is kept. Press Retry."),
}

# Errors are known by the names of their classes, so that no provider's package has to be here. LangChain's own
# (ModelRateLimitError, ...) are bases of most of the others; the rest are those of the HTTP clients beneath.
NAMES = {
    "ModelUnavailable": "unavailable",
    "GarbledReply": "model",
    "OutOfScript": "script",
    "GraphRecursionError": "recursion",
    "ContextOverflowError": "context",
    "ModelRefusalError": "refused",
    "ContentFilterFinishReasonError": "refused",
    "ModelAuthenticationError": "auth",
    "ModelPermissionDeniedError": "auth",
    "AuthenticationError": "auth",
    "PermissionDeniedError": "auth",
    "ModelRateLimitError": "rate",
    "RateLimitError": "rate",
    "ModelTimeoutError": "timeout",
    "APITimeoutError": "timeout",
    "TimeoutException": "timeout",
    "NodeTimeoutError": "timeout",
    "TimeoutError": "timeout",
    "ModelNotFoundError": "unavailable",
    "ModelConnectionError": "network",
    "APIConnectionError": "network",
    "TransportError": "network",
    "ClientConnectionError": "network",
    "ConnectionError": "network",
}
STATUSES = {
    401: "auth",
    402: "rate",
    403: "auth",
    404: "unavailable",
    408: "timeout",
    413: "context",
    429: "rate",
    504: "timeout",
    529: "rate",
}
PROVIDER_CODES = {"context_length_exceeded": "context", "content_filter": "refused", "insufficient_quota": "rate"}
UNREACHABLE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN)
GENERAL = ("model", "graph", "error")


def code_of(exc: BaseException) -> str:
    """The code to record for this exception: the first precise one along its causes, else a general one."""
    codes = [_code_of_one(link) for link in _chain(exc)]
    precise = (code for code in codes if code not in GENERAL)
    return next(precise, None) or min(codes, key=GENERAL.index)


def message(code: str) -> str:
    """What the person reads: what happened and what to do next."""
    return str(SENTENCES.get(code, SENTENCES["error"]))


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    """The exception, those that a group holds, and their causes."""
    waiting, seen = [exc], set()
    while waiting:
        link = waiting.pop(0)
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        waiting += [*getattr(link, "exceptions", ()), link.__cause__]


def _code_of_one(exc: BaseException) -> str:
    names = {kind.__name__ for kind in type(exc).__mro__}
    known = (code for name, code in NAMES.items() if name in names)
    return (
        PROVIDER_CODES.get(str(getattr(exc, "code", "")))
        or next(known, None)
        or STATUSES.get(_status_of(exc))
        or ("network" if _is_of_the_network(exc) else None)
        or ("model" if _status_of(exc) or "ModelError" in names else None)
        or ("graph" if type(exc).__module__.startswith("langgraph.") else "error")
    )


def _status_of(exc: BaseException) -> int:
    """The HTTP status it carries, in one of the places where clients put it, or 0."""
    places = (exc, "status_code"), (exc, "code"), (getattr(exc, "response", None), "status_code")
    found = (getattr(place, name, None) for place, name in places)
    return next((status for status in found if isinstance(status, int) and status >= 400), 0)


def _is_of_the_network(exc: BaseException) -> bool:
    return isinstance(exc, socket.gaierror | ssl.SSLError) or getattr(exc, "errno", None) in UNREACHABLE
