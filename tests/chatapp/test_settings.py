"""The settings: what they refuse, and what they are in a deployment."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command

from chatapp.env import env_bool, env_int, env_list, env_str

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Reads the settings afresh, with these variables and the tests' own."""

    def read(**variables: str) -> dict[str, Any]:
        for name, value in {"DATA_DIR": str(tmp_path / "data"), **variables}.items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(ROOT / "chatapp" / "settings.py"))

    return read


def test_text_is_trimmed_and_empty_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("X", " a ")
    assert env_str("X") == "a"
    monkeypatch.setenv("X", "  ")
    assert env_str("X", "b") == "b"
    with pytest.raises(ImproperlyConfigured, match="X is not set"):
        env_str("X")


def test_text_outside_its_choices_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "LOUD")
    with pytest.raises(ImproperlyConfigured, match="LOG_LEVEL='LOUD'.*one of INFO, ERROR"):
        env_str("LOG_LEVEL", "INFO", choices=("INFO", "ERROR"))


@pytest.mark.parametrize(
    ("value", "meant"), [("1", True), ("Yes", True), (" on ", True), ("0", False), ("FALSE", False), ("", True)]
)
def test_booleans_take_the_usual_spellings(monkeypatch: pytest.MonkeyPatch, value: str, meant: bool) -> None:
    monkeypatch.setenv("X", value)
    assert env_bool("X", True) is meant


@pytest.mark.parametrize("value", ["2", "ja", "-"])
def test_other_booleans_are_refused_by_name(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("DEBUG", value)
    with pytest.raises(ImproperlyConfigured, match="DEBUG=.*true.*false"):
        env_bool("DEBUG", False)


@pytest.mark.parametrize("value", ["x", "1.5", "-1", "11", "１"])
def test_numbers_outside_their_range_are_refused_by_name(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("X", value)
    with pytest.raises(ImproperlyConfigured, match="X=.*from 1 to 10"):
        env_int("X", 5, low=1, high=10)


def test_lists_are_split_at_commas(monkeypatch: pytest.MonkeyPatch) -> None:
    assert env_list("X", ("a",)) == ["a"]
    monkeypatch.setenv("X", "a.example, b.example")
    assert env_list("X") == ["a.example", "b.example"]


@pytest.mark.parametrize("value", ["a b", "a,,b", ",a"])
def test_other_lists_are_refused_by_name(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", value)
    with pytest.raises(ImproperlyConfigured, match="ALLOWED_HOSTS=.*commas"):
        env_list("ALLOWED_HOSTS")


def test_no_secret_has_a_default_in_a_deployment(read: Any) -> None:
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY is not set.*DEBUG=1"):
        read(SECRET_KEY="", DEBUG="0")
    assert read(SECRET_KEY="", DEBUG="1")["SECRET_KEY"]


def test_a_deployment_has_secure_cookies_and_no_guests(read: Any) -> None:
    settings = read(DEBUG="0", PLAIN_HTTP="", CHAT_GUESTS="")
    assert settings["SESSION_COOKIE_SECURE"] and settings["CSRF_COOKIE_SECURE"]
    assert not settings["CHAT_GUESTS"]


def test_plain_http_is_an_explicit_choice(read: Any) -> None:
    assert not read(DEBUG="0", PLAIN_HTTP="1")["SESSION_COOKIE_SECURE"]


def test_data_lives_in_one_private_folder(read: Any, tmp_path: Path) -> None:
    settings = read(DATA_DIR=str(tmp_path / "here"), DATABASE_URL="")
    assert settings["DATABASES"]["default"]["NAME"] == tmp_path / "here" / "app.sqlite3"
    assert (tmp_path / "here").stat().st_mode & 0o777 == 0o700


def test_a_url_names_another_database(read: Any) -> None:
    database = read(DATABASE_URL="postgres://me:s%40crit@db.example:5433/chat?sslmode=require")["DATABASES"]["default"]
    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert (database["USER"], database["PASSWORD"], database["HOST"]) == ("me", "s@crit", "db.example")
    assert (database["PORT"], database["NAME"], database["OPTIONS"]["sslmode"]) == (5433, "chat", "require")
    assert database["OPTIONS"]["pool"], "a request has a connection of its own, so their number is held down"
    assert database["CONN_MAX_AGE"] == 0


@pytest.mark.parametrize("url", ["mysql://me@db.example/chat", "sqlite:///x", "postgres//", "what://x", "p:s"])
def test_a_url_of_anything_else_is_refused_by_name(read: Any, url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        read(DATABASE_URL=url)


def test_a_bare_checkout_needs_no_variables_for_its_commands(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    subprocess.run([sys.executable, ROOT / "manage.py", "check"], env=env, check=True, timeout=60)


def test_a_server_without_configuration_refuses_to_start(tmp_path: Path) -> None:
    env = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-c", "import chatapp.settings"]
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert "SECRET_KEY is not set. Give the server a long random text" in done.stderr


def test_langgraph_reads_no_types_it_does_not_know() -> None:
    """F33: the variable counts at import, so ask the module and not the environment."""
    from langgraph.checkpoint.serde import _msgpack

    assert _msgpack.STRICT_MSGPACK_ENABLED


@pytest.mark.django_db
def test_migrations_are_complete() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_a_deployment_passes_djangos_own_check(tmp_path: Path) -> None:
    """Except for HSTS and the redirect to https, which are the proxy's."""
    secret = "".join(map(chr, range(48, 122)))
    env = {"PATH": os.environ["PATH"], "DATA_DIR": str(tmp_path), "DEBUG": "0", "SECRET_KEY": secret}
    command = [sys.executable, ROOT / "manage.py", "check", "--deploy"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
    codes = {word for word in done.stderr.split() if word.startswith("(security.")}
    assert codes <= {"(security.W004)", "(security.W008)"}, done.stderr
