"""Which code a failure gets, and what the person reads."""

from __future__ import annotations

import errno
import socket
import ssl

import httpx
import pytest
from langchain_core import exceptions as langchain
from langgraph.errors import GraphRecursionError, InvalidUpdateError

from branching import failures
from branching.exceptions import ModelUnavailable


class Answered(Exception):
    """Any client's error that carries a status."""

    def __init__(self, status: int, code: str | None = None) -> None:
        self.status_code, self.code = status, code


class AnsweredByGoogle(Exception):
    code = 429


class APIConnectionError(Exception):
    """Named like that of OpenAI and Anthropic, and not derived from LangChain's."""


class APITimeoutError(APIConnectionError):
    """A timeout that is a connection error too, as with both of them."""


class Odd(Exception):
    """Attributes of the right name that hold something else."""

    code, status_code, response, exceptions = [1], "401", None, ()


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def http_status(status: int) -> httpx.HTTPStatusError:
    request = httpx.Request("POST", "http://model.test/")
    return httpx.HTTPStatusError("refused", request=request, response=httpx.Response(status, request=request))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelUnavailable("no key"), "unavailable"),
        (langchain.ModelNotFoundError(), "unavailable"),
        (Answered(404), "unavailable"),
        (langchain.ModelAuthenticationError(), "auth"),
        (langchain.ModelPermissionDeniedError(), "auth"),
        (Answered(401), "auth"),
        (Answered(403), "auth"),
        (http_status(401), "auth"),
        (langchain.ModelRateLimitError(), "rate"),
        (Answered(429), "rate"),
        (Answered(529), "rate"),
        (AnsweredByGoogle(), "rate"),
        (Answered(402, "insufficient_quota"), "rate"),
        (langchain.ModelTimeoutError(), "timeout"),
        (APITimeoutError(), "timeout"),
        (TimeoutError(), "timeout"),
        (httpx.ReadTimeout("slow"), "timeout"),
        (Answered(504), "timeout"),
        (langchain.ModelConnectionError(), "network"),
        (APIConnectionError(), "network"),
        (ConnectionRefusedError(), "network"),
        (ConnectionResetError(), "network"),
        (httpx.ConnectError("closed"), "network"),
        (httpx.RemoteProtocolError("broke off"), "network"),
        (socket.gaierror(), "network"),
        (ssl.SSLError(), "network"),
        (OSError(errno.ENETUNREACH, "unreachable"), "network"),
        (langchain.ContextOverflowError(), "context"),
        (Answered(400, "context_length_exceeded"), "context"),
        (Answered(400, "content_filter"), "refused"),
        (langchain.ModelRefusalError(), "refused"),
        (GraphRecursionError(), "recursion"),
        (langchain.ModelAPIError(), "model"),
        (langchain.ModelInvalidRequestError(), "model"),
        (Answered(400), "model"),
        (Answered(500), "model"),
        (InvalidUpdateError(), "graph"),
        (ValueError("anything"), "error"),
        (OSError(errno.ENOSPC, "disk full"), "error"),
        (FileNotFoundError(), "error"),
        (Odd(), "error"),
        (KeyboardInterrupt(), "error"),
        (caused(RuntimeError("wrapped"), Answered(401)), "auth"),
        (caused(langchain.ModelAPIError(), TimeoutError()), "timeout"),
        (caused(RuntimeError("wrapped"), langchain.ModelAPIError()), "model"),
        (ExceptionGroup("two tasks", [ValueError(), Answered(429)]), "rate"),
    ],
)
def test_code_of(error: BaseException, code: str) -> None:
    assert failures.code_of(error) == code


def test_code_of_survives_a_circle_of_causes() -> None:
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first
    assert failures.code_of(first) == "error"


@pytest.mark.parametrize("code", failures.SENTENCES)
def test_every_code_fits_its_column_and_has_a_sentence_that_says_what_to_do(code: str) -> None:
    assert len(code) <= 40
    assert any(step in failures.message(code) for step in ("Retry", "Edit", "edit"))


def test_an_unknown_code_gets_the_general_sentence() -> None:
    assert failures.message("from-a-newer-release") == failures.message("error")
    assert failures.message("error").startswith("Something went wrong")
