"""A command's claim to a thread, made before LangGraph is touched.

In the transaction of the command it checks the idempotency key, and makes the Run row, of which a thread has at most
one that is active. Whether the page is up to date, `heads.py` checks.
"""

from __future__ import annotations

from branching import leases
from branching.models import Run, Thread
from branching.types import Content


def claim(thread: Thread, *, kind: str, base: str | None, key: str | None, said: Content | None = None) -> Run | None:
    """The thread's active run, made now; None where `key` was seen before. Raises `RunInProgress`."""
    if is_seen(thread, key):
        return None
    leases.refuse_while_running(thread)
    carried = {"id": said.id, "text": said.text} if said else None
    return thread.runs.create(kind=kind, base=base, input=carried, key=key, lease_until=leases.from_now())


def is_seen(thread: Thread, key: str | None) -> bool:
    """Whether the command with this idempotency key was carried out before."""
    return bool(key) and thread.runs.filter(key=key).exists()
