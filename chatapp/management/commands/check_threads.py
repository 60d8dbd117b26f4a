"""`manage.py check_threads [thread …] [--repair]`: do the index and HEAD agree with the checkpoints?"""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError, CommandParser

from branching import check
from branching.engine import Engine
from branching.models import Thread
from chatapp import engine


class Command(BaseCommand):
    help = "Compares the index and HEAD of threads with their checkpoints. Fails if they disagree."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("thread", nargs="*", type=UUID, help="Ids of threads; all of them by default.")
        parser.add_argument("--repair", action="store_true", help="Rebuild the index of each thread that disagrees.")

    def handle(self, *args: Any, **options: Any) -> None:
        wrong = asyncio.run(self._check(options["thread"], repair=options["repair"]))
        if wrong:
            raise CommandError(f"{wrong} of the threads disagree with their checkpoints. --repair rebuilds them.")
        self.stdout.write(self.style.SUCCESS("All threads agree with their checkpoints."))

    async def _check(self, chosen: list[UUID], *, repair: bool) -> int:
        """How many threads are wrong at the end."""
        opened = engine.get()
        rows = Thread.objects.filter(pk__in=chosen) if chosen else Thread.objects.all()
        return sum([await self._check_one(opened, thread, repair=repair) async for thread in rows])

    async def _check_one(self, opened: Engine, thread: Thread, *, repair: bool) -> bool:
        findings = await check.check(opened, thread)
        for finding in findings:
            self.stdout.write(f"{thread.pk} {finding}")
        if findings and repair:
            await check.rebuild(opened, thread)
            findings = await check.check(opened, thread)
            self.stdout.write(f"{thread.pk} {'still disagrees' if findings else 'rebuilt'}")
        return bool(findings)
