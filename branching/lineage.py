"""Ways through the checkpoints of a thread: up to the first, and down to all that grew. Each is one recursive query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models.expressions import RawSQL

from branching.models import IndexedCheckpoint, Thread

_TABLE = IndexedCheckpoint._meta.db_table

_HEADED = f"""
    WITH RECURSIVE up(id, thread_id, parent_id) AS (
        SELECT c.id, c.thread_id, c.parent_id FROM {Thread._meta.db_table} t
        JOIN {_TABLE} c ON c.thread_id = t.id AND c.checkpoint_id = t.head WHERE t.id = %s
        UNION ALL
        SELECT c.id, c.thread_id, c.parent_id FROM up
        JOIN {_TABLE} c ON c.thread_id = up.thread_id AND c.checkpoint_id = up.parent_id
    )
    SELECT id FROM up
"""

_LEADING = f"""
    WITH RECURSIVE up(id, thread_id, parent_id) AS (
        SELECT id, thread_id, parent_id FROM {_TABLE} WHERE thread_id = %s AND checkpoint_id = %s
        UNION ALL
        SELECT c.id, c.thread_id, c.parent_id FROM up
        JOIN {_TABLE} c ON c.thread_id = up.thread_id AND c.checkpoint_id = up.parent_id
    )
    SELECT id FROM up
"""

_UP = f"""
    WITH RECURSIVE up(thread_id, checkpoint_id, parent_id, message_id, steps) AS (
        SELECT thread_id, checkpoint_id, parent_id, message_id, 0 FROM {_TABLE}
        WHERE thread_id = %s AND checkpoint_id = %s
        UNION ALL
        SELECT c.thread_id, c.checkpoint_id, c.parent_id, c.message_id, up.steps + 1 FROM up
        JOIN {_TABLE} c ON c.thread_id = up.thread_id AND c.checkpoint_id = up.parent_id
    )
"""

_DOWN = f"""
    WITH RECURSIVE down(thread_id, checkpoint_id) AS (
        SELECT thread_id, checkpoint_id FROM {_TABLE} WHERE thread_id = %s AND checkpoint_id = %s
        UNION ALL
        SELECT c.thread_id, c.checkpoint_id FROM down
        JOIN {_TABLE} c ON c.thread_id = down.thread_id AND c.parent_id = down.checkpoint_id
    )
    SELECT checkpoint_id FROM down
"""


def shown(thread_id: UUID) -> RawSQL:
    """The keys of HEAD's checkpoint and of those it grew from, for `pk__in`."""
    return RawSQL(_HEADED, [_key(thread_id)])


def leading_to(thread_id: UUID, checkpoint_id: str) -> RawSQL:
    """The keys of this checkpoint and of those it grew from, for `pk__in`."""
    return RawSQL(_LEADING, [_key(thread_id), checkpoint_id])


def above(thread_id: UUID, checkpoint_id: str | None) -> list[str]:
    """The checkpoint and those it grew from, up to the first."""
    return [name for (name,) in _rows(f"{_UP} SELECT checkpoint_id FROM up ORDER BY steps", thread_id, checkpoint_id)]


def below(thread_id: UUID, checkpoint_id: str) -> set[str]:
    """The checkpoint and all that grew from it, on any branch."""
    return {name for (name,) in _rows(_DOWN, thread_id, checkpoint_id)}


def nearest(thread_id: UUID, checkpoint_id: str, message: int | None) -> str | None:
    """The first checkpoint from this one upwards that ends in `message`; with None, that holds none."""
    where = "message_id IS NULL" if message is None else "message_id = %s"
    sql = f"{_UP} SELECT checkpoint_id FROM up WHERE {where} ORDER BY steps LIMIT 1"
    found = _rows(sql, thread_id, checkpoint_id, *([] if message is None else [message]))
    return found[0][0] if found else None


def _rows(sql: str, thread_id: UUID, *given: Any) -> Sequence[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [_key(thread_id), *given])
        return cursor.fetchall()


def _key(thread_id: UUID) -> Any:
    # SQLite keeps an id as 32 digits, PostgreSQL as a type of its own.
    return Thread._meta.pk.get_db_prep_value(thread_id, connection)
