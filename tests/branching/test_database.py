"""The bridge to the ORM: its connections are few, and mend themselves."""

from __future__ import annotations

import asyncio
import os
from typing import Any
from unittest.mock import patch

import psycopg
import pytest
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.contrib.auth.models import User
from django.core.signals import request_finished
from django.db import close_old_connections, connection
from django.db.utils import DatabaseError

from branching import database
from branching.database import on_database

pytestmark = pytest.mark.django_db(transaction=True)

sqlite_only = pytest.mark.skipif("connection.vendor != 'sqlite'", reason="A server counts its own connections.")


@on_database
def opened() -> Any:
    """The driver's connection that a call uses."""
    User.objects.exists()
    return connection.connection


@on_database
def fail() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT nothing FROM nowhere")


@pytest.mark.skipif("connection.vendor != 'sqlite'", reason="With a pool, the pool keeps it.")
async def test_a_connection_is_kept_from_call_to_call() -> None:
    assert await opened() is await opened()


async def test_after_an_error_there_is_a_new_one() -> None:
    before = await opened()
    with pytest.raises(DatabaseError):
        await fail()
    assert await opened() is not before or connection.vendor == "postgresql"
    assert await on_database(User.objects.count)() == 0


@sqlite_only
async def test_an_old_one_is_replaced() -> None:
    before = await opened()
    with patch.object(database, "MAX_AGE", -1):
        await opened()
    assert await opened() is not before


@sync_to_async
def is_held() -> bool:
    """Whether the thread of this context has a connection."""
    return connection.connection is not None


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no pool.")
async def test_with_a_pool_nothing_is_held_between_calls() -> None:
    await opened()
    assert not await is_held()


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="SQLite has no server that could be started anew.")
async def test_case_74_connections_that_the_server_has_cut_are_replaced() -> None:
    """As when the server is restarted, or has an idle one closed."""
    await asyncio.gather(*(opened() for _ in range(5)))
    await cut_all()
    assert await on_database(User.objects.count)() == 0


@sync_to_async
def cut_all() -> None:
    here = connection.get_connection_params()
    with psycopg.connect(**{key: here[key] for key in ("dbname", "user", "host") if here.get(key)}) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.fixture
def closes_after_requests() -> Any:
    """The receiver that Django's test client takes away."""
    request_finished.connect(close_old_connections)


async def test_a_request_leaves_none(closes_after_requests: None) -> None:
    async with ThreadSensitiveContext():
        await opened()
        await request_finished.asend(sender=None)
        assert not await is_held()


def files() -> int:
    """How often this process has the database file open."""
    name = str(connection.settings_dict["NAME"])
    links = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
    return sum(os.path.exists(link) and os.readlink(link) == name for link in links)


@sqlite_only
@pytest.mark.skipif("not os.path.exists('/proc/self/fd')", reason="Linux tells what is open.")
async def test_their_number_stays_flat_over_many_requests(closes_after_requests: None) -> None:
    async def serve() -> int:
        async with ThreadSensitiveContext():
            await opened()
            await request_finished.asend(sender=None)
        return files()

    first = await serve()
    assert max([await serve() for _ in range(50)]) <= first
