"""The index, from checkpoints drawn by hand: which rows it makes, and where a version is edited, replayed, shown."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from branching import index
from branching.exceptions import NoSuchCheckpoint
from branching.models import IndexedCheckpoint, Message, Thread
from tests.branching.test_tree import TWO_TURNS, drawn


@pytest.fixture
def thread(alice: User) -> Thread:
    return Thread.objects.create(owner=alice, assistant="echo")


def record(thread: Thread, picture: str) -> None:
    for checkpoint in drawn(picture):
        index.record(thread.pk, checkpoint)


def message(thread: Thread, text: str) -> Message:
    return Message.objects.get(thread=thread, text=text)


def base(thread: Thread, text: str) -> str:
    return index.base_of(message(thread, text)).checkpoint_id


def tip(thread: Thread, text: str) -> str:
    return index.tip_of(message(thread, text)).checkpoint_id


def test_each_version_is_one_row_under_the_one_before(thread: Thread) -> None:
    record(thread, TWO_TURNS)
    rows = Message.objects.filter(thread=thread).order_by("id")
    assert [(row.text, row.depth, row.parent and row.parent.text) for row in rows] == [
        ("h1", 1, None), ("a1", 2, "h1"), ("h2", 3, "a1"), ("a2", 4, "h2"),
    ]  # fmt: skip


def test_a_checkpoint_that_is_told_of_twice_is_recorded_once(thread: Thread) -> None:
    record(thread, TWO_TURNS)
    record(thread, TWO_TURNS)
    assert (Message.objects.count(), IndexedCheckpoint.objects.count()) == (4, 8)


def test_the_same_message_after_other_messages_is_another_version(thread: Thread) -> None:
    record(thread, TWO_TURNS + "d1 c0 update booking h9 \n d2 d1 loop - h9 a1")
    assert Message.objects.filter(thread=thread, message_id="a1").count() == 2


@pytest.mark.parametrize("changed", ["a1=other", "t1=a1"])
def test_one_id_with_another_text_or_kind_is_another_version(thread: Thread, changed: str) -> None:
    record(thread, TWO_TURNS + f"d1 c2 loop - h1 {changed}")
    assert message(thread, "h1").children.count() == 2


def test_two_threads_share_nothing(thread: Thread, alice: User) -> None:
    other = Thread.objects.create(owner=alice, assistant="echo")
    record(thread, TWO_TURNS)
    record(other, TWO_TURNS)
    assert Message.objects.filter(thread=other, parent__thread=thread).count() == 0
    assert Message.objects.count() == 8


def test_a_message_is_edited_or_replayed_from_before_it_came(thread: Thread) -> None:
    record(thread, TWO_TURNS)
    assert [base(thread, text) for text in ("h1", "a1", "h2", "a2")] == ["c0", "c2", "c4", "c6"]


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_the_base_of_a_replayed_reply_is_that_of_the_first(thread: Thread, copies: int) -> None:
    """LangGraph's copies of the base, be it copies of copies, do not nest the versions."""
    chain = "".join(f"f{n} {f'f{n - 1}' if n > 1 else 'c2'} fork reply h1\n" for n in range(1, copies + 1))
    record(thread, f"{TWO_TURNS}{chain} g f{copies} loop - h1 a9")
    assert base(thread, "a9") == base(thread, "a1") == "c2"


@pytest.mark.parametrize(
    "picture",
    ["f1 c2 fork booking h1", "f1 c2 fork reply h1 a7", "f1 c2 loop reply h1", "f1 gone fork reply h1"],
    ids=["another step next", "another message", "no fork", "an unknown parent"],
)
def test_what_only_looks_like_a_copy_is_not_folded(thread: Thread, picture: str) -> None:
    record(thread, TWO_TURNS + picture)
    assert IndexedCheckpoint.objects.get(checkpoint_id="f1").origin_id == "f1"


def test_a_version_is_shown_at_the_newest_checkpoint_that_ends_in_it(thread: Thread) -> None:
    record(thread, TWO_TURNS + "f1 c2 fork reply h1")
    assert [tip(thread, text) for text in ("h1", "a1", "h2", "a2")] == ["f1", "c3", "c6", "c7"]


def test_an_announcement_is_a_tip_until_what_it_announces_has_come(thread: Thread) -> None:
    """c4 ends in a1 and belongs to h2; e4, under which nothing came, is where a1 was left."""
    record(thread, TWO_TURNS)
    assert tip(thread, "a1") == "c3"
    record(thread, "c3 - loop - h1 a1 \n e4 c3 input __start__ h1 a1")
    assert tip(thread, "a1") == "e4"


def test_several_messages_at_once_are_edited_and_replayed_as_one(thread: Thread) -> None:
    """A node wrote a tool call, its result and an answer in one step: only the last ends a checkpoint, to which one
    comes from each of them."""
    record(thread, "c0 - input __start__ \n c1 c0 loop agent h1 \n c2 c1 loop - h1 a1 t1 a2")
    assert [base(thread, text) for text in ("a1", "t1", "a2")] == ["c1"] * 3
    assert [tip(thread, text) for text in ("a1", "t1", "a2")] == ["c2"] * 3


@pytest.mark.parametrize("known", [0, 1, 5, 30, 600])
def test_many_new_messages_find_their_place(thread: Thread, known: int) -> None:
    """However far from the end the last known message is."""
    names = [f"h{n}" for n in range(700)]
    if known:
        record(thread, "c0 - input - " + " ".join(names[:known]))
    record(thread, "c1 - input - " + " ".join(names))
    rows = Message.objects.filter(thread=thread).order_by("id").values_list("text", "depth")
    assert list(rows) == [(name, at + 1) for at, name in enumerate(names)]


def test_recording_reads_as_much_on_a_long_thread_as_on_a_short_one(thread: Thread) -> None:
    """Queries to record one more reply after 2 and after 400 messages."""
    counts = []
    for length in (2, 400):
        names = " ".join(f"h{n}" for n in range(length))
        record(thread, f"c{length} - input - {names}")
        [_, grown] = drawn(f"c{length} - input - {names} \n d{length} c{length} loop - {names} a")
        with CaptureQueriesContext(connection) as queries:
            index.record(thread.pk, grown)
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 5


def test_a_checkpoint_of_another_thread_is_not_found(thread: Thread, alice: User) -> None:
    record(thread, TWO_TURNS)
    other = Thread.objects.create(owner=alice, assistant="echo")
    for unknown in ("c0", "", None):
        with pytest.raises(NoSuchCheckpoint):
            index.checkpoint_of(other.pk, unknown)
