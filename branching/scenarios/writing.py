"""Writes a scenario as TOML that `reading` takes in again, laid out for a person to go on with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from branching.scenarios.form import Reply, Scenario, Step

WIDE = 100
"""Characters beyond which a list goes over several lines."""


def write(scenario: Scenario) -> str:
    """The file."""
    top = {"title": scenario.title, **_unlike(scenario, ("sentence", "assistant", "cases", "only"))}
    parts = ["\n".join(_lines(top))]
    if scenario.script.pace:
        parts.append(f"[model]\npace = {scenario.script.pace:g}")
    parts += map(_reply, scenario.script.replies)
    parts += map(_step, scenario.steps)
    return "\n\n".join(parts) + "\n"


def _reply(reply: Reply) -> str:
    names = [each.name for each in fields(reply) if each.name not in ("text", "calls")]
    lines = ["[[model.reply]]", *_lines({"text": reply.text, **_unlike(reply, names)})]
    for call in reply.calls:
        lines += ["[[model.reply.call]]", *_lines({"name": call.name, "arguments": call.arguments})]
    return "\n".join(lines)


def _step(step: Step) -> str:
    note = {"note": step.note} if step.note else {}
    lines = ["[[step]]", *_lines({"do": step.do, **step.told(), **note})]
    if expected := step.expect.said():
        lines += ["[step.expect]", *_lines(expected)]
    return "\n".join(lines)


def _unlike(given: Any, names: Iterable[str]) -> dict[str, Any]:
    """The fields of these names that are not as they are as a rule."""
    plain = {each.name: each.default for each in fields(given)}
    return {name: value for name in names if (value := getattr(given, name)) not in (plain[name], MISSING)}


def _lines(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_value(value, wide=True)}" for name, value in values.items()]


def _value(value: Any, *, wide: bool = False) -> str:
    if isinstance(value, Mapping):
        pairs = (f"{_key(name)} = {_value(each)}" for name, each in value.items() if each is not None)
        return "{ " + ", ".join(pairs) + " }" if value else "{}"
    if isinstance(value, list | tuple):
        return _list([_value(each) for each in value if each is not None], wide=wide)
    if isinstance(value, str):
        # TOML knows the escapes of JSON, and of the control characters wants one more escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def _list(values: list[str], *, wide: bool) -> str:
    line = f"[{', '.join(values)}]"
    if not wide or len(line) <= WIDE:
        return line
    return "[\n" + "".join(f"  {each},\n" for each in values) + "]"


def _key(name: str) -> str:
    is_bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if is_bare and name else _value(name)
