"""Takes checkpoints out of a thread, and with them all that is theirs, in the transaction of whoever asks for it.

What is left is as if they had never been: rows and checkpoints that grew from one of them hang on what is left above
it, and no run, no move of HEAD and no remembered place leads to what is gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.db.models import F, Model

from branching.encoding import DICT, LIST, pack, unpack
from branching.index import START
from branching.models import (
    Action,
    Deletion,
    HeadMove,
    IndexedCheckpoint,
    Message,
    Run,
    StoredCheckpoint,
    StoredThread,
    Thread,
)
from branching.outline import Outline, Row
from branching.pieces import AT_ONCE, checkpoints, outer, sweep
from branching.store import PARAMETERS, held, marks, parts

INTERRUPT = "__interrupt__"
"""Where LangGraph writes what a task asks a person."""

NOTHING_SAID = [DICT, [["messages", [LIST, []]]]]
"""The shape of an input without a message."""

NOWHERE = object()
"""A place that is gone, and has no stand-in."""


@dataclass(frozen=True)
class Removal:
    """What is to go from a thread whose row is held, and on which nothing runs."""

    thread: Thread
    outline: Outline
    gone: set[str]
    messages: set[int]
    """All of them with what follows them, and none on HEAD's path."""

    def carry_out(self) -> None:
        """Remove it all."""
        if not self.gone:
            return
        survivors = self._survivors()
        self._moves()
        self._runs()
        self._index(survivors)
        self._actions()
        for stored in held(thread=self.thread):
            _Store(stored, self).clear()
        self._deletions()

    def _survivors(self) -> dict[str, str | None]:
        """By each that is gone, what stands above it."""
        found: dict[str, str | None] = {}
        for row in self.outline.rows.values():  # parents first
            if row.id in self.gone:
                found[row.id] = found.get(row.parent, row.parent)
        return found

    def unanswered(self) -> set[str]:
        """The checkpoints that stay, but nothing that a task did there, nor what was written in its name."""
        return self._left_by({"loop", "update"}, {"loop"})

    def unsaid(self) -> set[str]:
        """The checkpoints that stay, but nothing that came of what was said there, be it by way of a copy."""
        return self._left_by({"loop", "fork"}, {"loop", "fork"})

    def _left_by(self, lost: set[str], kept: set[str]) -> set[str]:
        if not self.messages:
            return set()
        rows = self.outline.rows.values()
        without = {row.parent for row in rows if row.source in lost and row.id in self.gone}
        return without - {row.parent for row in rows if row.source in kept and row.id not in self.gone} - self.gone

    def place(self, checkpoint_id: str | None) -> Any:
        """Where one is who was here: `NOWHERE` if that is gone."""
        if checkpoint_id not in self.gone:
            return checkpoint_id
        instead = self.outline.stand_in(checkpoint_id)
        return NOWHERE if instead in self.gone else instead

    # Moves and runs

    def _moves(self) -> None:
        """Let Undo pass over what is gone: it takes the moves to there and on from there back as one."""
        since: Any = NOWHERE
        for move in HeadMove.objects.filter(thread=self.thread).order_by("id"):
            origin, target = self.place(move.origin), self.place(move.target)
            if move.undone or move.why in ("undo", "repair"):
                # It may still tell that its run was taken back.
                self._write_down(move, target if origin is NOWHERE else origin, target)
                continue
            origin = since if origin is NOWHERE else origin
            since = origin if target is NOWHERE else NOWHERE
            self._write_down(move, origin, target)

    def _write_down(self, move: HeadMove, origin: Any, target: Any) -> None:
        has_changed = (origin, target) != (move.origin, move.target)
        if NOWHERE in (origin, target) or (has_changed and origin == target and move.run_id is None):
            move.delete()
        elif has_changed:
            HeadMove.objects.filter(pk=move.pk).update(origin=origin, target=target)

    def _runs(self) -> None:
        for run in Run.objects.filter(thread=self.thread).defer("input", "partial"):
            tip, base = self.place(run.tip), self.place(run.base)
            if (base if run.tip is None else tip) is NOWHERE:
                # A move that is left led elsewhere too; one that led to the run alone goes with it.
                HeadMove.objects.filter(run=run).exclude(origin=F("target")).update(run=None)
                run.delete()
            elif (tip, base) != (run.tip, run.base):
                base = self.outline.survivor(run.base, self.gone) if base is NOWHERE else base
                Run.objects.filter(pk=run.pk).update(tip=tip, base=base)
        for some in parts(list(self.unsaid()), PARAMETERS):
            Run.objects.filter(thread=self.thread, checkpoints__checkpoint_id__in=some).update(input=None)

    def _actions(self) -> None:
        """Forget what was asked and answered, but what has led to a booking: that stands."""
        idle = Action.objects.filter(thread=self.thread, booking=None, cancelled=None)
        for some in parts(list(self.gone), PARAMETERS):
            idle.filter(checkpoint_id__in=some).delete()

    def _deletions(self) -> None:
        """Let go of those that have nothing left to bring back."""
        spent = Deletion.objects.filter(thread=self.thread, messages=None)
        HeadMove.objects.filter(deletion__in=spent, origin=F("target")).update(undone=True)
        spent.delete()

    # The index

    def _index(self, survivors: Mapping[str, str | None]) -> None:
        rows = self.outline.rows.values()
        moved = [(survivors[row.parent], row.pk) for row in rows if row.parent in survivors and row.id not in survivors]
        _update(IndexedCheckpoint, "parent_id", moved)
        _delete(IndexedCheckpoint, [self.outline.rows[each].pk for each in self.gone])
        self.forget_places()
        _update(IndexedCheckpoint, "passed", [(False, row.pk) for row in self._no_longer_passed(survivors)])
        _delete(Message, list(self.messages))

    def _no_longer_passed(self, survivors: Mapping[str, str | None]) -> list[Row]:
        """The inputs that stay though no message has come of them any more."""
        left = [row for row in self.outline.rows.values() if row.id not in self.gone]
        parents = {survivors.get(row.parent, row.parent) for row in left}
        return [row for row in left if row.next == [START] and row.id not in parents]

    def forget_places(self) -> None:
        """Where one would come back to a version that is gone, one comes back to the newest branch beside it."""
        ends = dict(Message.objects.filter(thread=self.thread).exclude(end=None).values_list("pk", "end_id"))
        lost = [version for version, end in ends.items() if end in self.messages and version not in self.messages]
        # The lowest ones first: what is remembered there is taken over by one that ends above it.
        for version in sorted(lost, reverse=True):
            last = next(each for each in self.outline.path(ends[version]) if each not in self.messages)
            end, taken_over = self._newest_end(last, ends)
            for each, remembered in ((taken_over, None), (version, end if end != version else None)):
                if each:
                    ends[each] = remembered
                    Message.objects.filter(pk=each).update(end=remembered)

    def _newest_end(self, message: int, ends: Mapping[int, int | None]) -> tuple[int | None, int | None]:
        """Where the newest branch after `message` ends that stays, and the version that remembered it, if one did."""
        while left := [each for each in self.outline.after.get(message, ()) if each not in self.messages]:
            message = left[-1]
            if ends.get(message):
                return ends[message], message
        return message, None


class _Store:
    """The same in the checkpoint store."""

    def __init__(self, stored: StoredThread, removal: Removal) -> None:
        self.stored, self.gone = stored, removal.gone
        self.unanswered, self.unsaid = removal.unanswered(), removal.unsaid()
        self.is_thorough = bool(removal.messages)

    def clear(self) -> None:
        inner = self._inner()
        columns = ("pk", "ns", "checkpoint_id", "parent_id")
        rows = list(self.stored.checkpoints.values_list(*columns).iterator(chunk_size=AT_ONCE))
        parents = {(ns, each): parent for _, ns, each, parent in rows}
        going = {(ns, each) for ns, each in parents if (each in self.gone if not ns else (ns, each) in inner)}
        moved = []
        for pk, ns, each, parent in rows:
            if (ns, parent) in going and (ns, each) not in going:
                while (ns, parent) in going:
                    parent = parents[ns, parent]
                moved.append((parent, pk))
        _update(StoredCheckpoint, "parent_id", moved)
        _delete(StoredCheckpoint, [pk for pk, ns, each, _ in rows if (ns, each) in going])
        self._writes(going)
        self._forget_answers()
        self._forget_words()
        sweep(self.stored)

    def _inner(self) -> set[tuple[str, str]]:
        """What subgraphs saved in runs of which nothing is left.

        One that remembers (its namespace names no task) loses that only where messages go: what merely nobody needs
        may be where its memory comes from.
        """
        if not self.stored.checkpoints.exclude(ns="").exists():
            return set()
        left = self.gone | self.unanswered
        return {
            (ns, each)
            for ns, each, body in checkpoints(self.stored)
            if ns and (self.is_thorough or ":" in ns) and outer(ns, each, body) in left
        }

    def _writes(self, going: set[tuple[str, str]]) -> None:
        found = self.stored.writes.values_list("ns", "checkpoint_id").distinct()
        lost = [(ns, each) for ns, each in found if (ns, each) in going]
        by_ns: dict[str, list[str]] = {}
        for ns, each in lost:
            by_ns.setdefault(ns, []).append(each)
        for ns, ids in by_ns.items():
            for some in parts(ids, PARAMETERS):
                self.stored.writes.filter(ns=ns, checkpoint_id__in=some).delete()

    def _forget_answers(self) -> None:
        """What was answered where nobody has gone on any more; not what is asked there."""
        for some in parts(list(self.unanswered), PARAMETERS):
            for row in self.stored.writes.filter(ns="", checkpoint_id__in=some):
                asked = [write for write in unpack(row.body) if write[2] == INTERRUPT]
                if asked:
                    row.body = pack(asked)
                    row.save(update_fields=["body"])
                else:
                    row.delete()

    def _forget_words(self) -> None:
        """What was said at a checkpoint that is left for other wordings' sake."""
        for some in parts(list(self.unsaid), PARAMETERS):
            for row in self.stored.checkpoints.filter(ns="", checkpoint_id__in=some):
                rest, values, metadata = unpack(row.body)
                if START in values:
                    values[START][1] = NOTHING_SAID
                    row.body = pack([rest, values, metadata])
                    row.save(update_fields=["body"])


def _update(model: type[Model], column: str, values: Sequence[tuple[Any, int]]) -> None:
    """Set a column of many rows, each to its own value."""
    if values:
        with connection.cursor() as cursor:
            cursor.executemany(f"UPDATE {model._meta.db_table} SET {column} = %s WHERE id = %s", values)


def _delete(model: type[Model], keys: Sequence[int]) -> None:
    """Delete rows by hand: the ORM would go down a long conversation message by message, and fall off its end."""
    for some in parts(keys, PARAMETERS):
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE id IN ({marks(some)})", list(some))
