"""A page read without a browser: its elements, its forms, its messages, and what the socket makes of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import NamedTuple, Self

EMPTY = ("br", "hr", "img", "input", "link", "meta")
TARGET = "hx-target"


@dataclass(eq=False)
class Element:
    """An HTML element; among its children, pieces of text are plain strings."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

    def __getitem__(self, name: str) -> str:
        return self.attributes[name]

    def get(self, name: str) -> str:
        return self.attributes.get(name, "")

    @property
    def text(self) -> str:
        """All text in it, blanks and all."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, fits: Callable[[Element], bool]) -> Iterator[Element]:
        """The elements below that fit, in the order of the page."""
        for child in self.children:
            if isinstance(child, Element):
                if fits(child):
                    yield child
                yield from child.all(fits)

    def with_(self, *names: str, tag: str = "") -> list[Element]:
        """The elements below that carry these attributes."""
        return list(self.all(lambda e: (not tag or e.tag == tag) and all(name in e.attributes for name in names)))

    def by_id(self, name: str) -> Element | None:
        return next(self.all(lambda e: e.get("id") == name), None)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in EMPTY:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in EMPTY:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        while len(self.open) > 1 and self.open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(html: str) -> Element:
    """The page, or a piece of one."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return parser.root


class Row(NamedTuple):
    """One message on screen."""

    id: str
    role: str
    state: str
    text: str


class Form(NamedTuple):
    """A command that the page offers: where it goes, and the fields it carries."""

    url: str
    fields: dict[str, str]

    @classmethod
    def of(cls, form: Element) -> Self:
        fields = {each["name"]: each.get("value") for each in form.with_("name", tag="input")}
        return cls(form["action"], fields)


@dataclass
class Screen:
    """What one tab shows of its thread: a page, and the frames of its socket on top."""

    transcript: Element = field(default_factory=lambda: Element(""))
    state: Element = field(default_factory=lambda: Element(""))
    frames: int = 0
    size: int = 0
    """Of all frames, in bytes."""

    def show(self, page: Element) -> None:
        """Begin with this page."""
        self.transcript, self.state = page.by_id("transcript"), page.by_id("composer-state")

    def hear(self, frame: str) -> None:
        """Take a frame in as the page does."""
        self.frames, self.size = self.frames + 1, self.size + len(frame.encode())
        for partial in parse(frame).all(lambda element: element.tag == "hx-partial"):
            target = partial.get(TARGET).removeprefix("#")
            if target == "transcript":
                self.transcript = partial.by_id("transcript")
            elif target == "composer-state":
                self.state = partial.by_id("composer-state")
            elif target.startswith("live-"):
                self._grow(target, [each for each in partial.children if isinstance(each, Element)])

    def _grow(self, target: str, blocks: list[Element]) -> None:
        reply, number = re.fullmatch(r"(\S+) > :nth-child\((\d+)\)", target).groups()
        content = self.transcript.by_id(reply)
        assert content, f"a frame for {reply}, which is not on the page"
        shown = [each for each in content.children if isinstance(each, Element)]
        assert int(number) <= len(shown), f"a frame for block {number} of {reply}, which has {len(shown)}"
        content.children = [*shown[: int(number) - 1], *blocks]

    @property
    def run_state(self) -> str:
        return self.transcript.get("data-run-state")

    @property
    def rows(self) -> list[Row]:
        """The messages, top to bottom."""
        return [
            Row(each["data-message-id"], each["data-role"], each["data-state"], _content(each))
            for each in self.transcript.with_("data-message-id", tag="article")
        ]

    @property
    def texts(self) -> list[str]:
        return [row.text for row in self.rows]

    def forms(self, action: str) -> list[Form]:
        """The forms whose button is for `action` and can be pressed."""
        found = [*self.transcript.with_("action", tag="form")]
        return [Form.of(form) for form in found if _offers(form, action)]

    @property
    def stop_url(self) -> str | None:
        """Where Stop goes, while it is offered."""
        stop = next((e for e in self.state.with_("formaction") if e.get("data-action") == "stop"), None)
        return stop["formaction"] if stop else None

    @property
    def fields(self) -> dict[str, str]:
        """What the composer sends beside its text."""
        return {each["name"]: each.get("value") for each in self.state.with_("name", tag="input")}


def _content(article: Element) -> str:
    return "".join(each.text for each in article.with_("data-content")[:1]).strip()


def _offers(form: Element, action: str) -> bool:
    buttons = form.with_("data-action", tag="button")
    return any(each["data-action"] == action and "disabled" not in each.attributes for each in buttons)
