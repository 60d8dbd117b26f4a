"""What the templates of the chat need beyond Django's own tags."""

from __future__ import annotations

import uuid
from functools import lru_cache
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from branching import failures
from chatapp import markdown as markdown_

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    """Markdown as safe HTML."""
    return markdown_.render(text)


@register.filter
def failure_message(code: str) -> str:
    """The sentence for the code of a failure."""
    return failures.message(code)


@register.simple_tag
def new_key() -> str:
    """A fresh idempotency key: a command that is sent twice with it is carried out once."""
    return uuid.uuid4().hex


@register.simple_tag
@lru_cache(maxsize=4096)
def address(name: str, *args: Any) -> str:
    """What `{% url %}` says, remembered: a transcript has hundreds, and is rendered after each change."""
    return reverse(name, args=args)


@register.simple_tag
@lru_cache
def icon(name: str) -> SafeString:
    """A drawing of `templates/_icons.html` in the colour of the text around it."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="#icon-{}"></use></svg>', name)
