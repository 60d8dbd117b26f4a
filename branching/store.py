"""The rows of the checkpoint store: its threads, held while they are written to, and their pieces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, Model, QuerySet
from django.db.models.functions import Collate

from branching.encoding import Fetch, Name, pack
from branching.models import Piece, StoredCheckpoint, StoredThread, StoredWrites, Thread

PARAMETERS = 10_000
"""Values in one query. SQLite takes 32,766 and PostgreSQL 65,535."""

ROWS = 1000
"""Rows that are written by one query."""


def held(**which: Any) -> QuerySet[StoredThread]:
    """The rows of these threads, held until the transaction ends: what is swept away and what is referred to must not
    cross. In the order of their names, as everywhere, so that no two transactions wait for each other."""
    return StoredThread.objects.select_for_update().filter(**which).order_by(in_order("name"))


def made(name: str) -> StoredThread:
    """The thread's row, made if need be, and held."""
    # As often as others make and delete it meanwhile: `get_or_create` gives up after one.
    while (row := held(name=name).first()) is None:
        StoredThread.objects.bulk_create([StoredThread(name=name, thread=_thread_named(name))], ignore_conflicts=True)
    return row


def in_order(field: str) -> Any:
    """The field, to sort and compare as Python does, which PostgreSQL may not do by itself."""
    return Collate(F(field), "C") if connection.vendor == "postgresql" else F(field)


def _thread_named(name: str) -> Thread | None:
    """The app's thread that has this id; None where a graph runs for itself."""
    try:
        key = UUID(name)
    except ValueError:
        return None
    return Thread.objects.filter(pk=key).first() if str(key) == name else None


# What every step of a graph reads is asked for by hand: the ORM takes longer to say it than the database to find it.


def one_checkpoint(thread: str, ns: str, checkpoint_id: str | None) -> list[StoredCheckpoint]:
    """The checkpoint, or without an id the newest one, if it is there."""
    where = f"WHERE thread_id = (SELECT id FROM {StoredThread._meta.db_table} WHERE name = %s) AND ns = %s"
    if checkpoint_id:
        found = _rows(StoredCheckpoint, f"{where} AND checkpoint_id = %s", [thread, ns, checkpoint_id])
    else:
        order = 'checkpoint_id COLLATE "C"' if connection.vendor == "postgresql" else "checkpoint_id"
        found = _rows(StoredCheckpoint, f"{where} ORDER BY {order} DESC LIMIT 1", [thread, ns])
    return [StoredCheckpoint(*row) for row in found]


def writes_after(rows: Sequence[StoredCheckpoint]) -> list[StoredWrites]:
    """What tasks wrote after these checkpoints of one thread and namespace."""
    where = f"WHERE thread_id = %s AND ns = %s AND checkpoint_id IN ({marks(rows)})"
    found = _rows(StoredWrites, where, [rows[0].thread_id, rows[0].ns, *(row.checkpoint_id for row in rows)])
    return [StoredWrites(*row) for row in found]


def task_writes(thread: StoredThread, ns: str, checkpoint_id: str, task_id: str) -> StoredWrites:
    """The row of what a task wrote after a checkpoint; a new one if it has written nothing so far."""
    key = [thread.pk, ns, checkpoint_id, task_id]
    found = _rows(StoredWrites, "WHERE thread_id = %s AND ns = %s AND checkpoint_id = %s AND task_id = %s", key)
    row = StoredWrites(*found[0]) if found else StoredWrites(*key, pack([]))
    row._state.adding = not found
    return row


def reader(thread: int) -> Fetch:
    """What reads pieces of this thread."""

    def fetch(names: set[Name]) -> dict[Name, bytes]:
        found: dict[Name, bytes] = {}
        for some in parts(list(names), PARAMETERS):
            where = f"WHERE thread_id = %s AND name IN ({marks(some)})"
            found.update((bytes(name), data) for _, name, data in _rows(Piece, where, [thread, *some]))
        return found

    return fetch


def _rows(model: type[Model], where: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    columns = ", ".join(field.column for field in model._meta.concrete_fields)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {columns} FROM {model._meta.db_table} {where}", parameters)
        return cursor.fetchall()


def marks(values: Sequence[Any]) -> str:
    """A placeholder for each of the values."""
    return ", ".join(["%s"] * len(values))


def store(thread: StoredThread, pieces: Mapping[Name, bytes]) -> None:
    """Write pieces down, but those that are there."""
    rows = [Piece(thread=thread, name=name, data=data) for name, data in pieces.items()]
    if rows:
        Piece.objects.bulk_create(rows, ignore_conflicts=True, batch_size=ROWS)


def delete_all_but(thread: StoredThread, used: set[Name]) -> None:
    """Delete the thread's other pieces."""
    names = map(bytes, thread.pieces.values_list("name", flat=True))
    for some in parts([name for name in names if name not in used], PARAMETERS):
        thread.pieces.filter(name__in=some).delete()


def copy(model: type[Model], source: StoredThread, target: StoredThread) -> None:
    """Copy rows of one thread to another, but those that it has, in the order in which they came."""
    columns = [field.column for field in model._meta.concrete_fields if field.name not in ("id", "thread")]
    table, listed = model._meta.db_table, ", ".join(columns)
    order = "id" if model is StoredCheckpoint else "thread_id"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (thread_id, {listed}) SELECT %s, {listed} FROM {table} WHERE thread_id = %s"
            f" ORDER BY {order} ON CONFLICT DO NOTHING",
            [target.pk, source.pk],
        )


def parts(values: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    """The values, so many at a time."""
    return (values[start : start + size] for start in range(0, len(values), size))
