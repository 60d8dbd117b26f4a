"""What a command of the time machine comes to: the call of LangGraph, and the same for an agent server, as texts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pprint import pformat
from typing import Any

from branching.database import on_database
from branching.forks import MESSAGES, Update
from branching.models import Thread
from branching.writing import COPY

RUN = "await graph.ainvoke(None, config, durability='sync')"

RETURNED = "(the one that the request before has returned)"


@dataclass(frozen=True)
class Explanation:
    """One command, told beforehand."""

    python: str
    """Runnable where `graph` is the assistant's compiled graph."""
    requests: tuple[str, ...]
    """To an agent server. Empty where it has none for this."""
    copies: bool = False
    """Whether LangGraph begins with a copy of the checkpoint (`source="fork"`)."""
    adds: str = ""
    """Which checkpoints a command adds before any step: "update", "copy" beside, "copy and update", or "input"."""


@on_database
def replay(thread: Thread, checkpoint_id: str) -> Explanation:
    """What it is to run again from this checkpoint of the thread."""
    row = thread.checkpoints.get(checkpoint_id=checkpoint_id)
    base = thread.checkpoints.filter(checkpoint_id=row.origin_id).first() or row
    newest = max(thread.checkpoints.values_list("checkpoint_id", flat=True))
    return Explanation(
        python=f"{_config(thread, base.checkpoint_id)}\n{RUN}",
        requests=(_run(thread, {"checkpoint": _checkpoint(thread, base.checkpoint_id)}),),
        # One that is the newest of all, and was not made by a step, LangGraph goes on from in place.
        copies=not (base.checkpoint_id == newest and base.source in ("update", "fork")),
    )


def say(thread: Thread, checkpoint_id: str, text: str = "…") -> Explanation:
    """What it is to say something new at this checkpoint of the thread."""
    given = {MESSAGES: [{"type": "human", "content": text}]}
    lines = (
        _config(thread, checkpoint_id),
        f"await graph.ainvoke({_python(given)}, config, durability='sync')",
    )
    request = _run(thread, {"input": given, "checkpoint": _checkpoint(thread, checkpoint_id)})
    return Explanation("\n".join(lines), (request,), adds="input")


def fork(thread: Thread, checkpoint_id: str, updates: Sequence[Update], *, beside: bool = False) -> Explanation:
    """What it is to change the state at this checkpoint of the thread, and to run from there."""
    if beside:
        return _copy(thread, checkpoint_id, updates)
    lines = (_config(thread, checkpoint_id), *_written(updates), RUN)
    requests = _requests(thread, _checkpoint(thread, checkpoint_id), updates)
    return Explanation("\n".join(lines), requests, adds="update")


def _copy(thread: Thread, checkpoint_id: str, updates: Sequence[Update]) -> Explanation:
    """The same, with a copy beside the checkpoint first."""
    lines = (
        _config(thread, checkpoint_id),
        f"config = await graph.aupdate_state(config, None, as_node={COPY!r})",
        *(_written(updates) if updates else ()),
        RUN,
    )
    copied = {"values": None, "as_node": COPY, "checkpoint": _checkpoint(thread, checkpoint_id)}
    requests = _requests(thread, RETURNED, updates) if updates else (_run(thread, {"checkpoint": RETURNED}),)
    requests = (_request(f"/threads/{thread.pk}/state", copied), *requests) if requests else ()
    return Explanation("\n".join(lines), requests, adds="copy and update" if updates else "copy")


def _written(updates: Sequence[Update]) -> tuple[str, ...]:
    given = ",\n".join(
        f"    StateUpdate({_python(update.values)}, {update.node!r}, str(uuid4()))" for update in updates
    )
    return (
        "from uuid import uuid4",
        "from langgraph.types import StateUpdate",
        f"config = await graph.abulk_update_state(config, [[\n{given}\n]])",
    )


def _requests(thread: Thread, where: Any, updates: Sequence[Update]) -> tuple[str, ...]:
    if len(updates) != 1:
        return ()
    [update] = updates
    body = {"values": _sendable(update.values), "as_node": update.node}
    written = _request(f"/threads/{thread.pk}/state", {**body, "checkpoint": where})
    return written, _run(thread, {"checkpoint": RETURNED})


def _run(thread: Thread, where: Mapping[str, Any]) -> str:
    body = {"assistant_id": thread.assistant, "input": None, **where, "durability": "sync"}
    return _request(f"/threads/{thread.pk}/runs/wait", body)


def _request(path: str, body: Mapping[str, Any]) -> str:
    return f"POST {path}\n\n{json.dumps(body, ensure_ascii=False, indent=2)}"


def _checkpoint(thread: Thread, checkpoint_id: str) -> dict[str, str]:
    return {"thread_id": str(thread.pk), "checkpoint_ns": "", "checkpoint_id": checkpoint_id}


def _config(thread: Thread, checkpoint_id: str) -> str:
    return f"config = {pformat({'configurable': _checkpoint(thread, checkpoint_id)}, width=100, sort_dicts=False)}"


def _python(values: Mapping[str, Any]) -> str:
    return pformat(_sendable(values), width=100, sort_dicts=False).replace("\n", "\n    ")


def _sendable(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with messages as LangChain takes them: each has a content, a removal too."""
    if not isinstance(messages := values.get(MESSAGES), list):
        return dict(values)
    return {**values, MESSAGES: [{**each, "content": each.get("content") or ""} for each in messages]}
