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
    "model": _("The model's provider reported an error. Your message is kept. Press Retry in a moment."),
    "graph": _("The assistant itself failed: this is a fault in its program. Your message is kept. Press Retry."),
    "error": _("Something went wrong while the reply was written. Your message is kept. Press Retry."),
}

# Errors are known by the names of their classes, so that no provider's package has to be here. LangChain's own
# (ModelRateLimitError, ...) are bases of most of the others; the rest are those of the HTTP clients beneath.
NAMES = {
    "ModelUnavailable": "unavailable",
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
STATUS_CODES = {
    401: "auth",
    403: "auth",
    404: "unavailable",
    408: "timeout",
    413: "context",
    429: "rate",
    504: "timeout",
}
PROVIDER_CODES = {"context_length_exceeded": "context", "content_filter": "refused", "insufficient_quota": "rate"}
UNREACHABLE = {errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}


def code_of(exc: BaseException) -> str:
    """The code to record for this exception: the first precise one along its causes, else a general one."""
    codes = [_code_of_one(link) for link in _chain(exc)]
    general = [code for code in codes if code in ("model", "graph")]
    precise = [code for code in codes if code and code not in ("model", "graph")]
    return (precise + general + ["error"])[0]


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
    status = getattr(exc, "status_code", None)
    return (
        PROVIDER_CODES.get(getattr(exc, "code", None), "")
        or next((NAMES[kind.__name__] for kind in type(exc).__mro__ if kind.__name__ in NAMES), "")
        or STATUS_CODES.get(status, "")
        or _code_of_socket(exc)
        or _code_of_origin(exc, status)
    )


def _code_of_socket(exc: BaseException) -> str:
    unreachable = isinstance(exc, OSError) and exc.errno in UNREACHABLE
    return "network" if unreachable or isinstance(exc, socket.gaierror | ssl.SSLError) else ""


def _code_of_origin(exc: BaseException, status: object) -> str:
    if isinstance(status, int) or any(kind.__name__ == "ModelError" for kind in type(exc).__mro__):
        return "model"
    return "graph" if type(exc).__module__.partition(".")[0] == "langgraph" else ""
