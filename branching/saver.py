"""The checkpoint saver: LangGraph's checkpoints in the app's own database, made for threads that branch.

It keeps what `InMemorySaver` keeps and answers as it does. What differs is the cost: a message is stored once however
many checkpoints hold it, and a checkpoint costs what it adds (see `encoding.py`). It holds no connection and no lock:
one serves any event loop, and any number of processes share a database.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import Exists, Min, OuterRef, QuerySet
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from branching.database import on_database
from branching.encoding import Encoder, Fetch, Name, PieceMissing, Shape, pack, unpack
from branching.history import RUN
from branching.models import Piece, StoredCheckpoint, StoredThread, StoredWrites
from branching.pieces import sweep
from branching.store import (
    copy,
    held,
    in_order,
    made,
    one_checkpoint,
    parts,
    reader,
    store,
    task_writes,
    writes_after,
)

AT_ONCE = 100
"""Checkpoints of a list that are read together."""


class Body(NamedTuple):
    """What a checkpoint's row holds, unpacked."""

    rest: tuple[str, bytes]
    """The checkpoint without its id and its values, by the serde."""
    values: dict[str, tuple[Any, Shape]]
    """By channel: the version that was written, and its shape."""
    metadata: tuple[str, bytes]

    @classmethod
    def of(cls, row: StoredCheckpoint) -> Body:
        rest, values, metadata = unpack(row.body)
        return cls(tuple(rest), values, tuple(metadata))


class DjangoSaver(BaseCheckpointSaver[int]):
    """A `BaseCheckpointSaver` on Django's ORM, for SQLite and PostgreSQL alike."""

    def __init__(self, *, serde: SerializerProtocol | None = None) -> None:
        super().__init__(serde=serde)
        self._encoder = Encoder(self.serde)

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> DjangoSaver:
        """The same saver for a graph whose state holds these classes too, by module and name."""
        twin = super().with_allowlist(extra_allowlist)
        return self if twin is self else DjangoSaver(serde=twin.serde)

    # Reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, or the thread's newest by id; None if there is none."""
        rows = one_checkpoint(_thread(config), _ns(config), checkpoint_id := get_checkpoint_id(config))
        for found in self._tuples(rows, _thread(config)):
            return found._replace(config=config) if checkpoint_id else found
        return None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints that match, newest first within each thread and namespace."""
        size = AT_ONCE if filter or limit is None else min(limit, AT_ONCE)
        found = self._list(config, filter, before, max(size, 1))
        return islice(found, limit if limit is None else max(limit, 0))

    def _list(
        self, config: RunnableConfig | None, filter: dict[str, Any] | None, before: RunnableConfig | None, size: int
    ) -> Iterator[CheckpointTuple]:
        for thread, ns in self._places(config):
            # The keys first, so that none comes twice or is passed over when others come and go meanwhile.
            for some in parts(list(self._matching(thread, ns, config, filter, before)), size):
                rows = StoredCheckpoint.objects.in_bulk(some)
                fitting = [rows[pk] for pk in some if pk in rows and self._fits(rows[pk], filter)]
                yield from self._tuples(fitting, thread.name)

    def _places(self, config: RunnableConfig | None) -> list[tuple[StoredThread, str]]:
        """The threads and namespaces to look at, in the order in which they began."""
        rows = StoredCheckpoint.objects.all()
        if config:
            rows = rows.filter(thread__name=_thread(config))
            if (ns := config["configurable"].get("checkpoint_ns")) is not None:
                rows = rows.filter(ns=ns)
        places = rows.values_list("thread", "ns").annotate(first=Min("id")).order_by("thread", "first")
        threads = StoredThread.objects.in_bulk({thread for thread, _, _ in places})
        return [(threads[thread], ns) for thread, ns, _ in places if thread in threads]

    def _matching(
        self,
        thread: StoredThread,
        ns: str,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
    ) -> QuerySet[StoredCheckpoint, int]:
        """The keys of the checkpoints that the configs leave, newest first. Of a filter only the run is heeded."""
        rows = thread.checkpoints.filter(ns=ns).alias(by_id=in_order("checkpoint_id"))
        if config and (checkpoint_id := get_checkpoint_id(config)):
            rows = rows.filter(checkpoint_id=checkpoint_id)
        if before and (end := get_checkpoint_id(before)):
            rows = rows.filter(by_id__lt=end)
        if filter and RUN in filter:
            rows = rows.filter(run_id=filter[RUN])
        return rows.order_by("-by_id").values_list("pk", flat=True)

    def _fits(self, row: StoredCheckpoint, filter: dict[str, Any] | None) -> bool:
        if not filter:
            return True
        metadata = self.serde.loads_typed(Body.of(row).metadata)
        return all(metadata.get(key) == value for key, value in filter.items())

    def _tuples(self, rows: Iterable[StoredCheckpoint], thread: str) -> list[CheckpointTuple]:
        """What the rows of one thread and namespace stand for, without those that are deleted meanwhile."""
        rows = list(rows)
        try:
            return self._read(rows, thread) if rows else []
        except PieceMissing:
            there = StoredCheckpoint.objects.in_bulk([row.pk for row in rows])
            if len(there) == len(rows):
                raise
            return self._tuples([row for row in rows if row.pk in there], thread)

    def _read(self, rows: Sequence[StoredCheckpoint], thread: str) -> list[CheckpointTuple]:
        bodies = [Body.of(row) for row in rows]
        shapes = [shape for body in bodies for _, shape in body.values.values()]
        values = iter(self._encoder.decode(shapes, reader(rows[0].thread_id)))
        pending = self._pending(rows)
        return [
            CheckpointTuple(
                config=_config(thread, row.ns, row.checkpoint_id),
                checkpoint={
                    **self.serde.loads_typed(body.rest),
                    "id": row.checkpoint_id,
                    "channel_values": {channel: next(values) for channel in body.values},
                },
                metadata=self.serde.loads_typed(body.metadata),
                parent_config=_config(thread, row.ns, row.parent_id) if row.parent_id else None,
                pending_writes=pending.get(row.checkpoint_id, []),
            )
            for row, body in zip(rows, bodies, strict=True)
        ]

    def written(self, thread_id: Any, checkpoint_ids: Collection[str], channel: str) -> dict[str, list[Any]]:
        """What tasks wrote to this channel after each of these checkpoints. Reads no state."""
        places = StoredCheckpoint.objects.filter(thread__name=str(thread_id), ns="", checkpoint_id__in=checkpoint_ids)
        rows = list(places.defer("body"))
        pending = self._pending(rows, channel) if rows else {}
        return {name: [value for *_, value in writes] for name, writes in pending.items()}

    def _pending(
        self, rows: Sequence[StoredCheckpoint], only: str | None = None
    ) -> dict[str, list[tuple[str, str, Any]]]:
        """The writes after each of the checkpoints, in the order in which LangGraph applies them; with `only`, those
        to this channel."""
        writes = [(each, *write) for each in writes_after(rows) for write in unpack(each.body)]
        writes = [write for write in writes if only in (None, write[3])]
        writes.sort(key=lambda write: writes_sort_key(write[1], write[0].task_id, write[2]))
        values = self._encoder.decode([shape for *_, shape in writes], reader(rows[0].thread_id))
        pending: dict[str, list[tuple[str, str, Any]]] = {}
        for (each, _, _, channel, _), value in zip(writes, values, strict=True):
            pending.setdefault(each.checkpoint_id, []).append((each.task_id, channel, value))
        return pending

    def has(self, thread_id: Any, checkpoint_id: str | None = None) -> bool:
        """Whether the thread has this checkpoint, or without an id any at all. Reads no state."""
        rows = StoredCheckpoint.objects.filter(thread__name=str(thread_id), ns="")
        return (rows if checkpoint_id is None else rows.filter(checkpoint_id=checkpoint_id)).exists()

    # Writing

    @transaction.atomic
    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint under the one that `config` names. A channel that is not new is as it was there."""
        name, ns, parent_id = _thread(config), config["configurable"]["checkpoint_ns"], get_checkpoint_id(config)
        thread, metadata = made(name), get_checkpoint_metadata(config, metadata)
        pieces: dict[Name, bytes] = {}
        values = self._shapes(
            checkpoint, new_versions, self._values_of(thread, ns, parent_id), pieces, reader(thread.pk)
        )
        rest = {key: value for key, value in checkpoint.items() if key not in ("id", "channel_values")}
        body = [self.serde.dumps_typed(rest), values, self.serde.dumps_typed(metadata)]
        store(thread, pieces)
        StoredCheckpoint.objects.bulk_create(
            [
                StoredCheckpoint(
                    thread=thread,
                    ns=ns,
                    checkpoint_id=checkpoint["id"],
                    parent_id=parent_id,
                    run_id=metadata.get(RUN) or metadata.get("run_id"),
                    body=pack(body),
                )
            ],
            update_conflicts=True,
            unique_fields=["thread", "ns", "checkpoint_id"],
            update_fields=["parent_id", "run_id", "body"],
        )
        return _config(name, ns, checkpoint["id"])

    def _values_of(self, thread: StoredThread, ns: str, checkpoint_id: str | None) -> dict[str, tuple[Any, Shape]]:
        row = thread.checkpoints.filter(ns=ns, checkpoint_id=checkpoint_id).first() if checkpoint_id else None
        return Body.of(row).values if row else {}

    def _shapes(
        self,
        checkpoint: Checkpoint,
        new_versions: ChannelVersions,
        before: Mapping[str, tuple[Any, Shape]],
        pieces: dict[Name, bytes],
        fetch: Fetch,
    ) -> dict[str, tuple[Any, Shape]]:
        given, shapes = checkpoint["channel_values"], {}
        for channel, version in checkpoint["channel_versions"].items():
            known_version, known = before.get(channel, (None, None))
            if channel not in new_versions and known and known_version == version:
                shapes[channel] = version, known
            elif channel in given:
                shapes[channel] = version, self._encoder.encode(given[channel], pieces, known, fetch)
        return shapes

    @transaction.atomic
    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Keep what a task wrote. What it wrote before at the same place stays, except errors and interrupts."""
        thread, checkpoint_id = made(_thread(config)), config["configurable"]["checkpoint_id"]
        row = task_writes(thread, _ns(config), checkpoint_id, task_id)
        kept = {write[1]: write for write in unpack(row.body)}
        pieces: dict[Name, bytes] = {}
        for at, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, at)
            if index < 0 or index not in kept:
                kept[index] = task_path, index, channel, self._encoder.encode(value, pieces)
        store(thread, pieces)
        row.body = pack(list(kept.values()))
        row.save(force_insert=row._state.adding)

    # Keeping house

    @transaction.atomic
    def delete_thread(self, thread_id: str) -> None:
        """Delete all that is stored of the thread."""
        for thread in held(name=thread_id):
            thread.delete()

    @transaction.atomic
    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints that these runs made, with their writes."""
        theirs = StoredCheckpoint.objects.filter(run_id__in=list(run_ids))
        for thread in held(pk__in=theirs.values("thread")):
            self._delete(thread, theirs.filter(thread=thread))

    @transaction.atomic
    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all that is stored of one thread to another. A source that does not exist copies nothing."""
        if not StoredThread.objects.filter(name=source_thread_id).exists():
            return
        # Held in the order of their names, of which the target's may be new.
        threads = {name: made(name) for name in sorted({source_thread_id, target_thread_id})}
        source, target = threads[source_thread_id], threads[target_thread_id]
        for model in (Piece, StoredCheckpoint, StoredWrites):
            copy(model, source, target)

    @transaction.atomic
    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Delete all but the newest checkpoint of each namespace (`keep_latest`), or everything (`delete`).

        The newest by id is on one branch alone: this is LangGraph's rule, and not one for threads that people read.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"There is no pruning strategy {strategy!r}: keep_latest or delete.")
        for thread in held(name__in=list(thread_ids)):
            if strategy == "delete":
                thread.delete()
            else:
                newest = [self._newest(thread, ns) for ns in set(thread.checkpoints.values_list("ns", flat=True))]
                self._delete(thread, thread.checkpoints.exclude(pk__in=newest))

    def _newest(self, thread: StoredThread, ns: str) -> int:
        newest_first = thread.checkpoints.filter(ns=ns).order_by(in_order("checkpoint_id").desc())
        return newest_first.values_list("pk", flat=True)[0]

    def _delete(self, thread: StoredThread, rows: QuerySet[StoredCheckpoint]) -> None:
        of_theirs = rows.filter(ns=OuterRef("ns"), checkpoint_id=OuterRef("checkpoint_id"))
        thread.writes.filter(Exists(of_theirs)).delete()
        rows.delete()
        sweep(thread)

    # The same for async code

    aget_tuple = on_database(get_tuple)
    ahas = on_database(has)
    aput = on_database(put)
    aput_writes = on_database(put_writes)
    adelete_thread = on_database(delete_thread)
    adelete_for_runs = on_database(delete_for_runs)
    acopy_thread = on_database(copy_thread)
    aprune = on_database(prune)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """The checkpoints that match, newest first within each thread and namespace."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while some := await _take(found):
            for each in some:
                yield each


@on_database
def _take(found: Iterator[CheckpointTuple]) -> Sequence[CheckpointTuple]:
    return list(islice(found, AT_ONCE))


def _thread(config: RunnableConfig) -> str:
    return str(config["configurable"]["thread_id"])


def _ns(config: RunnableConfig) -> str:
    return config["configurable"].get("checkpoint_ns", "")


def _config(thread: str, ns: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": checkpoint_id}}
