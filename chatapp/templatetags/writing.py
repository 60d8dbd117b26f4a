"""What the places in which one writes need to know."""

from __future__ import annotations

from django import template

from branching.limits import MESSAGE_MAX

register = template.Library()


@register.simple_tag
def message_max() -> int:
    """How many characters a message may have."""
    return MESSAGE_MAX
