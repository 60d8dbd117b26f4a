"""The beginning of a message in one line, to be recognised by."""

from __future__ import annotations

import re

FENCE = re.compile(r"^\s*(```|~~~)[^\n]*$", re.MULTILINE)
RULE = re.compile(r"^[\s|]*:?-{2,}[\s|:-]*$", re.MULTILINE)
"""A line across, and the one under the head of a table."""
OPENING = re.compile(r"^(?:\s{0,3}(?:#{1,6}|>|[-*+])(?=\s|$)[ \t]*)+", re.MULTILINE)
LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
STRONG = re.compile(r"\*\*|__|~~|`+")
SOFT = re.compile(r"(?<![\w*])([*_])(?=\S)([^*_\n]+)(?<=\S)\1(?![\w*])")
CUT = re.compile(r"(?<![\w*])\*(?=[^\W\d])")
"""What began to be stressed, and was cut off before it ended."""
BAR = re.compile(r"\s*\|\s*")


def plain(text: str) -> str:
    """The text without the marks of Markdown, in one line; it may have been cut off anywhere."""
    for mark in (FENCE, RULE, OPENING):
        text = mark.sub("", text)
    text = LINK.sub(r"\1", text)
    text = CUT.sub("", SOFT.sub(r"\2", STRONG.sub("", text)))
    return " ".join(BAR.sub(" ", text).split())
