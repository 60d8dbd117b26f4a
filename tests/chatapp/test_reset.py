"""`manage.py reset` clears a developer's data, and nothing but that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from chatapp.alone import alone_with


@pytest.fixture
def folder(tmp_path: Path, settings: Any) -> Path:
    """A developer's data, and a file that is none of ours."""
    settings.DEBUG, settings.DATA_DIR = True, tmp_path
    for name in ("app.sqlite3", "app.sqlite3-wal", "app.sqlite3-shm", "notes.txt"):
        (tmp_path / name).write_text("")
    return tmp_path


def left(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_database_goes_and_other_files_stay(folder: Path) -> None:
    call_command("reset", no_input=True)
    assert left(folder) == ["notes.txt"]


def test_it_asks_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "no")
    with pytest.raises(CommandError, match="Nothing was deleted"):
        call_command("reset")
    assert "app.sqlite3" in left(folder)


def test_not_under_a_running_server(folder: Path) -> None:
    with alone_with(folder), pytest.raises(CommandError, match="Stop it first"):
        call_command("reset", no_input=True)
    assert "app.sqlite3" in left(folder)


def test_never_outside_of_debug(folder: Path, settings: Any) -> None:
    settings.DEBUG = False
    with pytest.raises(CommandError, match="DEBUG only"):
        call_command("reset", no_input=True)
    assert "app.sqlite3" in left(folder)


def test_a_postgresql_database_is_not_ours_to_drop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "vendor", "postgresql")
    with pytest.raises(CommandError, match="drop the database"):
        call_command("reset", no_input=True)
    assert "app.sqlite3" in left(folder)
