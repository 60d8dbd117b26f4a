"""TeX formulas as MathML, which every current browser shows without a script."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import lru_cache
from xml.etree import ElementTree

from latex2mathml.converter import convert_to_element
from markdown_it.common.utils import escapeHtml

LONGEST = 2_000
"""Characters from which on a formula is shown as it was written."""

# What MathML Core knows, without what leads elsewhere or is styled: the converter obeys `href` and `style` too.
TAGS = {"math", "mrow", "mi", "mn", "mo", "ms", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup"}
TAGS |= {"munder", "mover", "munderover", "mmultiscripts", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom"}
ATTRIBUTES = {"accent", "accentunder", "columnalign", "columnspan", "display", "displaystyle", "fence", "form"}
ATTRIBUTES |= {"largeop", "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits", "rowspan"}
ATTRIBUTES |= {"rspace", "scriptlevel", "separator", "stretchy", "symmetric", "width"}

VALUE = re.compile(r"[a-z -]{1,40}|-?\d{0,2}(?:\.\d{1,4})?(?:em|ex|px|pt|mu|%)?")
"""Words, and lengths that stay within a line."""


@lru_cache(maxsize=1024)
def render(tex: str, *, display: bool) -> str:
    """The formula as HTML that is safe to show; as code where it can't be read."""
    try:
        if len(tex) > LONGEST:
            raise ValueError("too long")
        found = convert_to_element(tex, display="block" if display else "inline")
        return ElementTree.tostring(_clean(found), encoding="unicode", method="html", short_empty_elements=False)
    except Exception:  # the converter has errors of its own for each thing that it can't read, and others besides
        return f"<code>{escapeHtml(tex)}</code>"


def _clean(element: ElementTree.Element) -> ElementTree.Element:
    """A copy with nothing but what is allowed. Of what is not, the parts stay."""
    kept = {name: value for name, value in element.attrib.items() if _may(name, value)}
    copy = ElementTree.Element(element.tag if element.tag in TAGS else "mrow", kept)
    # The converter writes entities into its texts, for a serializer of its own that undoes all escaping.
    copy.text = html.unescape(element.text) if element.text else None
    copy.extend(_children(element))
    return copy


def _may(name: str, value: str) -> bool:
    return name in ATTRIBUTES and bool(VALUE.fullmatch(value))


def _children(element: ElementTree.Element) -> Iterator[ElementTree.Element]:
    return (_clean(child) for child in element)
