"""What is on screen: a `ThreadView` read from the index, in a number of queries that does not grow with the thread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from django.db import connection, transaction
from django.db.models import OuterRef, Q, Subquery

from branching import heads, index
from branching.database import on_database
from branching.exceptions import NoSuchThread
from branching.models import HeadMove, IndexedCheckpoint, Message, Run, Thread
from branching.standing import Standing, at_head
from branching.types import ActiveRun, OpenReply, ReplyState, RunState, ThreadView, Turn, Version

Children = Mapping[int | None, Sequence[int]]
"""For each message on the path, and for None above the first, the keys of its next versions, oldest first."""


@on_database
def read(thread_id: UUID) -> ThreadView:
    """The thread as its page shows it. Raises `NoSuchThread`.

    A HEAD that leads nowhere is pointed at the best place that is left, and `notice` says so.
    """
    thread = _thread(thread_id)
    standing = at_head(thread)
    if not standing.is_lost:
        return _view(thread, standing)
    notice = "head-repaired" if repair_head(thread_id) else ""
    thread = _thread(thread_id)
    return _view(thread, at_head(thread), notice)


@on_database
def read_at(thread_id: UUID, checkpoint_id: str) -> ThreadView:
    """The thread as it would look with HEAD at this checkpoint; HEAD stays. Raises `NoSuchCheckpoint`."""
    thread = _thread(thread_id)
    thread.head = index.checkpoint_of(thread_id, checkpoint_id).checkpoint_id  # never saved
    return _view(thread, at_head(thread))


@transaction.atomic
def repair_head(thread_id: UUID) -> bool:
    """Point a HEAD that leads nowhere at the newest finished checkpoint that the index knows, else at the newest.

    Whether that was needed: where HEAD was seen before the checkpoint it moved to, a second look finds it in order.
    """
    if not at_head(heads.locked(thread_id)).is_lost:
        return False
    rows = IndexedCheckpoint.objects.filter(thread_id=thread_id).order_by("-id")
    heads.repair(thread_id, rows.filter(next=[]).first() or rows.first())
    return True


def _thread(thread_id: UUID) -> Thread:
    thread = Thread.objects.filter(pk=thread_id).first()
    if thread is None:
        raise NoSuchThread
    return thread


def _view(thread: Thread, standing: Standing, notice: str = "") -> ThreadView:
    path = _path(standing.head.message_id if standing.head else None)
    children = _children(thread.pk, path)
    below = children[path[-1].pk if path else None]
    open_reply = _open_reply(standing, below)
    active = _active_run(thread)
    return ThreadView(
        id=thread.pk,
        title=thread.title,
        assistant=thread.assistant,
        head=thread.head,
        head_version=thread.head_version,
        revision=thread.revision,
        run_state=_run_state(active, open_reply),
        turns=tuple(_turns(_versions(path, children))),
        pending=standing.pending,
        open_reply=open_reply,
        run=active,
        can_undo=heads.undoable(thread.pk).exists(),
        # The newest, since none is selected where HEAD stops.
        later=below[-1] if below and open_reply is None else None,
        ready=None if active else _ready(thread),
        notice=notice,
    )


def _path(message: int | None) -> list[Message]:
    """The messages from the root to this one, each with the checkpoint it ends in as `tip`."""
    if message is None:
        return []
    up = """
        WITH RECURSIVE up(id, parent_id) AS (
            SELECT id, parent_id FROM branching_message WHERE id = %s
            UNION ALL
            SELECT m.id, m.parent_id FROM branching_message m JOIN up ON m.id = up.parent_id
        )
        SELECT id FROM up
    """
    with connection.cursor() as cursor:
        cursor.execute(up, [message])
        ids = [pk for (pk,) in cursor.fetchall()]
    tip = index.ending_in(OuterRef("pk")).values("checkpoint_id")[:1]
    return list(Message.objects.filter(pk__in=ids).annotate(tip=Subquery(tip)).order_by("depth"))


def _children(thread_id: UUID, path: Sequence[Message]) -> Children:
    parents = Q(parent=None) | Q(parent__in=[message.pk for message in path])
    found: dict[int | None, list[int]] = defaultdict(list)
    rows = Message.objects.filter(parents, thread_id=thread_id).order_by("id")
    for pk, parent in rows.values_list("pk", "parent_id"):
        found[parent].append(pk)
    return found


def _versions(path: Sequence[Message], children: Children) -> Iterator[Version]:
    for message in path:
        siblings = children[message.parent_id]
        at = siblings.index(message.pk)
        yield Version(
            pk=message.pk,
            message_id=message.message_id,
            kind=message.kind,
            text=message.text,
            state="stopped" if message.data.get("stopped") else "done",
            position=at + 1,
            total=len(siblings),
            previous=siblings[at - 1] if at else None,
            next=siblings[at + 1] if at + 1 < len(siblings) else None,
            checkpoint_id=message.tip or "",
            created_at=message.created_at,
            data=message.data,
        )


def _turns(versions: Iterator[Version]) -> Iterator[Turn]:
    human: Version | None = None
    replies: list[Version] = []
    for version in versions:
        if version.kind == "human":
            if human or replies:
                yield Turn(human, tuple(replies))
            human, replies = version, []
        else:
            replies.append(version)
    if human or replies:
        yield Turn(human, tuple(replies))


def _active_run(thread: Thread) -> ActiveRun | None:
    run = thread.runs.filter(status__in=Run.ACTIVE).first()
    if run is None or run.is_lost:
        return None
    return ActiveRun(id=run.pk, kind=run.kind, on_branch=(run.tip or run.base) == thread.head, tip=run.tip)


def _ready(thread: Thread) -> str | None:
    run = thread.runs.exclude(kind="edit").order_by("-created_at").first()
    if run is None or run.status not in (Run.Status.DONE, Run.Status.STOPPED) or run.tip == thread.head:
        return None
    moves = HeadMove.objects.filter(thread=thread)
    was_left = moves.filter(run=run, undone=False).exists() and not moves.filter(target=run.tip).exists()
    return run.tip if was_left else None


def _run_state(active: ActiveRun | None, open_reply: OpenReply | None) -> RunState:
    if active:
        return "running"
    return "failed" if open_reply and open_reply.state in ("failed", "lost") else "idle"


def _open_reply(standing: Standing, below: Sequence[int]) -> OpenReply | None:
    if not standing.is_open:
        return None
    last, state = standing.last, _reply_state(standing.last)
    siblings = () if standing.pending else below
    return OpenReply(
        state=state,
        position=len(siblings) + 1,
        total=len(siblings) + 1,
        previous=siblings[-1] if siblings else None,
        run_id=last.pk if last else None,
        text=last.partial if last and state == "failed" else "",
        error=last.error if last and state == "failed" else "",
    )


def _reply_state(last: Run | None) -> ReplyState:
    if last is None or last.kind == "edit":
        return "missing"
    if last.status in Run.ACTIVE:
        return "lost" if last.is_lost else "streaming"
    states: dict[str, ReplyState] = {"failed": "failed", "stopped": "stopped", "lost": "lost"}
    return states.get(last.status, "missing")
