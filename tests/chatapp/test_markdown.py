"""Markdown that anybody may have written: what it becomes, and what never comes out of it."""

from __future__ import annotations

import html
import re
import time
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatapp import formulas, markdown
from chatapp.markdown import Growing, blocks
from tests.texts import sections

TOUR = """# Title

A *soft* and **strong** paragraph with `code`, ~~gone~~ and
a second line.

- one
- two

  still two

1. first
2. second

> quoted

```python
if a < b:
    pass
```

| left | right |
|:-----|------:|
| 1    | 2     |

- [x] done
- [ ] open

[named] link

[named]: https://example.com/
"""


PIECES = [
    "word ",
    "*soft* ",
    "\n",
    "\n\n",
    "- item\n",
    "  - inner\n",
    "1. one\n",
    "> quote\n",
    "```\ncode\n```\n",
    "```py\nif x:\n```\n",
    "$x^2$ ",
    "$$\nx\n$$\n",
    "\\[ y \\] ",
    "note[^1] ",
    "[^1]: said\n",
    "```",
    "# h\n",
]
PIECES += ["| a | b |\n|---|---|\n| 1 | 2 |\n", "---\n", "\r\n", "\r", "    indented\n", "===\n", "字", "`x`", "~~~\n"]


def render(text: str) -> str:
    """The blocks, without their holders: those are ours."""
    return "".join(blocks(text))


def test_markdown_becomes_html() -> None:
    html = render(TOUR)
    for piece in ("<h1 ", "<em>soft</em>", "<s>gone</s>", "<ol>", "<blockquote ", 'class="language-python"', "☑ done"):
        assert piece in html
    assert '<td align="right" dir="auto">2</td>' in html
    assert 'href="https://example.com/"' in html
    assert "a &lt; b" in re.sub(r"</?span[^>]*>", "", html)


def test_a_text_is_its_blocks_each_in_a_holder_and_kept() -> None:
    held = markdown.render("# a\n\n- b\n- c\n")
    assert re.sub(r' dir="auto"|\n', "", held) == (
        "<div data-block><h1>a</h1></div><div data-block><ul><li>b</li><li>c</li></ul></div>"
    )
    assert markdown.render(TOUR) is markdown.render(TOUR)


@pytest.mark.parametrize("text", ["", " ", "\n\n"])
def test_nothing_becomes_nothing(text: str) -> None:
    assert render(text) == ""
    assert blocks(text) == []


HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<script>alert(1)</script>",
    '<div hx-get="/logout" hx-trigger="load">x</div>',
    '<div data-hx-get="/logout" data-action="send">x</div>',
    '<div id="composer" hx-swap-oob="true">x</div>',
    '<hx-partial hx-target="#transcript">x</hx-partial>',
    "<style>*{display:none}</style>",
    "<form action=/logout><button>x</button></form>",
    '<a href="/" id=transcript style="position:fixed">x</a>',
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\nscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](vbscript:x)",
    "<javascript:alert(1)>",
    "![x](javascript:alert(1))",
    '[x](https://e.example "a\\" onmouseover=alert(1)")',
    '![a" onerror="alert(1)](https://e.example/"onerror="alert(1))',
    '```"><script>alert(1)</script>\nx\n```',
    "```x hx-get=/logout\nx\n```",
    "`<img src=x onerror=alert(1)>`",
    "| <img src=x onerror=alert(1)> |\n|--|\n| <b onclick=x> |",
    "<!-- --><script>alert(1)</script>",
    "</div></article><script>alert(1)</script>",
    "x[^<img/onerror=alert(1)>]\n\n[^<img/onerror=alert(1)>]: x",
    "[^a]: <div class=code data-language=x>\n\n    <script>alert(1)</script>",
]
HOSTILE_FORMULAS = [
    r"\href{javascript:alert(1)}{x}",
    r"\href{https://evil.example}{x}",
    r"\style{position:fixed}{x}",
    r"\class{message}{x}",
    r"\text{<img src=x onerror=alert(1)>}",
    r"\text{&lt;img src=x onerror=alert(1)&gt;}",
    r"\mathrm{</math><script>alert(1)</script>}",
    r"\includegraphics{https://evil.example/x.png}",
    r"\hspace{99999em} x",
    r"\color{red;background:url(//evil.example)}{x}",
]
TAGS = {
    "p",
    "a",
    "code",
    "pre",
    "li",
    "ul",
    "blockquote",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "sup",
    "div",
    "span",
}
ALLOWED = {"href", "title", "class", "start", "align", "dir", "rel", "target"}


def unframed(html: str) -> str:
    """Without the frame that we put around code: what is left comes from the text."""
    html = re.sub(r'<div class="code"(?: data-language="[\w+#.-]{1,40}")?>' + re.escape(markdown.COPY), "", html)
    return html.replace("</code></pre></div>", "</code></pre>")


def tags_of(html: str) -> list[tuple[str, dict[str, str]]]:
    """All tags that a browser would see, each with its attributes."""
    return [
        (name, dict(re.findall(r'([\w:-]+)="([^"]*)"', rest)))
        for name, rest in re.findall(r"<(\w[\w-]*)([^>]*)>", html)
    ]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("around", ["{}", "before {} after", "> {}", "- {}"])
def test_case_87_nothing_in_a_text_can_act(text: str, around: str) -> None:
    for name, attributes in tags_of(unframed(render(around.format(text)))):
        assert name in TAGS
        assert attributes.keys() <= ALLOWED
        assert attributes.get("href", "https:").startswith(("https:", "http:", "mailto:"))


def test_case_87_the_name_of_a_language_is_the_only_class() -> None:
    assert 'class="language-c++"' in render("```c++\nx\n```")
    html = unframed(render("``` data-x.message\nx\n```"))
    assert "class" not in html.replace('class="language-data-x.message"', "")
    assert "class" not in unframed(render("```a&quot;b\nx\n```"))


@pytest.mark.parametrize("tex", HOSTILE_FORMULAS)
@pytest.mark.parametrize("around", ["${}$", "$${}$$", r"\({}\)", "$$\n{}\n$$"])
def test_case_87_nothing_in_a_formula_can_act(tex: str, around: str) -> None:
    for name, attributes in tags_of(render(around.format(tex))):
        assert name in formulas.TAGS | {"p", "code"}
        assert attributes.keys() <= formulas.ATTRIBUTES | {"dir"}
        assert not any("999" in value for value in attributes.values())


@pytest.mark.parametrize(
    "text",
    ["$a^2$", "$$a^2$$", r"\(a^2\)", r"\[a^2\]", "$$\na^2\n$$", "\\[\na^2\n\\]", "- $a^2$", "| $a^2$ |\n|--|"],
)
def test_a_formula_becomes_mathml(text: str) -> None:
    assert "<msup><mi>a</mi><mn>2</mn></msup>" in render(text)


@pytest.mark.parametrize("text", ["It costs $5, or $6.", "US$5 and US$6", "`$a^2$`", "```\n$a^2$\n```", "a $ b $ c"])
def test_money_and_code_are_no_formulas(text: str) -> None:
    assert "<math" not in render(text)


@pytest.mark.parametrize("tex", ["{" * 1_500, r"\frac{" * 400, "x" * 3_000, r"\begin{array}"])
def test_a_formula_that_cannot_be_read_is_shown_as_it_was_written(tex: str) -> None:
    html = render(f"before ${tex}$ after")
    assert "before" in html and "after" in html and ("<math" in html or tex in html)


def test_code_has_the_colours_of_its_language_and_stays_the_same_text() -> None:
    source = "\n\ndef f(x: int) -> str:\n    return '<b>&amp;' * x  # so\n\n"
    coloured = render(f"```python\n{source}```")
    assert 'class="tok-k"' in coloured and 'data-language="python"' in coloured
    code = re.search(r"<code[^>]*>(.*)</code>", coloured, re.DOTALL)
    assert html.unescape(re.sub(r"<[^>]+>", "", code[1])) == source


@pytest.mark.parametrize("fence", ["```nobody-knows\nx < y\n```", "```\nx < y\n```", "    x < y"])
def test_code_in_no_known_language_is_plain(fence: str) -> None:
    assert "x &lt; y\n</code>" in render(fence) and "tok-" not in render(fence)


def test_a_footnote_stands_where_it_was_written() -> None:
    html = render("Said[^who] so.\n\n[^who]: By *her*.\n\nMore.")
    assert "Said<sup>who</sup> so." in html
    assert '<div class="footnote"><sup>who</sup><p dir="auto">By <em>her</em>.</p>' in html


def test_case_88_an_image_is_a_link_and_fetches_nothing() -> None:
    html = render("![see](https://evil.example/?q=secret)")
    assert "<img" not in html
    assert '<a href="https://evil.example/?q=secret"' in html and ">see</a>" in html


def test_case_88_an_image_in_a_link_is_its_words() -> None:
    html = render("[![logo](https://evil.example/x.png)](https://ok.example/)")
    assert "evil" not in html and '<a href="https://ok.example/"' in html and ">logo</a>" in html


def test_a_link_opens_elsewhere_and_tells_nothing() -> None:
    html = render("[out](https://ok.example/)")
    assert 'target="_blank"' in html and 'rel="noopener noreferrer nofollow"' in html


@pytest.mark.parametrize("address", ["/logout/", "?x=1", "#composer", "//evil.example/", "threads/"])
def test_a_link_into_this_site_leads_nowhere(address: str) -> None:
    assert "href" not in render(f"[x]({address})")


def test_case_92_each_block_finds_its_own_direction_and_code_does_not() -> None:
    html = render("שלום\n\nhello\n\n```\nשלום\n```")
    assert html.count('<p dir="auto">') == 2
    assert '<pre dir="ltr">' in html


def test_case_87_a_fence_split_over_two_tokens_stays_a_fence() -> None:
    for cut in range(len(TOUR)):
        assert "<script" not in render(TOUR[:cut] + "<script>alert(1)</script>")


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(PIECES), max_size=40), st.integers(1, 7))
def test_a_growing_text_says_at_each_step_what_the_whole_text_says(pieces: list[str], step: int) -> None:
    growing, added = Growing(), ""
    text = "".join(pieces)
    for start in range(0, len(text), step):
        growing.add(text[start : start + step])
        added += text[start : start + step]
        assert growing.blocks() == blocks(added.removesuffix("\r"))  # which may be half of a line end
        assert growing.text == added


@pytest.mark.parametrize("pieces", [["a\n\n", "b\n\n", "c"], ["```\nx\n```\n\n", "b"], ["- a\n\n", "b\n\n"], ["", "a"]])
def test_what_is_shown_always_has_the_block_at_which_it_goes_on(pieces: list[str]) -> None:
    """Where each block is over, with a blank line after it, the next one comes after the last."""
    growing, shown = Growing(), 1  # a page has one to begin with
    for piece in pieces:
        start = growing.growing
        assert start < shown
        growing.add(piece)
        shown = max(1, start + len(growing.blocks()[start:]))


def test_case_89_the_work_of_a_growing_text_grows_with_its_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted in characters that the parser is given, since clocks are not to be trusted: six times the text."""
    work = []
    for size in (10_000, 60_000):
        parsed = [0]
        monkeypatch.setattr(markdown, "_split", partial(_counted, parsed, markdown._split))
        growing, text = Growing(), sections(size)
        for start in range(0, len(text), 60):
            growing.add(text[start : start + 60])
            growing.blocks()
        monkeypatch.undo()
        work.append(parsed[0] / len(text))
    assert work[1] < 1.1 * work[0]


def _counted(parsed: list[int], split: Any, source: str, known: Any) -> Any:
    parsed[0] += len(source)
    return split(source, known)


def test_a_link_that_is_defined_late_still_works_in_what_comes_after() -> None:
    growing = Growing()
    for piece in ("[a]: https://example.org\n\nfirst\n\n", "second [a]\n\nthird [a]"):
        growing.add(piece)
        last = growing.blocks()[-1]
    assert 'href="https://example.org"' in last


def test_a_nul_and_half_a_character_are_replaced() -> None:
    assert "a\ufffdb" in render("a\0b")
    assert "?" in render("\ud83d")


def test_line_ends_of_all_kinds_are_the_same() -> None:
    assert render("a\r\n\r\nb\rc") == render("a\n\nb\nc")


@pytest.mark.parametrize(
    "text",
    [
        "x" * 50_000,
        "[" * 50_000,
        "![" * 20_000,
        "*a " * 30_000,
        "`a" * 50_000,
        "> " * 5_000 + "x",
        "- " * 3_000 + "x",
        "<" * 50_000,
        "|a" * 2_000 + "\n" + "|-" * 2_000 + "\n" + "|b" * 2_000,
        "$a$ " * 10_000,
        "$" * 50_000,
        r"\(" * 20_000,
        "[^a]: " * 5_000,
        "[^a] " * 10_000,
        "```python\n" + "x = [1, 2, 'three']  # four\n" * 8_000 + "```",
        "".join(f"para **b** `{n}`\n\n- a\n- b\n\n```py\ncode\n```\n\n" for n in range(4_500)),
    ],
    ids=[
        "word",
        "brackets",
        "images",
        "stars",
        "ticks",
        "quotes",
        "lists",
        "angles",
        "table",
        "formulas",
        "dollars",
        "brackets of TeX",
        "notes",
        "marks of notes",
        "code",
        "200 kB",
    ],
)
def test_case_89_no_text_takes_long(text: str) -> None:
    started = time.monotonic()
    assert render(text)
    assert time.monotonic() - started < 20


def test_a_heading_without_words_is_none() -> None:
    assert "<h2" not in render("## ") and "<h2" in render("## a")
