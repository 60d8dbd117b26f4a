"""The lanes of the time machine as SVG: one drawing for each line of the list, which joins those above and below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from branching.lanes import Place
from branching.types import ListedCheckpoint

LANE = 14
"""Pixels from lane to lane."""

MARKS = {
    "head": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0 -10 0M-1 0h2",
    "failed": "M-4 -4L4 4M-4 4L4 -4",
    "waiting": "M0 -5L5 0L0 5L-5 0Z",
    "tip": "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
    "step": "M0 0h0",
}
"""What a checkpoint is drawn as, around its place: told apart by shape, for those who see no colours."""

AROUND = "M-6 0a6 6 0 1 0 12 0a6 6 0 1 0 -12 0"
"""HEAD's ring, where something else is to be seen in it."""


def of_checkpoint(place: Place, width: int, row: ListedCheckpoint) -> SafeString:
    """The lanes beside a checkpoint, of which the newest stand above."""
    state = "failed" if row.has_failed else "waiting" if row.is_waiting else ""
    if row.is_head:
        return draw(place, width, "head", inner=state)
    return draw(place, width, state or ("tip" if row.is_tip else "step"))


def draw(place: Place, width: int, kind: str, *, inner: str = "", grows: Literal["up", "down"] = "up") -> SafeString:
    """The drawing, `width` lanes wide; lanes further out share the last one. The lines are stretched to the row's
    height, the mark is not. `inner` is a mark to be drawn small within HEAD's ring."""
    strokes = format_html_join("", '<path class="{}" d="{}"/>', dict.fromkeys(_strokes(place, width - 1)))
    return format_html(
        '<svg class="lanes{5}" width="{0}" height="100%" viewBox="0 0 {0} 100" preserveAspectRatio="none"'
        ' aria-hidden="true" data-lane="{1}">{2}</svg>'
        '<svg class="lanes lanes--marks" width="{0}" height="100%" aria-hidden="true">'
        '<svg x="{3}%" y="50%" overflow="visible">{4}</svg></svg>'
        '<svg class="lanes__room" width="{0}" height="1"></svg>',
        LANE * width,
        place.lane,
        strokes,
        # A part of the width, since the drawing is narrower on a phone.
        f"{100 * _x(place.lane, width - 1) / (LANE * width):.2f}",
        _mark(kind, inner),
        " lanes--down" if grows == "down" else "",
    )


def _mark(kind: str, inner: str) -> SafeString:
    mark = '<path class="lanes__mark lanes__mark--{}" d="{}"/>'
    if not inner:
        return format_html(mark, kind, MARKS[kind])
    return format_html(
        mark + '<path class="lanes__mark lanes__mark--{}" d="{}" transform="scale(.6)"/>',
        kind, AROUND, inner, MARKS[inner],
    )  # fmt: skip


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
