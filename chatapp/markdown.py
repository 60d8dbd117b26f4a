"""Markdown to HTML that is safe to show, whoever wrote it.

Two walls: the parser takes no raw HTML, and what it makes goes through an allow-list that knows neither ids, nor
`hx-` and `data-` attributes, nor images, nor addresses within this site. Formulas have an allow-list of their own, and
come in behind that one; so does the frame around code, which is ours.
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
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from chatapp import code, formulas

LANGUAGE = re.compile(r"language-[\w+#.-]{1,40}")
CLASSES = {"code": LANGUAGE, "span": re.compile(rf"{code.PREFIX}[a-z0-9]{{1,4}}"), "div": re.compile("footnote")}
"""The classes that elements may have."""

CODE = re.compile(r'<pre dir="ltr"><code(?: class="language-([^"]*)")?>')
FORMULA = re.compile(r'<code class="language-formula-(\d+)"></code>')
FORMULAS = "formulas"
"""Where the formulas of a text are kept while the rest of it is cleaned."""

BRACKETED = re.compile(r"\\\((.{1,1000}?)\\\)|\\\[(.{1,1000}?)\\\]", re.DOTALL)
# It is named by an element of the page, in the language of the page: what is rendered here is kept for all languages.
COPY = (
    '<button class="button button--icon code__copy" type="button" data-action="copy-code" '
    'aria-labelledby="copy-code-name"><svg class="icon" aria-hidden="true"><use href="#icon-copy"></use></svg></button>'
)
ALIGNMENT = re.compile(r"text-align:(left|center|right)")
TASK = re.compile(r"\[([ xX])\] ")
LONG = 20_000
"""Characters from which on a text counts as long."""

Definitions = tuple[tuple[str, str, str], ...]
"""The link definitions of a text: name, address, title."""

ENDED_BY_BLANK = ("paragraph_open", "heading_open", "table_open", "blockquote_open", "fence", "hr", "math_block")
BLOCKS = ("p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "blockquote", "td", "th")
INLINE = ("br", "hr", "strong", "em", "s", "code", "a", "span", "sup")

_cleaner = nh3.Cleaner(
    tags={*BLOCKS, *INLINE, "pre", "ul", "ol", "table", "thead", "tbody", "tr", "div"},
    clean_content_tags={"script", "style"},
    attributes={
        **{tag: {"class"} for tag in CLASSES},
        "a": {"href", "title"},
        "ol": {"start"},
        "th": {"align"},
        "td": {"align"},
    },
    attribute_filter=lambda tag, name, value: value if name != "class" or CLASSES[tag].fullmatch(value) else None,
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
    """The whole text as HTML, each of its `blocks` in a holder, as on the page while it is written."""
    return (_short if len(text) < LONG else _long)(text)


def _whole(text: str) -> SafeString:
    return held(blocks(text))


# Few of the long ones, so that the memory for both is bounded.
_short, _long = lru_cache(maxsize=1024)(_whole), lru_cache(maxsize=32)(_whole)


def held(blocks: Sequence[SafeString]) -> SafeString:
    """The blocks one after another, each in a holder in which it can grow, and nothing between them."""
    return mark_safe("".join(f"<div data-block>{block}</div>" for block in blocks))


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

    @property
    def growing(self) -> int:
        """The number of the block at which what is shown goes on: the first that may change, or else the last."""
        return min(len(self.settled), max(0, len(self.settled) + len(self._open) - 1))

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
    env = _environment(definitions)
    html = _cleaner.clean(_parser.render(source, env))
    known: list[str] = env.get(FORMULAS, [])
    html = FORMULA.sub(lambda found: known[int(found[1])] if int(found[1]) < len(known) else "", html)
    return mark_safe(CODE.sub(_framed, html).replace("</code></pre>", "</code></pre></div>"))


def _framed(found: re.Match[str]) -> str:
    """Code in a frame that names its language and copies it. The words are not in the text: it is copied whole."""
    label = f' data-language="{found[1]}"' if found[1] else ""
    return f'<div class="code"{label}>{COPY}{found[0]}'


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


def _fence(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    token = tokens[index]
    language = token.info.split(maxsplit=1)[0] if token.info.strip() else ""
    name = f' class="language-{escapeHtml(language)}"' if language else ""
    return f"<pre><code{name}>{code.colour(token.content, language)}</code></pre>\n"


def _formula(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """A mark where the formula goes once the rest is clean."""
    token = tokens[index]
    found: list[str] = env.setdefault(FORMULAS, [])
    found.append(formulas.render(token.content.strip(), display="block" in token.type or "double" in token.type))
    return f'<code class="language-formula-{len(found) - 1}"></code>'


def _bracketed(state: StateInline, silent: bool) -> bool:
    """The rule for `\\(...\\)` and `\\[...\\]`, as models like to write formulas."""
    found = BRACKETED.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        token = state.push("math_inline" if found[1] else "math_inline_double", "math", 0)
        token.content = found[1] or found[2]
    state.pos = found.end()
    return True


def _note(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """A note stays where it was written: what is on screen already does not change when more is written."""
    return f'<div class="footnote"><sup>{escapeHtml(tokens[index].meta["label"])}</sup>'


def _reference(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    return f"<sup>{escapeHtml(tokens[index].meta['label'])}</sup>"


def _align_cells(state: StateCore) -> None:
    """Say the alignment of table cells in an attribute: our policy forbids inline styles."""
    for token in state.tokens:
        if token.type in ("th_open", "td_open") and (found := ALIGNMENT.match(str(token.attrs.pop("style", "")))):
            token.attrs["align"] = found[1]


def _silence_empty_headings(state: StateCore) -> None:
    """A heading of which only the mark has been written yet is none to those who go from heading to heading."""
    for opening, inside, closing in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if opening.type == "heading_open" and not inside.content.strip():
            opening.tag = closing.tag = "p"


def _tick_tasks(state: StateCore) -> None:
    """Show "- [x] done" with a ticked box."""
    for item, _, inline in zip(state.tokens, state.tokens[1:], state.tokens[2:], strict=False):
        if item.type == "list_item_open" and inline.type == "inline" and inline.children:
            first = inline.children[0]
            if found := TASK.match(first.content):
                first.content = ("☐ " if found[1] == " " else "☑ ") + first.content[found.end() :]


_parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_parser.use(footnote_plugin, inline=False, move_to_end=False, always_match_refs=True)
_parser.use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
_parser.inline.ruler.before("escape", "bracketed_formula", _bracketed)
_parser.add_render_rule("footnote_reference_open", _note)
_parser.add_render_rule("footnote_reference_close", lambda *_: "</div>\n")
_parser.add_render_rule("footnote_ref", _reference)
_parser.add_render_rule("fence", _fence)
for _kind in ("math_inline", "math_inline_double", "math_block"):
    _parser.add_render_rule(_kind, _formula)
_parser.add_render_rule("image", _link_to_image)
_parser.core.ruler.push("align_cells", _align_cells)
_parser.core.ruler.push("tick_tasks", _tick_tasks)
_parser.core.ruler.push("silence_empty_headings", _silence_empty_headings)
