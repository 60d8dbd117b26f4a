"""What is on screen: a `ThreadView` read from the index, in a number of queries that does not grow with the thread."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import Count, F, Max

from branching import actions, deletions, heads, index, ledger, steps, threads, window
from branching.database import on_database
from branching.exceptions import NoSuchThread
from branching.models import HeadMove, IndexedCheckpoint, Message, Run, Thread
from branching.standing import CUT_SHORT, Standing, at_head
from branching.types import ActiveRun, OpenReply, ReplyState, RunState, ThreadView

ENDED_WELL = (Run.Status.DONE, Run.Status.STOPPED, Run.Status.WAITING)

LOOKS = 5
"""How often a view is read again at most, where the thread changes while it is read."""


@on_database
def read(thread_id: UUID) -> ThreadView:
    """The thread as its page shows it, at one moment. Raises `NoSuchThread`.

    A HEAD that leads nowhere is pointed at the best place that is left, and `notice` says so.
    """
    notice = ""
    for _ in range(LOOKS):
        thread = _thread(thread_id)
        standing = at_head(thread)
        if standing.is_lost and repair_head(thread_id):
            notice = "head-repaired"
            continue
        view = _view(thread, standing, notice)
        # A view takes several queries: one that saw a run under way, and another that saw it ended, do not fit.
        if _thread(thread_id).revision == thread.revision:
            break
    return view


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
    last = standing.head.message if standing.head else None
    below, newest = _below(thread, last)
    open_reply = _open_reply(standing, below, newest)
    active = _active_run(thread)
    return ThreadView(
        id=thread.pk,
        title=thread.title,
        assistant=thread.assistant,
        head=thread.head,
        head_version=thread.head_version,
        revision=thread.revision,
        choices=threads.choices(thread),
        run_state=_run_state(active, standing, open_reply),
        versions=window.newest(last),
        length=last.depth if last else 0,
        pending=standing.pending,
        open_reply=open_reply,
        run=active,
        can_undo=heads.undoable(thread.pk).exists(),
        later=newest if open_reply is None else None,
        ready=None if active else _ready(thread),
        notice=notice,
        questions=standing.questions,
        asked_elsewhere=_asked_elsewhere(thread),
        left_standing=ledger.left_standing(thread, last),
    )


def _below(thread: Thread, last: Message | None) -> tuple[int, int | None]:
    """How many versions there are of what comes next, and the newest of them."""
    rows = Message.objects.filter(parent=last) if last else Message.objects.filter(thread=thread, parent=None)
    found = rows.filter(deletion=None).aggregate(total=Count("pk"), newest=Max("pk"))
    return found["total"], found["newest"]


def _active_run(thread: Thread) -> ActiveRun | None:
    # Of several the one that the others were begun beside.
    active = thread.runs.filter(status__in=Run.ACTIVE).order_by(F("beside").asc(nulls_first=True), "created_at")
    run = active.first()
    if run is None or run.is_lost:
        return None
    on_branch = (run.tip or run.base) == thread.head
    company = run.beside_id or (run.pk if run.company.exists() else None)
    return ActiveRun(id=run.pk, kind=run.kind, on_branch=on_branch, tip=run.tip, company=company)


def _ready(thread: Thread) -> str | None:
    run = thread.runs.exclude(kind__in=("edit", "fork")).order_by("-created_at").first()
    if run is None or run.status not in ENDED_WELL or run.tip == thread.head:
        return None
    was_left = HeadMove.objects.filter(run=run, undone=False).exists()
    was_left = was_left and not HeadMove.objects.filter(thread=thread, target=run.tip).exists()
    was_left = was_left and not deletions.is_hidden(thread.pk, run.tip)
    return run.tip if was_left else None


def _asked_elsewhere(thread: Thread) -> str | None:
    rows = actions.open_questions().filter(thread=thread).exclude(checkpoint_id=thread.head or "")
    return rows.order_by("-id").values_list("checkpoint_id", flat=True).first()


def _run_state(active: ActiveRun | None, standing: Standing, open_reply: OpenReply | None) -> RunState:
    if active or standing.is_waiting:
        return "running" if active else "waiting"
    return "failed" if open_reply and open_reply.state in ("failed", "lost") else "idle"


def _open_reply(standing: Standing, below: int, newest: int | None) -> OpenReply | None:
    if not standing.is_open:
        return None
    last, state = standing.last, _reply_state(standing)
    end = standing.head.message if standing.head else None
    if standing.pending:
        below, newest = 0, None
    return OpenReply(
        state=state,
        position=below + 1,
        total=below + 1,
        previous=newest,
        run_id=last.pk if last else None,
        text=last.partial if last and state == "failed" else "",
        error=last.error if last and state == "failed" else "",
        steps=steps.due(end, standing.questions),
        is_continued=standing.pending is None and end is not None and end.kind != "human",
    )


def _reply_state(standing: Standing) -> ReplyState:
    last = standing.last
    if last and last.status in Run.ACTIVE:
        return "lost" if last.is_lost else "streaming"
    if standing.is_waiting:
        return "waiting"
    if standing.was_asked and (last is None or last.status not in CUT_SHORT):
        return "answered"
    if last is None or last.kind in ("edit", "fork"):
        return "missing"
    states: dict[str, ReplyState] = {"failed": "failed", "stopped": "stopped", "lost": "lost"}
    return states.get(last.status, "missing")
