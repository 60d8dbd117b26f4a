"""How the questions of an assistant are put before a person: what it is about, and what may be changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.utils.translation import gettext

HIDDEN = ("action", "call", "arguments", "editable", "warnings")
"""Keys of a payload that are no facts for a person."""


@dataclass(frozen=True)
class Field:
    """An argument that may be changed with a yes."""

    name: str
    label: str
    kind: Literal["text", "number", "date", "choice"]
    value: Any
    choices: Sequence[tuple[str, str]] = ()
    """Of a choice: each value, and what it is called."""
    least: Any = ""
    most: Any = ""


@dataclass(frozen=True)
class Card:
    """A question as it is shown. All texts are plain, in the person's language."""

    title: str
    facts: Sequence[tuple[str, str]] = ()
    """What it is about: what each fact is called, and what it is."""
    warnings: Sequence[str] = ()
    fields: Sequence[Field] = ()

    def named(self, edits: Mapping[str, Any]) -> list[tuple[str, str]]:
        """What a person has changed, as the card calls it."""
        labels = {field.name: field.label for field in self.fields}
        names = {(field.name, value): name for field in self.fields for value, name in field.choices}
        return [(labels.get(key, key), names.get((key, value), str(value))) for key, value in edits.items()]


def plain(payload: Mapping[str, Any]) -> Card:
    """A card for any payload: its entries as they are, its `editable` arguments as fields."""
    facts = [(key, _text(value)) for key, value in payload.items() if key not in HIDDEN]
    arguments = payload.get("arguments") or {}
    fields = [_field(name, arguments.get(name, "")) for name in payload.get("editable") or ()]
    return Card(str(payload.get("action") or gettext("May I go on?")), facts, fields=fields)


def _field(name: str, value: Any) -> Field:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return Field(name, name, "number" if is_number else "text", value)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
