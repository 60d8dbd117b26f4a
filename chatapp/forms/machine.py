"""The forms of the time machine: which checkpoints to list, and how to change a state by hand."""

from __future__ import annotations

import json
from typing import Any, get_args

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _

from branching.exceptions import BadFork, BadRequest
from branching.finding import Operator
from branching.forks import Update
from branching.listing import Sieve
from chatapp.forms.threads import CommandForm, ContentForm

UPDATES = range(2)
"""How many updates a page can write at once."""

SOURCES = ("input", "loop", "update", "fork")


class ListForm(forms.Form):
    """What the address of a list may say."""

    source = forms.ChoiceField(required=False, choices=[(each, each) for each in SOURCES])
    node = forms.CharField(required=False, max_length=200)
    run = forms.UUIDField(required=False)
    path = forms.BooleanField(required=False)
    tip = forms.CharField(required=False, max_length=64)
    turns = forms.BooleanField(required=False)
    open = forms.CharField(required=False, max_length=64)
    before = forms.CharField(required=False, max_length=64)
    compare = forms.CharField(required=False, max_length=64)
    seen = forms.IntegerField(required=False)

    @classmethod
    def read(cls, data: QueryDict) -> dict[str, Any]:
        """The cleaned fields, with the `sieve` they make. Raises `BadRequest`."""
        form = cls(data)
        if not form.is_valid():
            raise BadRequest
        found = form.cleaned_data
        sieve = Sieve(found["source"], found["node"], found["run"], found["path"], found["tip"])
        return {**found, "sieve": sieve}


class ConsentForm(CommandForm):
    """A command that may do something to the world again."""

    confirmed = forms.BooleanField(required=False)


class SayForm(ConsentForm, ContentForm):
    """A text that a person wrote, to be said at a checkpoint."""


class ForkForm(ConsentForm):
    """A change of the state, and where: under the checkpoint, or under a copy that is put beside it first."""

    where = forms.ChoiceField(required=False, choices=[(each, each) for each in ("under", "beside")])

    @classmethod
    def read(cls, data: QueryDict) -> dict[str, Any]:
        command = super().read(data)
        command["beside"] = command.pop("where") == "beside"
        return command


def updates_in(data: QueryDict) -> list[Update]:
    """The updates of a form: as which node, and for each field that is filled in its new value, as JSON.

    Raises `BadFork` for what is no JSON; what it says is judged elsewhere.
    """
    found, problems = [], {}
    for number in UPDATES:
        values, prefix = {}, f"set-{number}-"
        for key in data:
            if key.startswith(prefix) and (text := data[key].strip()):
                try:
                    values[key.removeprefix(prefix)] = json.loads(text, parse_constant=_refuse)
                except (ValueError, RecursionError):
                    problems[key.removeprefix(prefix)] = _("This is no JSON. A text stands in double quotes.")
        if values or data.get(f"node-{number}"):
            found.append(Update(data.get(f"node-{number}", ""), values))
    if problems:
        raise BadFork(problems)
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)


class FindForm(forms.Form):
    """What step to look for: by node, by the text of an error, or by a field of the state."""

    by = forms.ChoiceField(required=False, choices=[(each, each) for each in ("node", "error", "state")])
    node = forms.CharField(required=False, max_length=200)
    text = forms.CharField(required=False, max_length=500)
    field = forms.CharField(required=False, max_length=200)
    operator = forms.ChoiceField(required=False, choices=[(each, each) for each in get_args(Operator)])
    value = forms.CharField(required=False, max_length=2_000)
    before = forms.CharField(required=False, max_length=64)

    @classmethod
    def read(cls, data: QueryDict) -> dict[str, str]:
        """The cleaned fields. Raises `BadRequest`."""
        form = cls(data)
        if not form.is_valid():
            raise BadRequest
        return form.cleaned_data
