"""Ways through the message tree that take a few steps however long the thread is; each is one recursive query.

A message knows its parent and, in `jump`, the ancestor whose depth is its own without the lowest bit that is set:
from 52 (110100) the jump leads to 48 (110000), from there to 32. To come from any depth to any other takes some
log² n steps: one jumps wherever that does not lead too far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import connection

from branching.models import Message

# How to step from `here` towards depth `%s`. A jump leads nowhere where it would have to lead to depth 0.
_CLIMB = """
    SELECT {columns} FROM {here} JOIN branching_message m
    ON m.id = CASE WHEN ({here}.depth & ({here}.depth - 1)) >= %s THEN {here}.jump_id ELSE {here}.parent_id END
    WHERE {here}.depth > %s
"""

_ANCESTOR = f"""
    WITH RECURSIVE up(id, parent_id, jump_id, depth) AS (
        SELECT id, parent_id, jump_id, depth FROM branching_message WHERE id = %s
        UNION ALL
        {_CLIMB.format(columns="m.id, m.parent_id, m.jump_id, m.depth", here="up")}
    )
    SELECT id FROM up WHERE depth = %s
"""

_PARTING = f"""
    WITH RECURSIVE up(origin, id, parent_id, jump_id, depth) AS (
        SELECT id, id, parent_id, jump_id, depth FROM branching_message WHERE id IN (%s, %s)
        UNION ALL
        {_CLIMB.format(columns="up.origin, m.id, m.parent_id, m.jump_id, m.depth", here="up")}
    ),
    pair(a, a_parent, a_jump, b, b_parent, b_jump, depth) AS (
        SELECT a.id, a.parent_id, a.jump_id, b.id, b.parent_id, b.jump_id, a.depth
        FROM up a JOIN up b ON a.depth = %s AND b.depth = %s AND a.origin = %s AND b.origin = %s
        UNION ALL
        SELECT a.id, a.parent_id, a.jump_id, b.id, b.parent_id, b.jump_id, a.depth
        FROM pair
        JOIN branching_message a ON a.id = CASE WHEN a_jump <> b_jump THEN a_jump ELSE a_parent END
        JOIN branching_message b ON b.id = CASE WHEN a_jump <> b_jump THEN b_jump ELSE b_parent END
        WHERE a_parent <> b_parent
    )
    SELECT a, b FROM pair ORDER BY depth LIMIT 1
"""

_PATH = """
    WITH RECURSIVE up(id, parent_id, depth) AS (
        SELECT id, parent_id, depth FROM branching_message WHERE id = %s
        UNION ALL
        SELECT m.id, m.parent_id, m.depth FROM up JOIN branching_message m ON m.id = up.parent_id WHERE up.depth > %s
    )
    SELECT id FROM up
"""


def jump_from(parent: Message | None) -> int | None:
    """The key of the `jump` of a new message after `parent`."""
    depth = parent.depth + 1 if parent else 1
    wanted = depth & (depth - 1)
    return ancestor(parent, wanted) if parent and wanted else None


def ancestor(message: Message, depth: int) -> int | None:
    """The key of the message at this depth on the way to `message`, or of that; None below it."""
    if message.depth <= depth:
        return message.pk if message.depth == depth else None
    found = _rows(_ANCESTOR, [message.pk, depth, depth, depth])
    return found[0][0] if found else None


def parting(a: Message | None, b: Message | None) -> tuple[int | None, int | None]:
    """The keys of the two versions with which the ways to `a` and to `b` part.

    None stands for a way that ends before: so `(None, x)` says that `a` is on the way to `b` and `x` comes after it.
    """
    if a == b:
        return None, None
    if a is None or b is None:
        return (ancestor(a, 1) if a else None), (ancestor(b, 1) if b else None)
    common = min(a.depth, b.depth)
    given = [a.pk, b.pk, common, common, common, common, a.pk, b.pk]
    [(toward_a, toward_b)] = _rows(_PARTING, given)
    if toward_a != toward_b:
        return toward_a, toward_b
    return ancestor(a, common + 1), ancestor(b, common + 1)


def is_on_the_way(message: Message, to: Message | None) -> bool:
    """Whether one passes `message` on the way to another, or it is that."""
    return to is not None and ancestor(to, message.depth) == message.pk


def path(message: Message, first: int) -> list[int]:
    """The keys of the messages from depth `first` down to `message`, in no order."""
    return [pk for (pk,) in _rows(_PATH, [message.pk, first])]


def _rows(sql: str, given: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql, given)
        return cursor.fetchall()
