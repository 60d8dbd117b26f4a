"""The one bridge from async code to the ORM: a synchronous function becomes an awaitable one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from asgiref.sync import sync_to_async
from django.db import close_old_connections

P = ParamSpec("P")
T = TypeVar("T")


def on_database(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """`function` as a coroutine function that runs where this context's database connection lives.

    A run has no request at whose end Django would close stale connections, so that happens here.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        close_old_connections()
        try:
            return function(*args, **kwargs)
        finally:
            close_old_connections()

    return sync_to_async(call, thread_sensitive=True)
