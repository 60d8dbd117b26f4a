"""The lanes of the time machine as SVG: one drawing for each line of the list, which joins those above and below."""

from __future__ import annotations

from collections.abc import Iterator

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from branching.lanes import Place
from branching.types import ListedCheckpoint

LANE = 14
"""Pixels from lane to lane."""


def draw(place: Place, width: int, row: ListedCheckpoint) -> SafeString:
    """The drawing, `width` lanes wide; lanes further out share the last one. It is stretched to the line's height."""
    strokes = format_html_join("", '<path class="{}" d="{}"/>', dict.fromkeys(_strokes(place, width - 1)))
    kind = "head" if row.is_head else "failed" if row.has_failed else "waiting" if row.is_waiting else "step"
    dot = format_html('<path class="lanes__dot lanes__dot--{}" d="M{} 50h0"/>', kind, _x(place.lane, width - 1))
    return format_html(
        '<svg class="lanes" width="{0}" height="100%" viewBox="0 0 {0} 100" preserveAspectRatio="none"'
        ' aria-hidden="true" data-lane="{1}">{2}{3}</svg><svg class="lanes__room" width="{0}" height="1"></svg>',
        LANE * width,
        place.lane,
        strokes,
        dot,
    )


def _strokes(place: Place, last: int) -> Iterator[tuple[str, str]]:
    here = _x(place.lane, last)
    for lane in place.passing:
        yield _named(lane), f"M{_x(lane, last)} 0V100"
    for lane in place.joining:
        yield _named(lane), f"M{_x(lane, last)} 0C{_x(lane, last)} 35 {here} 15 {here} 50"
    if place.goes_on:
        yield _named(place.lane), f"M{here} 50V100"


def _x(lane: int, last: int) -> int:
    return LANE * min(lane, last) + LANE // 2


def _named(lane: int) -> str:
    return "lanes__line" if lane else "lanes__line lanes__line--shown"
