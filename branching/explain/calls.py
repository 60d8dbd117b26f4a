"""What a run comes to, as texts: the call of LangGraph in Python, and the same as requests to an agent server."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pprint import pformat
from typing import Any

from branching import actions, inspection, threads
from branching.forks import MESSAGES, Update
from branching.models import Run, Thread
from branching.writing import COPY

BEFORE = "(the one that the first has returned)"
"""Stands for a checkpoint that an earlier request of the same command makes."""


def run(run: Run, *, follows: bool = False) -> tuple[str, tuple[str, ...]]:
    """Executing `run`; with `follows`, after a call that has left its `config`."""
    where = {"checkpoint": BEFORE if follows else checkpoint(run.thread, run.base)} if follows or run.base else {}
    lines = [] if follows else [config(run.thread, run.base)]
    given: Any = None
    if run.kind == "answer":
        resume = {row.interrupt_id: row.answer for row in actions.asked_at(run.thread_id, run.base) if _counts(row)}
        lines = ["from langgraph.types import Command", *lines]
        lines.append(f"await graph.ainvoke(Command(resume={_written(resume)}), config, {_options(run.thread)})")
        return "\n".join(lines), (_request_run(run.thread, {"command": {"resume": resume}, **where}),)
    if run.kind == "send":
        given = {MESSAGES: [said(run)]}
    lines.append(f"await graph.ainvoke({_written(given)}, config, {_options(run.thread)})")
    return "\n".join(lines), (_request_run(run.thread, {"input": given, **where}),)


def several(run: Run, times: int) -> tuple[str, tuple[str, ...]]:
    """Executing so many runs like this one beside each other. An agent server takes one at a time on a thread."""
    call = f"graph.ainvoke(None, config, {_options(run.thread)})"
    lines = ("import asyncio", config(run.thread, run.base), f"await asyncio.gather(*[{call} for _ in range({times})])")
    return "\n".join(lines), ()


def _options(thread: Thread) -> str:
    """What every run is given beside: what was chosen for the thread, where that is anything."""
    return ", ".join([*(f"{name}={value!r}" for name, value in _chosen(thread).items()), "durability='sync'"])


def _chosen(thread: Thread) -> dict[str, Any]:
    noted = threads.choices(thread).noted
    return {"context": noted} if noted else {}


def _counts(row: Any) -> bool:
    return bool(row.answer) and not row.answer.get("unanswered")


def edit(run: Run) -> tuple[str, tuple[str, ...]]:
    """The first request of an edit."""
    values = {MESSAGES: [said(run)]}
    lines = (
        config(run.thread, run.base),
        f"config = await graph.aupdate_state(config, {_written(values)}, as_node='__start__')",
    )
    return "\n".join(lines), (
        _request_state(run.thread, checkpoint(run.thread, run.base), Update("__start__", values)),
    )


def fork(thread: Thread, checkpoint_id: str, updates: Sequence[Update]) -> tuple[str, tuple[str, ...]]:
    """A change of the state as these nodes, all in one checkpoint."""
    requests = _request_states(thread, checkpoint(thread, checkpoint_id), updates)
    return f"{_IMPORTS}\n{config(thread, checkpoint_id)}\n{_update(updates)}", requests


def copy(thread: Thread, checkpoint_id: str, updates: Sequence[Update]) -> tuple[str, tuple[str, ...]]:
    """The same under a copy that is made beside the checkpoint first; without updates, the copy alone."""
    here = config(thread, checkpoint_id)
    copying = f"config = await graph.aupdate_state(config, None, as_node={COPY!r})"
    body = {"values": None, "as_node": COPY, "checkpoint": checkpoint(thread, checkpoint_id)}
    copied = _request(f"/threads/{thread.pk}/state", body)
    if not updates:
        return f"{here}\n{copying}", (copied,)
    requests = _request_states(thread, BEFORE, updates)
    return f"{_IMPORTS}\n{here}\n{copying}\n{_update(updates)}", (copied, *requests) if requests else ()


_IMPORTS = "from uuid import uuid4\nfrom langgraph.types import StateUpdate"


def _update(updates: Sequence[Update]) -> str:
    given = ",\n".join(
        f"    StateUpdate({_written(_sendable(up.values))}, {up.node!r}, str(uuid4()))" for up in updates
    )
    return f"config = await graph.abulk_update_state(config, [[\n{given}\n]])"


def _request_states(thread: Thread, where: Any, updates: Sequence[Update]) -> tuple[str, ...]:
    """An agent server takes one update at a time."""
    return (_request_state(thread, where, updates[0]),) if len(updates) == 1 else ()


def beginning(thread: Thread) -> tuple[str, tuple[str, ...]]:
    """An empty checkpoint, with which a thread begins. An agent server has nothing like it."""
    lines = (
        "from langgraph.checkpoint.base import empty_checkpoint",
        config(thread, None),
        "first = {'source': 'input', 'step': -1, 'parents': {}}",
        "config = await graph.checkpointer.aput(config, empty_checkpoint(), first, {})",
    )
    return "\n".join(lines), ()


def branch_off(thread: Thread, checkpoint_id: str, nodes: Mapping[str, str]) -> tuple[str, tuple[str, ...]]:
    """A thread of its own that begins with the values of a checkpoint, each message written as the node for its kind.
    An agent server has no single request for it."""
    lines = (
        "from uuid import uuid4",
        "from langgraph.checkpoint.base import empty_checkpoint",
        config(thread, checkpoint_id),
        "values = dict((await graph.aget_state(config)).values)",
        "messages = values.pop('messages')",
        "config = {'configurable': {'thread_id': str(uuid4()), 'checkpoint_ns': ''}}",
        "first = {'source': 'input', 'step': -1, 'parents': {}}",
        "config = await graph.checkpointer.aput(config, empty_checkpoint(), first, {})",
        f"nodes = {dict(nodes)!r}",
        "for number, message in enumerate(messages, 1):",
        "    more = values if number == len(messages) else {}",
        "    update = {'messages': [message], **more}",
        "    config = await graph.aupdate_state(config, update, as_node=nodes[message.type])",
    )
    return "\n".join(lines), ()


def said(run: Run) -> dict[str, str]:
    """The message of a run, as LangChain and an agent server take it."""
    return {"type": "human", "content": run.input["text"], "id": run.input["id"]}


def checkpoint(thread: Thread, checkpoint_id: str | None) -> dict[str, str]:
    """How a checkpoint is named."""
    named = {"thread_id": str(thread.pk), "checkpoint_ns": ""}
    return {**named, "checkpoint_id": checkpoint_id} if checkpoint_id else named


def config(thread: Thread, checkpoint_id: str | None) -> str:
    """The line that names the checkpoint for all that follows."""
    return f"config = {_laid_out({'configurable': checkpoint(thread, checkpoint_id)})}"


def updates_of(written: Sequence[Any]) -> list[Update]:
    """LangGraph's updates as plain values."""
    return [Update(each.as_node, inspection.plain(each.values)) for each in written]


def _request_run(thread: Thread, what: Mapping[str, Any]) -> str:
    body = {"assistant_id": thread.assistant, **what, **_chosen(thread), "durability": "sync"}
    return _request(f"/threads/{thread.pk}/runs/wait", body)


def _request_state(thread: Thread, where: Any, update: Update) -> str:
    body = {"values": _sendable(update.values), "as_node": update.node, "checkpoint": where}
    return _request(f"/threads/{thread.pk}/state", body)


def _request(path: str, body: Mapping[str, Any]) -> str:
    return f"POST {path}\n\n{json.dumps(body, ensure_ascii=False, indent=2)}"


def _laid_out(value: Any) -> str:
    return pformat(value, width=100, sort_dicts=False)


def _written(value: Any) -> str:
    return _laid_out(value).replace("\n", "\n    ")


def _sendable(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with messages as LangChain takes them: each has a content, a removal too."""
    if not isinstance(messages := values.get(MESSAGES), list):
        return dict(values)
    return {**values, MESSAGES: [{**each, "content": each.get("content") or ""} for each in messages]}
