"""From a file back to threads: each message becomes a checkpoint, written as the node that would have said it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from langchain_core.runnables import RunnableConfig

from branching import assistants, contents, heads, history, index, threads, writing
from branching.assistants import Assistant
from branching.carrying import MESSAGES_MAX, Carried, CarriedMessage
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import BadFile, HistoryLost, NotForkable, NothingSaid, TooLong
from branching.models import Message, Thread


async def bring(engine: Engine, owner: Any, carried: Sequence[Carried]) -> list[Thread]:
    """New threads of the owner, made from these: all of them, or where one can't be made none. Raises `BadFile`."""
    made: list[Thread] = []
    try:
        for each in carried:
            made.append(await _bring(engine, owner, each))
    except BaseException:
        for thread in made:
            await threads.delete(thread.pk)
        raise
    return made


@on_database
@transaction.atomic
def branch_off(engine: Engine, thread: Thread, checkpoint_id: str) -> Thread:
    """A new thread that begins with the values of this checkpoint, and has nothing else in common with the old one.

    Its messages can be edited and regenerated like any others. Raises `NoSuchCheckpoint`, `HistoryLost`, `NotForkable`,
    `NothingSaid`, `TooLong`.
    """
    index.checkpoint_of(thread.pk, checkpoint_id)
    if assistants.get(thread.assistant).is_functional:
        raise NotForkable
    if not engine.saver.has(thread.pk, checkpoint_id):
        raise HistoryLost
    values = dict(history.values_of(engine.graph(thread.assistant), thread.pk, checkpoint_id))
    messages = [history.content_of(message) for message in values.pop("messages", ())]
    if not messages or len(messages) > MESSAGES_MAX:
        raise TooLong if messages else NothingSaid
    made = Thread.objects.create(owner=thread.owner, assistant=thread.assistant, title=thread.title)
    config, last = _empty(engine, made), len(messages) - 1
    for number, content in enumerate(messages):
        more = values if number == last else {}
        config, _row = _say(engine, made, config, CarriedMessage(None, content), **more)
    heads.begin(made.pk, index.checkpoint_of(made.pk, config["configurable"]["checkpoint_id"]), ends={})
    return made


@on_database
@transaction.atomic
def _bring(engine: Engine, owner: Any, carried: Carried) -> Thread:
    thread = Thread.objects.create(owner=owner, assistant=carried.assistant, title=carried.title)
    if not carried.messages:
        return thread
    configs: list[RunnableConfig] = []
    rows: list[Message] = []
    first = _empty(engine, thread)
    for message in carried.messages:
        base = first if message.parent is None else configs[message.parent]
        config, row = _say(engine, thread, base, message)
        configs.append(config)
        rows.append(row)
    if len({row.pk for row in rows}) != len(rows):
        raise BadFile  # two versions that are the same in everything are one
    ends = {rows[at]: rows[each.end] for at, each in enumerate(carried.messages) if each.end in range(len(rows))}
    shown = rows[carried.head] if carried.head is not None else rows[-1]
    heads.begin(thread.pk, index.tip_of(shown), ends=ends)
    _date(rows, [message.created_at for message in carried.messages])
    labelled = [(row, message.label) for row, message in zip(rows, carried.messages, strict=True) if message.label]
    for row, label in labelled:
        Message.objects.filter(pk=row.pk).update(label=label)
    return thread


def _empty(engine: Engine, thread: Thread) -> RunnableConfig:
    """A checkpoint with nothing in it, from which all first messages grow."""
    config = history.begin(engine.saver, thread.pk)
    index.record(thread.pk, history.of(engine.graph(thread.assistant).get_state(config)))
    return config


def _say(
    engine: Engine, thread: Thread, base: RunnableConfig, message: CarriedMessage, **more: Any
) -> tuple[RunnableConfig, Message]:
    graph = engine.graph(thread.assistant)
    node = _node(assistants.get(thread.assistant), message)
    try:
        said = contents.message_of(message.content)
        config = writing.say(graph, base, {"messages": [said], **more}, node=node)
        row = index.record(thread.pk, history.of(graph.get_state(config)))
    except (ValueError, TypeError, KeyError, AttributeError) as error:  # pydantic's errors are of the first kind
        raise BadFile from error
    if row.message is None:
        raise BadFile
    return config, row.message


def _node(assistant: Assistant, message: CarriedMessage) -> str:
    if message.content.kind == "human":
        return index.START
    is_result = message.content.kind == "tool" and assistant.acts
    return assistant.acts[0] if is_result else assistant.reply_nodes[0]


def _date(rows: Sequence[Message], times: Sequence[datetime | None]) -> None:
    dated = [row for row, time in zip(rows, times, strict=True) if time]
    for row, time in zip(rows, times, strict=True):
        row.created_at = time or row.created_at
    Message.objects.bulk_update(dated, ["created_at"], batch_size=500)
