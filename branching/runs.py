"""Executes a run: streams the graph from the run's base, keeps the index and HEAD in step, yields `RunEvent`s.

No sockets and no HTML here, and no task that outlives the generator: whoever consumes it owns the run.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal

from django.db import DatabaseError, transaction
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, StateUpdate

from branching import (
    actions,
    assistants,
    failures,
    heads,
    history,
    index,
    leases,
    llm,
    recovery,
    results,
    threads,
    writing,
)
from branching.database import on_database
from branching.engine import Engine
from branching.exceptions import HistoryLost, NoSuchThread
from branching.limits import RECURSION_LIMIT
from branching.models import IndexedCheckpoint, Message, Run, Thread
from branching.scenarios import script
from branching.standing import at_head
from branching.types import Checkpoint, CheckpointSaved, Choices, Content, Pending, Question, RunEnded, RunEvent, Token

log = logging.getLogger(__name__)


async def execute(engine: Engine, run: Run, stop: asyncio.Event) -> AsyncIterator[RunEvent]:
    """The events of `run`, the last a `RunEnded`, while the index and HEAD follow the checkpoints it saves.

    Setting `stop` ends it soon, with the text so far kept as a stopped reply. A failure of the graph is an event, not
    an exception. If the consumer is cancelled instead, or the books can't be kept, the run counts as lost.
    """
    course = _Course(engine, run, engine.graph(run.thread.assistant))
    try:
        async with aclosing(course.events(stop)) as events:
            async for event in events:
                yield event
    except NoSuchThread:
        # It was deleted meanwhile; what has been saved since belongs to no one.
        await engine.saver.adelete_thread(str(run.thread_id))
        yield RunEnded("stopped")
    except BaseException:
        await asyncio.shield(leases.lose(run))
        raise


def write_edit(engine: Engine, run: Run, said: Content) -> Checkpoint:
    """The update checkpoint that says `said` at the base of `run`. Raises `HistoryLost`. Inside a transaction."""
    base = history.config_for(run.thread_id, run.base, **{history.RUN: str(run.pk)})
    # LangGraph would make an orphan of an update to a checkpoint that it does not have.
    if not engine.saver.has(run.thread_id, run.base):
        raise HistoryLost
    graph = engine.graph(run.thread.assistant)
    # Written as `__start__`, so that the graph's first node is what runs next.
    config = writing.say(graph, base, {"messages": [HumanMessage(said.text, id=said.id)]}, node=index.START)
    return history.of(graph.get_state(config))


def write_beginning(engine: Engine, run: Run) -> Checkpoint:
    """The checkpoint with nothing in it that a thread begins with. Inside a transaction."""
    config = history.begin(engine.saver, run.thread_id)
    return history.of(engine.graph(run.thread.assistant).get_state(config))


def write_results(engine: Engine, run: Run) -> Checkpoint | None:
    """The update checkpoint that gives a result to each tool call that is open at the base of `run`; None where none
    is. Inside a transaction."""
    # Without the name of the run: it is there with the run's base, not after it.
    base = history.config_for(run.thread_id, run.base)
    graph = engine.graph(run.thread.assistant)
    snapshot = graph.get_state(base)
    known = actions.outcomes(run.thread_id, run.base)
    updates = results.closing(snapshot, known, results.UNKNOWN)
    return history.of(graph.get_state(writing.write(graph, base, updates))) if updates else None


@dataclass
class _Course:
    """One run on its way: what it has said since its newest checkpoint, and which checkpoints are not yet recorded."""

    engine: Engine
    run: Run
    graph: CompiledStateGraph
    text: str = ""
    next: tuple[str, ...] = ()
    coming: list[Checkpoint] = field(default_factory=list)
    recorded: set[str] = field(default_factory=set)
    streamed: set[tuple[Any, Any]] = field(default_factory=set)

    async def events(self, stop: asyncio.Event) -> AsyncIterator[RunEvent]:
        attempt = await _start(self.run)
        if attempt is None:
            yield RunEnded("failed", "error")
            return
        error: BaseException | None = None
        try:
            if models := await script.models_of(self.engine, self.run.thread):
                self.graph = self.engine.graph_with(models, self.run.thread.assistant)
            await self._check_base()
            given = (await self._input(), self._config(attempt), threads.choices(self.run.thread))
            async with aclosing(_parts(self.graph, *given, stop)) as parts:
                async for part in parts:
                    async for event in self._take(part):
                        yield event
        except NoSuchThread:
            raise
        except Exception as raised:
            error = raised
        async for event in self._settle(error, stopped=stop.is_set()):
            yield event

    async def _check_base(self) -> None:
        if not await recovery.can_go_on(self.engine, self.run.thread_id, self.run.base):
            raise HistoryLost

    async def _input(self) -> dict[str, Any] | Command | None:
        """What to give the graph: None, so that it goes on from its base, except where something new is said."""
        if self.run.kind == "answer":
            return Command(resume=await actions.answers_at(self.run.thread_id, self.run.base))
        if self.run.kind != "send":
            return None
        return {"messages": [HumanMessage(self.run.input["text"], id=self.run.input["id"])]}

    def _config(self, attempt: int) -> dict[str, Any]:
        metadata = {history.RUN: str(self.run.pk), "attempt": attempt}
        names = history.config_for(self.run.thread_id, self.run.base, **metadata)
        return {**names, "recursion_limit": RECURSION_LIMIT}

    async def _take(self, part: dict[str, Any]) -> AsyncIterator[RunEvent]:
        if part["ns"]:
            if part["type"] == "messages" and (text := self._spoken_within(*part["data"])):
                self.text += text
                yield Token(text)
            return
        # Under `sync` durability a checkpoint is on disk before anything of the next superstep is heard; but LangGraph
        # does not wait for the one that a run begins with.
        if self.recorded or await self._has_begun_on_disk():
            async for event in self._record_all():
                yield event
        if part["type"] == "checkpoints":
            self.coming.append(history.from_event(part["data"]))
        elif part["type"] == "messages" and (text := self._spoken(*part["data"])):
            self.text += text
            yield Token(text)

    def _spoken_within(self, message: Any, metadata: dict[str, Any]) -> str:
        """The new text of a graph within a node, where that is what a person is to see."""
        is_reply = metadata.get("langgraph_node") in assistants.get(self.run.thread.assistant).speakers
        return self._spoken(message, metadata) if is_reply else ""

    def _spoken(self, message: Any, metadata: dict[str, Any]) -> str:
        """The new text in a piece of the stream. A node's finished message repeats what its pieces said."""
        if not isinstance(message, AIMessage):
            return ""
        step = (metadata.get("langgraph_node"), metadata.get("langgraph_step"))
        if not isinstance(message, AIMessageChunk) and step in self.streamed:
            return ""
        self.streamed.add(step)
        return llm.storable(str(message.text))

    async def _record_all(self) -> AsyncIterator[RunEvent]:
        """Take the checkpoints that have reached the disk into the index, and HEAD along with them."""
        while self.coming:
            checkpoint = self.coming[0]
            followed = await _record(self.run, checkpoint)
            if self.recorded:
                self.text = ""  # it holds what was said so far; the first one came before the first word
            self.coming, self.next = self.coming[1:], checkpoint.next
            self.recorded.add(checkpoint.id)
            yield CheckpointSaved(checkpoint, followed)

    async def _has_begun_on_disk(self) -> bool:
        return bool(self.coming) and await self.engine.saver.ahas(self.run.thread_id, self.coming[0].id)

    async def _settle(self, error: BaseException | None, *, stopped: bool) -> AsyncIterator[RunEvent]:
        """Bring the books in order at the end."""
        if error or stopped:
            # Then only the disk counts: a cut stream may have told of a checkpoint that never got there, and not of
            # one that did.
            self.coming = await self._unrecorded()
        async for event in self._record_all():
            yield event
        # Where it was the app's own database that failed, more may have been saved than could be recorded.
        is_settled = not isinstance(error, DatabaseError)
        if error or stopped:
            is_settled = await self._say() and is_settled
            async for event in self._record_all():
                yield event
        is_stopped = stopped and bool(self.next or self.run.tip is None)
        if is_stopped:
            await self._keep()
            async for event in self._record_all():
                yield event
        if error and not stopped:
            yield await self._fail(error, is_settled=is_settled)
        elif is_stopped:
            yield await _end(self.run, Run.Status.STOPPED, is_settled=is_settled)
        elif questions := await self._questions():
            yield await _wait(self.run, questions)
        else:
            yield await _end(self.run, Run.Status.DONE, is_settled=is_settled)

    async def _questions(self) -> tuple[Question, ...]:
        """What the graph asks before it goes on. A question makes no checkpoint: it hangs on the one before it."""
        if not self.next or self.run.tip is None:
            return ()
        return (await history.read(self.graph, history.config_for(self.run.thread_id, self.run.tip))).questions

    async def _unrecorded(self) -> list[Checkpoint]:
        saved = await history.of_run(self.graph, self.run.thread_id, self.run.pk)
        return [checkpoint for checkpoint in saved if checkpoint.id not in self.recorded]

    async def _say(self) -> bool:
        """See to it that the message is in a checkpoint, answered or not. False where the saver can't take it now."""
        try:
            if await recovery.say(self.engine, self.run):
                self.coming = await self._unrecorded()
        except Exception:
            log.exception("What was said in run %s of thread %s could not be saved.", self.run.pk, self.run.thread_id)
            return False
        return True

    async def _fail(self, error: BaseException, *, is_settled: bool) -> RunEnded:
        code = failures.code_of(error)
        log.error("Run %s of thread %s failed: %s", self.run.pk, self.run.thread_id, code, exc_info=error)
        return await _end(self.run, Run.Status.FAILED, error=code, partial=self.text, is_settled=is_settled)

    async def _keep(self) -> None:
        """Store what a stopped reply had said, as the node that was saying it; and of tools, that they were stopped."""
        if self.run.tip is None:
            return
        here = history.config_for(self.run.thread_id, self.run.tip, **{history.RUN: str(self.run.pk)})
        kept = await self._partial() or await self._stopped_calls()
        if kept:
            config = await self.graph.abulk_update_state(here, [kept])
            self.coming = [await history.read(self.graph, config)]

    async def _partial(self) -> list[StateUpdate]:
        assistant = assistants.get(self.run.thread.assistant)
        node = history.WHOLE_TURN if assistant.is_functional else next(iter(self.next), "")
        if not self.text.strip() or len(set(self.next)) != 1 or node not in assistant.reply_nodes:
            return []
        noted = threads.choices(self.run.thread).noted
        metadata = {"settings": noted} if noted else {}
        marked = {"additional_kwargs": {"stopped": True}, "response_metadata": metadata}
        partial = AIMessage(self.text, id=str(uuid.uuid4()), **marked)
        before = await self._whole() if assistant.is_functional else []
        return [StateUpdate({"messages": [*before, partial]}, as_node=node)]

    async def _whole(self) -> list[BaseMessage]:
        """All that comes before the reply, where a step has to write the whole state: the message too."""
        snapshot = await self.graph.aget_state(history.config_for(self.run.thread_id, self.run.tip))
        pending = await _pending_at(self.run)
        said = [HumanMessage(pending.text, id=pending.message_id)] if pending else []
        return [*(snapshot.values or {}).get("messages", []), *said]

    async def _stopped_calls(self) -> list[StateUpdate]:
        snapshot = await self.graph.aget_state(history.config_for(self.run.thread_id, self.run.tip))
        return results.closing(snapshot, await _outcomes(self.run), results.STOPPED)


async def _parts(
    graph: CompiledStateGraph, given: Any, config: dict[str, Any], choices: Choices, stop: asyncio.Event
) -> AsyncIterator[dict[str, Any]]:
    """The parts of the graph's stream until it ends or `stop` is set. When it returns, nothing is left running.

    The stream lives in a task of its own, since stopping is cancelling it wherever it waits, and it must be closed in
    the context in which it was opened.
    """
    queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def pump() -> None:
        try:
            modes = ["checkpoints", "messages", "tasks"]
            options = {"stream_mode": modes, "durability": "sync", "version": "v2", "subgraphs": True}
            stream = graph.astream(given, config, context=choices, **options)
            async with aclosing(stream) as parts:
                async for part in parts:
                    queue.put_nowait(part)
        finally:
            queue.put_nowait(None)

    streaming = asyncio.create_task(pump())
    stopping = asyncio.create_task(_cancel_when(stop, streaming))
    try:
        while (part := await queue.get()) is not None:
            yield part
    finally:
        stopping.cancel()
        streaming.cancel()
        await asyncio.wait({streaming, stopping})
    if not streaming.cancelled() and (error := streaming.exception()):
        raise error


async def _cancel_when(stop: asyncio.Event, task: asyncio.Task[None]) -> None:
    await stop.wait()
    task.cancel()


@on_database
def _start(run: Run) -> int | None:
    """Mark the run as running. Which attempt it is: how many versions of this reply there are already.

    None if it is not to begin any more: it waited so long that it was given up, or its thread is gone.
    """
    queued = Run.objects.filter(pk=run.pk, status=Run.Status.QUEUED)
    if not queued.update(status=Run.Status.RUNNING, lease_until=leases.from_now()):
        return None
    base = IndexedCheckpoint.objects.filter(thread=run.thread_id, checkpoint_id=run.base).first()
    if run.kind == "send" or base is None or base.message_id is None:
        return 0
    return Message.objects.filter(parent=base.message_id).count() + _place(run)


def _place(run: Run) -> int:
    """Which one it is of those that were begun together, from 0."""
    if run.beside_id is None:
        return 0
    return 1 + Run.objects.filter(beside=run.beside_id, created_at__lt=run.created_at).count()


@on_database
@transaction.atomic
def _record(run: Run, checkpoint: Checkpoint) -> bool:
    """Index the checkpoint and move the run's tip there. Whether HEAD went along. Raises `NoSuchThread`."""
    heads.locked(run.thread_id)
    row = index.record(run.thread_id, checkpoint, run_id=run.pk)
    followed = heads.follow(run, row)
    Run.objects.filter(pk=run.pk).update(tip=row.checkpoint_id)
    run.tip = row.checkpoint_id
    return followed


@on_database
def _pending_at(run: Run) -> Pending | None:
    thread = Thread.objects.get(pk=run.thread_id)
    thread.head = run.tip  # never saved
    return at_head(thread).pending


@on_database
def _outcomes(run: Run) -> dict[str, str]:
    return actions.outcomes(run.thread_id, run.tip)


@on_database
@transaction.atomic
def _wait(run: Run, questions: tuple[Question, ...]) -> RunEnded:
    actions.ask(run, run.tip, questions)
    leases.end(run, status=Run.Status.WAITING)
    return RunEnded("waiting")


@on_database
def _end(run: Run, status: Literal["done", "stopped", "failed"], **fields: Any) -> RunEnded:
    leases.end(run, status=status, **fields)
    return RunEnded(status, fields.get("error", ""))
