"""What tells two versions of a message apart is marked, word by word where that can be done."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from branching import comparing
from branching.exceptions import NoSuchMessage
from tests.branching.conftest import Story, answers
from tests.branching.models import Scripted


def marked(parts: tuple[comparing.Part, ...]) -> str:
    return "".join(f"[{text}]" if is_other else text for text, is_other in parts)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a red fox", "a blue fox", ("a [red ]fox", "a [blue ]fox")),
        ("same", "same", ("same", "same")),
        ("你好世界", "你好，新世界", ("你好世界", "你好[，新]世界")),
        ("", "all new", ("", "[all new]")),
        ("one. two.", "one! two.", ("one[. ]two.", "one[! ]two.")),
    ],
)
def test_words_are_marked_that_the_other_has_not(old: str, new: str, expected: tuple[str, str]) -> None:
    old_parts, new_parts, level = comparing.apart(old, new)
    assert (marked(old_parts), marked(new_parts), level) == (*expected, "words")


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_the_pieces_of_each_are_its_text_and_what_is_not_marked_is_the_same(old: str, new: str) -> None:
    olds, news, _ = comparing.apart(old, new)
    assert ("".join(text for text, _ in olds), "".join(text for text, _ in news)) == (old, new)
    assert "".join(text for text, other in olds if not other) == "".join(text for text, other in news if not other)


def test_long_texts_are_compared_by_lines_and_very_long_ones_not_at_all() -> None:
    lines = [f"line {number} of a long text\n" for number in range(2_000)]
    other = [*lines[:1_000], "another line\n", *lines[1_000:]]
    olds, news, level = comparing.apart("".join(lines), "".join(other))
    assert level == "lines" and [text for text, is_other in news if is_other] == ["another line\n"]
    assert not any(is_other for _, is_other in olds)
    assert comparing.apart("x\n" * 20_000, "y\n" * 20_000)[2] == "nothing"


@pytest.mark.django_db(transaction=True)
async def test_a_version_stands_beside_its_neighbour_or_the_one_that_is_picked(chat: Story) -> None:
    """
    q1 ─┬─ a1
        ├─ a2
        └─ a3 (HEAD)
    """
    answers(chat, Scripted(replies=("a1", "a2", "a3")))
    await chat.send("q1")
    await chat.replay(await chat.version(1))
    await chat.replay(await chat.version(1))
    shown = (await chat.version(1)).pk
    found = await comparing.compare(chat.thread.pk, shown)
    assert (found.old.text, found.new.text, len(found.siblings)) == ("a2", "a3", 3)
    picked = await comparing.compare(chat.thread.pk, shown, found.siblings[0])
    assert (picked.old.text, picked.new.text) == ("a1", "a3")
    assert (await comparing.compare(chat.thread.pk, found.siblings[0])).new.text == "a2"
    only = (await chat.version(0)).pk
    for one, other in ((only, None), (shown, only), (shown, shown), (shown, 10**9), (10**9, None)):
        with pytest.raises(NoSuchMessage):
            await comparing.compare(chat.thread.pk, one, other)
