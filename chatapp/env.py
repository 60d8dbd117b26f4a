"""Reads the environment for `settings.py`. A bad value stops the start and names the variable."""

from __future__ import annotations

import os
from typing import Any

import dj_database_url
from django.core.exceptions import ImproperlyConfigured

from branching.prices import Prices, parse

TRUE = ("1", "true", "yes", "on")
FALSE = ("0", "false", "no", "off")


def env_str(name: str, default: str | None = None, *, choices: tuple[str, ...] = ()) -> str:
    """The text of a variable; without a default it must be set. An empty one counts as not set."""
    value = os.environ.get(name, "").strip() or default
    if value is None:
        raise ImproperlyConfigured(f"{name} is not set.")
    if choices and value not in choices:
        raise _refusal(name, value, "one of " + ", ".join(choices))
    return value


def env_bool(name: str, default: bool) -> bool:
    """True or false, in the usual spellings."""
    value = os.environ.get(name, "").strip().lower()
    if value and value not in TRUE + FALSE:
        raise _refusal(name, value, "one of " + ", ".join(TRUE + FALSE))
    return value in TRUE if value else default


def env_int(name: str, default: int, *, low: int = 0, high: int = 10**9) -> int:
    """A whole number from `low` to `high`."""
    value = os.environ.get(name, "").strip() or str(default)
    if not value.isascii() or not value.isdigit() or not low <= int(value) <= high:
        raise _refusal(name, value, f"a whole number from {low} to {high}")
    return int(value)


def env_list(name: str, default: tuple[str, ...] = ()) -> list[str]:
    """The parts of a comma-separated value, without the spaces around them."""
    value = os.environ.get(name, "").strip()
    if not value:
        return list(default)
    parts = [part.strip() for part in value.split(",")]
    if not all(parts) or any(" " in part for part in parts):
        raise _refusal(name, value, "values separated by single commas, none of them empty")
    return parts


def env_database(name: str, default: dict[str, Any], postgresql: dict[str, Any]) -> dict[str, Any]:
    """The database that a URL of PostgreSQL names, with the settings for one; without a URL, the default."""
    url = env_str(name, "")
    if not url:
        return default
    try:
        database = dj_database_url.parse(url)
    except ValueError as exc:
        raise ImproperlyConfigured(f"{name} is not understood: {exc}") from exc
    if database.get("ENGINE") != "django.db.backends.postgresql":
        raise ImproperlyConfigured(f"{name} is not understood. It must be postgres://user:password@host/database.")
    return database | postgresql | {"OPTIONS": database.get("OPTIONS", {}) | postgresql["OPTIONS"]}


def env_prices(name: str) -> Prices:
    """What models cost; without a value nothing is known."""
    value = os.environ.get(name, "")
    try:
        return parse(value)
    except ValueError:
        raise _refusal(name, value, "like gpt-5=1.25/10,gpt-5-mini=0.25/2 USD") from None


def _refusal(name: str, value: str, accepted: str) -> ImproperlyConfigured:
    return ImproperlyConfigured(f"{name}={value!r} is not understood. It must be {accepted}.")
