"""One form for each command on threads. What is wrong with a field is said in the domain's own words."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from branching.exceptions import BadRequest

ARGUMENT = "argument-"
"""What the names of fields begin with that change an argument of a tool."""


class CommandForm(forms.Form):
    """What every command carries: the version of HEAD its page was drawn with, and its idempotency key."""

    head_version = forms.IntegerField(min_value=0)
    key = forms.CharField(max_length=64)

    @classmethod
    def read(cls, data: QueryDict) -> dict[str, Any]:
        """The cleaned fields, named as the commands of `branching` name them. Raises `BadRequest`."""
        form = cls(data)
        if not form.is_valid():
            raise BadRequest
        return form.cleaned_data


class ContentForm(CommandForm):
    """A text that a person wrote, as it was written: the domain judges it."""

    content = forms.CharField(required=False, strip=False)


class SwitchForm(CommandForm):
    """Where to: a version of a message, or a checkpoint."""

    message = forms.IntegerField(required=False)
    checkpoint = forms.CharField(required=False, max_length=64)


class AnswerForm(CommandForm):
    """A decision about one or several questions of a checkpoint; with changes, about one."""

    decision = forms.ChoiceField(choices=[(each, each) for each in ("approve", "reject", "edit")])
    reason = forms.CharField(required=False, strip=False)

    @classmethod
    def read(cls, data: QueryDict) -> dict[str, Any]:
        command = super().read(data)
        answer: dict[str, Any] = {"type": command.pop("decision")}
        reason = command.pop("reason")
        if answer["type"] == "reject":
            answer["reason"] = reason
        elif answer["type"] == "edit":
            names = [name for name in data if name.startswith(ARGUMENT)]
            answer["arguments"] = {name.removeprefix(ARGUMENT): data[name] for name in names}
        return {**command, "answers": dict.fromkeys(data.getlist("question"), answer)}


class KeepForm(forms.Form):
    """Whether a thread is pinned, and whether it is put away; what is not said stays as it is."""

    pinned = forms.NullBooleanField(required=False)
    archived = forms.NullBooleanField(required=False)

    @classmethod
    def read(cls, data: QueryDict) -> dict[str, Any]:
        """What was said. Any text is some answer."""
        form = cls(data)
        form.is_valid()
        return form.cleaned_data


def whole_number(data: QueryDict, name: str) -> int:
    """A field of an address that names a message. Raises `BadRequest`."""
    try:
        return forms.IntegerField().clean(data.get(name))
    except forms.ValidationError as error:
        raise BadRequest from error
