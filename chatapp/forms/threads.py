"""One form for each command on threads. What is wrong with a field is said in the domain's own words."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from branching.exceptions import BadRequest


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


def whole_number(data: QueryDict, name: str) -> int:
    """A field of an address that names a message. Raises `BadRequest`."""
    try:
        return forms.IntegerField().clean(data.get(name))
    except forms.ValidationError as error:
        raise BadRequest from error
