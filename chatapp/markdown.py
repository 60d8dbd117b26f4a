"""Markdown to HTML that is safe to show, whoever wrote it.

Two walls: the parser takes no raw HTML, and what it makes goes through an allow-list that knows neither ids, nor
`hx-` and `data-` attributes, nor images, nor addresses within this site.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

LANGUAGE = re.compile(r"language-[\w+#.-]{1,40}")
ALIGNMENT = re.compile(r"text-align:(left|center|right)")
TASK = re.compile(r"\[([ xX])\] ")
LONG = 20_000
"""Characters from which on a text counts as long."""

Definitions = tuple[tuple[str, str, str], ...]
"""The link definitions of a text: name, address, title."""

ENDED_BY_BLANK = ("paragraph_open", "heading_open", "table_open", "blockquote_open", "fence", "hr")
BLOCKS = ("p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "blockquote", "td", "th")

_cleaner = nh3.Cleaner(
    tags={*BLOCKS, "br", "hr", "strong", "em", "s", "code", "pre", "ul", "ol", "table", "thead", "tbody", "tr", "a"},
    clean_content_tags={"script", "style"},
    attributes={"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}, "th": {"align"}, "td": {"align"}},
    attribute_filter=lambda tag, name, value: value if name != "class" or LANGUAGE.fullmatch(value) else None,
    # Each block finds its own direction, so that Hebrew and English can stand under each other.
    set_tag_attribute_values={
        **{tag: {"dir": "auto"} for tag in BLOCKS},
        "pre": {"dir": "ltr"},
        "a": {"target": "_blank"},
    },
    link_rel="noopener noreferrer nofollow",
    url_schemes={"http", "https", "mailto"},
    # A reply has no business in our own addresses.
    url_relative="deny",
)


def render(text: str) -> SafeString:
    """The whole text as HTML."""
    return (_short if len(text) < LONG else _long)(text)


def _whole(text: str) -> SafeString:
    return mark_safe("".join(blocks(text)))


# Few of the long ones, so that the memory for both is bounded.
_short, _long = lru_cache(maxsize=1024)(_whole), lru_cache(maxsize=32)(_whole)


def blocks(text: str) -> list[SafeString]:
    """The text as HTML, one piece for each top-level block."""
    sources, _, _, definitions = _split(_normal(text), ())
    return [_block(source, definitions) for source in sources]


class Growing:
    """A text that grows at its end, as blocks of HTML. Reading them costs what was added, and the last block."""

    def __init__(self) -> None:
        self.settled: list[SafeString] = []
        """The blocks that will not change any more, as far as Markdown allows."""
        self._pieces: list[str] = []
        self._size = 0
        self._settled_size = 0
        self._rest = ""
        """The source of all that is not settled."""
        self._definitions: Definitions = ()
        self._open: list[SafeString] = []
        self._is_fresh = True

    @property
    def text(self) -> str:
        """All that was added."""
        return "".join(self._pieces)

    def add(self, piece: str) -> None:
        """Put `piece` at the end."""
        self._pieces.append(piece)
        self._size += len(piece)
        self._rest += piece
        self._is_fresh = False

    @property
    def size(self) -> int:
        """How many characters were added."""
        return self._size

    @property
    def open_size(self) -> int:
        """How many of them reading it will have to go through."""
        return len(self._rest)

    @property
    def weight(self) -> int:
        """About how many characters of HTML it makes."""
        return self._settled_size + len(self._rest)

    def blocks(self) -> list[SafeString]:
        """What `blocks` says of the text so far."""
        if not self._is_fresh:
            self._read()
        return self.settled + self._open

    def _read(self) -> None:
        # A carriage return may be half of a line end.
        whole, half = (self._rest[:-1], "\r") if self._rest.endswith("\r") else (self._rest, "")
        lines, line = _cut(_normal(whole))
        # Only whole lines tell which block is over: `*` begins a list, but `*this` goes on with the paragraph.
        sources, over, rest, self._definitions = _split(lines, self._definitions)
        settled = [_block(source, self._definitions) for source in sources[:over]]
        self.settled += settled
        self._settled_size += sum(map(len, settled))
        sources, _, _, known = _split(rest + line, self._definitions)
        self._open = [_render(source, known) for source in sources]
        self._rest = rest + line + half
        self._is_fresh = True


def _cut(source: str) -> tuple[str, str]:
    """The whole lines, and the last one that is still being written."""
    end = source.rfind("\n") + 1
    return source[:end], source[end:]


def _split(source: str, known: Definitions) -> tuple[list[str], int, str, Definitions]:
    """The sources of the top-level blocks, how many of them are over, all that stands after those, and the link
    definitions so far."""
    env: EnvType = _environment(known)
    tokens: list[Token] = []
    _parser.block.parse(source, _parser, env, tokens)
    lines = source.split("\n")
    tops = [token for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]
    spans = [token.map for token in tops]
    over = len(tops) if tops and _is_over(tops[-1], lines) else max(0, len(tops) - 1)
    start = 0 if not spans else spans[over][0] if over < len(spans) else spans[-1][1]
    definitions = tuple((name, link["href"], link["title"]) for name, link in env["references"].items())
    return ["\n".join(lines[start:end]) for start, end in spans], over, "\n".join(lines[start:]), definitions


def _is_over(block: Token, lines: list[str]) -> bool:
    """Whether nothing that may follow the text's last block can still be a part of it: a blank line ends most kinds."""
    end = block.map[1]
    return block.type in ENDED_BY_BLANK and end < len(lines) - 1 and not lines[end].strip()


def _environment(definitions: Definitions) -> EnvType:
    return {"references": {name: {"href": href, "title": title} for name, href, title in definitions}}


def _render(source: str, definitions: Definitions) -> SafeString:
    return mark_safe(_cleaner.clean(_parser.render(source, _environment(definitions))))


_known = lru_cache(maxsize=2048)(_render)


def _block(source: str, definitions: Definitions) -> SafeString:
    """`_render`, but blocks of a usual length are remembered: they are met again when their text is finished."""
    return (_known if len(source) < LONG else _render)(source, definitions)


def _normal(text: str) -> str:
    """The text as CommonMark wants it: one kind of line end, no NUL, nothing that UTF-8 can't hold."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return text.encode("utf-8", "replace").decode()


def _link_to_image(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """An image is shown as a link: fetching it unasked would tell its server who reads this."""
    token = tokens[index]
    address = str(token.attrs.get("src", ""))
    label = escapeHtml(self.renderInlineAsText(token.children or [], options, env) or address)
    in_link = sum(one.nesting for one in tokens[:index] if one.type in ("link_open", "link_close")) > 0
    return label if in_link else f'<a href="{escapeHtml(address)}">{label}</a>'


def _align_cells(state: StateCore) -> None:
    """Say the alignment of table cells in an attribute: our policy forbids inline styles."""
    for token in state.tokens:
        if token.type in ("th_open", "td_open") and (found := ALIGNMENT.match(str(token.attrs.pop("style", "")))):
            token.attrs["align"] = found[1]


def _tick_tasks(state: StateCore) -> None:
    """Show "- [x] done" with a ticked box."""
    for item, _, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if item.type == "list_item_open" and inline.type == "inline" and inline.children:
            first = inline.children[0]
            if found := TASK.match(first.content):
                first.content = ("☐ " if found[1] == " " else "☑ ") + first.content[found.end() :]


_parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_parser.add_render_rule("image", _link_to_image)
_parser.core.ruler.push("align_cells", _align_cells)
_parser.core.ruler.push("tick_tasks", _tick_tasks)
