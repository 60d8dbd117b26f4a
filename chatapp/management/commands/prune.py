"""`manage.py prune --keep tips|head`: take out of old conversations what nobody comes back to."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.template.defaultfilters import filesizeformat

from branching import prune
from branching.exceptions import Conflict, NoSuchThread, NotFinished
from branching.prune import Loss, Rules

NOTHING = Loss(0, 0, 0)

PAUSE = 0.11
"""Seconds between two threads on SQLite: who waits there for the one lock looks every 0.1 s whether it is free."""


class Command(BaseCommand):
    help = (
        "Takes saved steps out of conversations: those that nothing leads to, or all but what is shown now. Says what "
        "would be lost, and does it with --yes. The server may go on meanwhile."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--keep",
            choices=["tips", "head"],
            required=True,
            help="tips: every version stays, with all that its buttons lead to. head: only the branch that is shown.",
        )
        parser.add_argument("--older-than", type=days, metavar="DAYS", help="Only what was not written to for so long.")
        parser.add_argument("--finished", action="store_true", help="Only where nothing runs, failed or waits.")
        parser.add_argument("--yes", action="store_true", help="Do it.")
        parser.add_argument("--vacuum", action="store_true", help="Then give the room back to the disk (SQLite).")

    def handle(self, *args: Any, **options: Any) -> None:
        really = options["yes"]
        self.say = self.stdout.write if options["verbosity"] else _nothing
        if options["vacuum"] and not really:
            raise CommandError("--vacuum is for what was pruned: give --yes too.")
        rules = Rules(options["keep"], options["older_than"], options["finished"])
        losses = [
            self._one(thread, lambda t=thread: prune.prune(t, rules, really=really))
            for thread in list(prune.candidates(rules))
        ]
        losses += [
            self._one(stray, lambda s=stray: prune.prune_stray(s, really=really)) for stray in list(prune.strays())
        ]
        total = Loss(*map(sum, zip(NOTHING, *losses, strict=True)))
        done = "Pruned" if really else "Would be lost"
        self.say(self.style.SUCCESS(f"{done}: {said(total)}, in {sum(map(any, losses))} conversations."))
        self._advise(really=really, vacuum=options["vacuum"])

    def _one(self, what: Any, action: Callable[[], Loss]) -> Loss:
        """Prune it, and say what that was. What changes meanwhile is left for the next time."""
        name = f"{getattr(what, 'title', '') or 'no conversation'} ({getattr(what, 'name', what.pk)})"
        if connection.vendor == "sqlite":
            time.sleep(PAUSE)
        try:
            loss = action()
        except NotFinished:
            return NOTHING
        except (Conflict, NoSuchThread) as error:
            self.say(f"{name}: left alone. {error}")
            return NOTHING
        if any(loss):
            self.say(f"{name}: {said(loss)}")
        return loss

    def _advise(self, *, really: bool, vacuum: bool) -> None:
        if not really:
            self.say("Nothing was changed. --yes does it.")
        elif connection.vendor != "sqlite":
            self.say("PostgreSQL uses the room again by itself, once its autovacuum has been there.")
        elif vacuum:
            self._vacuum()
        else:
            self.say("The file keeps its size, and what is written next uses the room. --vacuum shrinks it.")

    def _vacuum(self) -> None:
        before = _file_size()
        with connection.cursor() as cursor:
            cursor.execute("VACUUM")
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.say(f"The file has shrunk from {size(before)} to {size(_file_size())}.")


def _nothing(text: str) -> None:
    pass


def days(text: str) -> timedelta:
    """A number of days, from the command line."""
    count = float(text)
    if not 0 <= count <= 36_500:
        raise ValueError
    return timedelta(days=count)


def said(loss: Loss) -> str:
    """What goes, in words."""
    return f"{loss.versions} messages, {loss.checkpoints} saved steps, {size(loss.bytes)}"


def size(count: int) -> str:
    return filesizeformat(count).replace("\xa0", " ")


def _file_size() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return cursor.fetchone()[0]
