"""The rules that keep the parts apart (README.md, "How the code is laid out"), read from the source."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted(p for top in ("branching", "chatapp", "tests") for p in (ROOT / top).rglob("*.py"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))

TOP_LEVEL = {"manage.py", "branching", "chatapp", "templates", "static", "tests", "docs", ".ci", ".gitignore"}
TOP_LEVEL |= {"Makefile", "pyproject.toml", "requirements.txt", "requirements-test.txt"}
TOP_LEVEL |= {"README.md", "CHANGELOG.md", "CONTEXT.md", "CONTRIBUTING.md", "LICENSE"}

LANGGRAPH_IN = {"runs", "history", "results", "forks", "writing", "saver", "encoding", "llm", "engine", "assistants"}
LINES_AT_MOST = 400
LINES_OF_TESTS_AT_MOST = 600


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imports(path: Path) -> set[str]:
    """All modules that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = absolute(node, path)
            names |= {module} | {f"{module}.{alias.name}" for alias in node.names}
    return names


def absolute(node: ast.ImportFrom, path: Path) -> str:
    """What an import names, the dots of a relative one written out."""
    package = path.relative_to(ROOT).parts[: -node.level] if node.level else ()
    return ".".join([*package, *([node.module] if node.module else [])])


def breaches(paths: list[Path], *forbidden: str) -> list[str]:
    """Which of the files import what they must not."""
    return [
        f"{name_of(path)} imports {name}"
        for path in paths
        for name in sorted(imports(path))
        if any(name == bad or name.startswith(f"{bad}.") for bad in forbidden)
    ]


def domain(*names: str) -> list[Path]:
    """The modules of `branching`, or those of the given names."""
    every = [path for path in MODULES if path.is_relative_to(ROOT / "branching")]
    return [path for path in every if not names or path.stem in names]


def without_comments(template: Path) -> str:
    text = re.sub(r"{#.*?#}", "", template.read_text())
    return re.sub(r"{% comment %}.*?{% endcomment %}", "", text, flags=re.DOTALL)


def test_the_domain_knows_no_web() -> None:
    web = ("chatapp", "channels", "daphne", "django_htmx", "django.http", "django.template", "django.shortcuts")
    assert not breaches(domain(), *web, "django.views", "django.urls", "django.contrib.auth.models")


def test_the_pure_modules_know_neither_django_nor_langgraph() -> None:
    pure = domain("tree", "types", "exceptions", "lanes")
    assert len(pure) == 4
    assert not breaches(pure, "django", "langgraph", "langchain", "langchain_core", "asgiref")


def test_langgraph_is_known_to_a_few_modules_only() -> None:
    others = [p for p in MODULES if "tests" not in p.parts and not LANGGRAPH_IN & {p.stem, *p.relative_to(ROOT).parts}]
    assert not breaches(others, "langgraph")


def test_the_web_knows_no_langchain() -> None:
    assert not breaches([p for p in MODULES if p.is_relative_to(ROOT / "chatapp")], "langchain", "langchain_core")


def test_browser_tests_are_free_of_the_orm() -> None:
    e2e = [p for p in MODULES if p.is_relative_to(ROOT / "tests" / "e2e")]
    assert not breaches(e2e, "django", "branching", "chatapp")


def test_no_file_outgrows_its_reader() -> None:
    assets = [p for kind in ("css", "js") for p in (ROOT / "static").rglob(f"*.{kind}") if "vendor" not in p.parts]
    files = [p for p in MODULES + TEMPLATES + assets if "migrations" not in p.parts]
    lines = {name_of(p): len(p.read_text().splitlines()) for p in files}
    limit = {name: LINES_OF_TESTS_AT_MOST if name.startswith("tests/") else LINES_AT_MOST for name in lines}
    assert not {name: n for name, n in lines.items() if n > limit[name]}


def test_the_top_level_is_fixed() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.split("/")[0] for line in listed.splitlines()} <= TOP_LEVEL


def test_djangos_guard_against_the_orm_in_async_code_stays_on() -> None:
    switch = "DJANGO_ALLOW_" + "ASYNC_UNSAFE"
    files = [*MODULES, *ROOT.glob("*.py"), *ROOT.glob("*.toml"), ROOT / "Makefile", *(ROOT / ".ci").iterdir()]
    assert not [name_of(p) for p in files if switch in p.read_text()]


def test_every_fragment_says_what_it_needs() -> None:
    fragments = [p for p in TEMPLATES if p.name.startswith("_") or p.parent.name == "stream"]
    assert not [name_of(p) for p in fragments if not re.match(r"{# .+? #}", p.read_text())]


INLINE = {
    "inline script": r"<script(?![^>]*\ssrc=)",
    "inline style": r"<style|\sstyle\s*=",
    "event handler": r"\son[a-z]+\s*=|hx-on\b",
    "evaluated value": r"""["']\s*(js|javascript):""",
    "asset of another site": r"<(script|link|img)\b[^>]*[\"'](https?:)?//",
}


def inline_code() -> Iterator[str]:
    for template in TEMPLATES:
        text = without_comments(template)
        yield from (f"{name_of(template)}: {what}" for what, mark in INLINE.items() if re.search(mark, text))


def test_templates_hold_no_code_that_the_policy_would_refuse() -> None:
    assert not list(inline_code())


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("inline script", "<script>go()</script>"),
        ("inline style", '<p style="color: red">'),
        ("event handler", '<p onclick="go()">'),
        ("event handler", '<p hx-on:click="go()">'),
        ("evaluated value", "<p hx-vals='js:{}'>"),
        ("asset of another site", '<script src="https://cdn.example/x.js">'),
    ],
)
def test_the_marks_of_inline_code_are_found(what: str, text: str) -> None:
    assert re.search(INLINE[what], text)
