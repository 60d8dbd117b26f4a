"""Excerpts: what a message says, in one line, without the marks it is written with."""

from __future__ import annotations

import pytest

from chatapp.excerpt import plain


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("You wrote “x”: **branch**.\n\n## How branches work", "You wrote “x”: branch. How branches work"),
        ("> Say it\n> - in *French*, `now`", "Say it in French, now"),
        ("```python\nx = 1\n```\nDone", "x = 1 Done"),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a b 1 2"),
        ("- one\n- [two](https://example.com/)\n\n---\nend", "one two end"),
        ("![a picture](x.png) and ~~gone~~", "a picture and gone"),
        ("**cut off in the mid", "cut off in the mid"),
        ("Mine. *cut off in the *soft* mid", "Mine. cut off in the soft mid"),
        ("2 * 3 * 4, snake_case_name, #5, a-b, x > y", "2 * 3 * 4, snake_case_name, #5, a-b, x > y"),
        ("1. first\n2. second", "1. first 2. second"),
        ("这是**重点**。\n\n> 引用", "这是重点。 引用"),
        ("", ""),
    ],
)
def test_an_excerpt_says_what_the_message_says(text: str, says: str) -> None:
    assert plain(text) == says
