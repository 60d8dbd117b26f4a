"""What the templates of the chat need beyond Django's own tags."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import date
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from django import template
from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from branching import failures, inspection
from branching.assistants import Assistant
from branching.assistants.cards import Card
from branching.lanes import Place
from branching.models import Thread
from branching.types import ListedCheckpoint
from chatapp import excerpt, lanes
from chatapp import markdown as markdown_

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    """Markdown as safe HTML."""
    return markdown_.render(text)


@register.filter
def plain(text: str) -> str:
    """Markdown in one line, without its marks."""
    return excerpt.plain(text)


@register.filter
def held(blocks: Sequence[SafeString]) -> SafeString:
    """The blocks of a live reply, each in a holder of its own."""
    return markdown_.held(blocks)


@register.filter
def failure_message(code: str) -> str:
    """The sentence for the code of a failure."""
    return failures.message(code)


@register.filter
def cost(data: Mapping[str, Any]) -> str:
    """What a reply has cost, and in which currency; empty where the price of its model is not known."""
    amount = settings.CHAT_PRICES.cost(data.get("model", ""), data.get("usage", {}))
    return "" if amount is None else f"{amount:.4f} {settings.CHAT_PRICES.currency}"


@register.filter
def tool_title(name: str, assistant: Assistant) -> str:
    """What the assistant calls one of its tools."""
    return assistant.tools.get(name) or name.replace("_", " ").capitalize()


@register.filter
def field_title(name: str, assistant: Assistant) -> str:
    """What the assistant calls a field of its state; empty where it says nothing of it."""
    return str(assistant.shows.get(name, ""))


@register.filter
def card_of(payload: Mapping[str, Any], assistant: Assistant) -> Card:
    """The question with this payload, as the assistant puts it."""
    return assistant.card(payload)


@register.filter
def with_changes(card: Card, edits: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a person has changed with their yes: what the card calls it, and what it is now."""
    return card.named(edits)


@register.filter
def pretty(text: str) -> str:
    """JSON laid out in lines; any other text as it is."""
    try:
        found = json.loads(text)
    except ValueError:
        return text
    return json.dumps(found, ensure_ascii=False, indent=2)


@register.filter
def as_json(value: Any) -> str:
    """A plain value, laid out in lines."""
    return inspection.pretty(value)


@register.filter
def unlocalized(value: Any) -> str:
    """A value as a form field takes it, whatever the language."""
    return str(value)


@register.filter
def gist(arguments: Mapping[str, Any]) -> str:
    """The arguments of a call in one line."""
    return " · ".join(value if isinstance(value, str) else json.dumps(value) for value in arguments.values())


@register.filter
def by_age(threads: Sequence[Thread]) -> list[tuple[str, list[Thread]]]:
    """The threads in groups, as they come: pinned, then by the day on which they were last written to."""
    today = timezone.localdate()
    named = ((_age(thread, today), thread) for thread in threads)
    return [(name, [thread for _, thread in group]) for name, group in groupby(named, key=itemgetter(0))]


def _age(thread: Thread, today: date) -> str:
    days = (today - timezone.localdate(thread.updated_at)).days
    if thread.is_pinned:
        return gettext("Pinned")
    if days < 2:
        return gettext("Today") if days < 1 else gettext("Yesterday")
    if days < 31:
        return gettext("Last 7 days") if days < 8 else gettext("Last 30 days")
    return gettext("Older")


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


@register.simple_tag
def lanes_of(place: Place, width: int, row: ListedCheckpoint) -> SafeString:
    """The lanes beside a checkpoint in the list, as a drawing."""
    return lanes.of_checkpoint(place, width, row)


@register.simple_tag
def lanes_down(place: Place, width: int, kind: str) -> SafeString:
    """The same beside a spot of the map, in which what came first stands above."""
    return lanes.draw(place, width, kind, grows="down")
