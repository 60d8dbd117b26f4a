"""Code in the colours of its language. What comes out is `<span class="tok-…">` around escaped text, and no more."""

from __future__ import annotations

from functools import lru_cache

from markdown_it.common.utils import escapeHtml
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

LONGEST = 30_000
"""Characters from which on code has no colours: they would take longer than one wants to wait."""

PREFIX = "tok-"
_formatter = HtmlFormatter(nowrap=True, classprefix=PREFIX)


def colour(source: str, language: str) -> str:
    """The code as HTML; plain where nobody knows the language, or there is too much of it."""
    lexer = _lexer(language) if language and len(source) <= LONGEST else None
    return highlight(source, lexer, _formatter) if lexer else escapeHtml(source)


@lru_cache(maxsize=128)
def _lexer(language: str) -> Lexer | None:
    try:
        # As it stands: no line is cut off at the ends, and a missing last line end stays missing.
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
