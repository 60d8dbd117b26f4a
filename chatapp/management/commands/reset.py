"""`manage.py reset`: a developer's machine as it was before the first start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from chatapp.alone import LOCK, alone_with


class Command(BaseCommand):
    help = "Deletes all accounts and conversations: the files in DATA_DIR. Only in DEBUG, and only without a server."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--no-input", action="store_true", help="Do not ask.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError("This deletes everything. It works in DEBUG only.")
        if connection.vendor != "sqlite":
            raise CommandError("The data are in PostgreSQL: drop the database that DATABASE_URL names, make it anew.")
        found = _databases(settings.DATA_DIR)
        if not (options["no_input"] or self._agreed(found)):
            raise CommandError("Nothing was deleted.")
        try:
            with alone_with(settings.DATA_DIR):
                for file in found:
                    file.unlink(missing_ok=True)
        except BlockingIOError as error:
            raise CommandError("The server is running. Stop it first.") from error
        (settings.DATA_DIR / LOCK).unlink(missing_ok=True)
        self.stdout.write(self.style.SUCCESS(f"Deleted {len(found)} files."))

    def _agreed(self, found: list[Path]) -> bool:
        self.stdout.write("All accounts and conversations will be deleted:")
        for file in found:
            self.stdout.write(f"  {file}")
        return input("Type yes to go on: ").strip() == "yes"


def _databases(folder: Path) -> list[Path]:
    """The databases in the folder, each with the files that SQLite keeps beside it. Nothing else is ours to delete."""
    return sorted(path for path in folder.glob("*.sqlite3*") if path.is_file())
