"""The one bridge from async code to the ORM: a synchronous function becomes an awaitable one."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import connection

P = ParamSpec("P")
T = TypeVar("T")

MAX_AGE = 60
"""Seconds that a connection without a pool is kept."""


def on_database(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """`function` as a coroutine function that runs where this context's database connection lives.

    At the end of a request Django closes its connection. A run or a socket has no such end: so a connection goes back
    to its pool after each call, and where there is none it is kept, until it has failed or is old.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        _let_go()
        try:
            return function(*args, **kwargs)
        finally:
            _let_go()

    return sync_to_async(call, thread_sensitive=True)


def in_place(function: Callable[P, Awaitable[T]]) -> Callable[P, T]:
    """The synchronous function that `on_database` has made awaitable, for code that runs there already."""
    return function.func.__wrapped__  # of asgiref's SyncToAsync, and of `call` above


def _let_go() -> None:
    if connection.connection is None or connection.in_atomic_block:
        return
    # Of the time that it was opened, since Django is told to keep none.
    is_old = time.monotonic() > (connection.close_at or 0) + MAX_AGE
    if connection.settings_dict["OPTIONS"].get("pool") or connection.errors_occurred or is_old:
        connection.close()
