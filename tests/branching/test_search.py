"""What was said is found on whichever branch it was said; and nobody finds what is someone else's."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection

from branching import fulltext, search, threads
from branching.models import Message
from branching.search import Found
from tests.branching.conftest import Story

pytestmark = pytest.mark.django_db(transaction=True)


def texts(found: Found) -> list[str]:
    return ["".join(text for text, _ in hit.pieces) for hit in found.hits]


def marked(found: Found) -> list[list[str]]:
    return [[text for text, is_found in hit.pieces if is_found] for hit in found.hits]


async def test_words_are_found_newest_first_in_any_case_of_letters(story: Story, alice: User) -> None:
    await story.send("The tides of Xi'an")
    await story.send("nothing of the kind")
    await story.send("More TIDES")
    found = await search.find(alice, "tides")
    assert texts(found) == ["回复：More TIDES", "More TIDES", "回复：The tides of Xi'an", "The tides of Xi'an"]
    assert marked(found)[:2] == [["TIDES"], ["TIDES"]]


async def test_all_words_have_to_be_there_and_phrases_as_they_stand(story: Story, alice: User) -> None:
    await story.send("red boats and blue sails")
    assert len((await search.find(alice, "sails red")).hits) == 2
    assert not (await search.find(alice, "sails green")).hits
    assert len((await search.find(alice, '"blue sails"')).hits) == 2
    assert not (await search.find(alice, '"red sails"')).hits


@pytest.mark.parametrize("query", ["酒店", "套房", "钟", "的套"])
async def test_short_words_in_chinese_are_found(story: Story, alice: User, query: str) -> None:
    await story.send("预订钟楼酒店的套房")
    assert len((await search.find(alice, query)).hits) == 2


@pytest.mark.parametrize("query", ["", "  ", '""', '"'])
async def test_nothing_finds_nothing(story: Story, alice: User, query: str) -> None:
    await story.send("h1")
    assert not (await search.find(alice, query)).hits


@pytest.mark.parametrize("query", ["100%", "a_b", "it's", 'say "', "NEAR(a", "a OR b", "* -x", "col:x", "back\\slash"])
async def test_no_sign_has_a_meaning_of_its_own(story: Story, alice: User, query: str) -> None:
    await story.send(f"here {query} there")
    await story.send("here 1000 aXb there")
    found = await search.find(alice, query)
    assert {"here" in text and "1000" not in text for text in texts(found)} == {True}


async def test_a_hit_says_whether_it_is_on_the_version_that_is_shown(story: Story, alice: User) -> None:
    """old ── reply (left)
    new ── reply (HEAD)
    """
    await story.send("a boat, old")
    await story.edit((await story.view()).versions[0], "a boat, new")
    found = await search.find(alice, "boat")
    assert [hit.on_branch for hit in found.hits] == [True, True, False, False]
    await story.switch(found.hits[3].message)
    assert [hit.on_branch for hit in (await search.find(alice, "boat")).hits] == [False, False, True, True]


async def test_what_is_someone_elses_is_not_found(story: Story, alice: User, bob: User) -> None:
    await story.send("a secret boat")
    assert not (await search.find(bob, "boat")).hits


async def test_pages_follow_each_other_without_a_gap(
    story: Story, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "ON_A_PAGE", 3)
    for number in range(4):
        await story.send(f"boat {number}")
    found, pages = Found((), 0), []
    while found.before is not None:
        found = await search.find(alice, "boat", before=found.before or None)
        pages.append(len(found.hits))
    assert pages == [3, 3, 2]


async def test_what_is_deleted_is_not_found_any_more(story: Story, alice: User) -> None:
    other = Story(story.engine, await threads.create(alice, assistant="echo"))
    await other.send("a boat")
    await threads.delete(other.thread.pk)
    assert not (await search.find(alice, "boat")).hits


async def test_a_long_text_is_shown_around_what_was_found(story: Story, alice: User) -> None:
    await story.send("x " * 300 + "the boat" + " y" * 300)
    [_reply, hit] = (await search.find(alice, "boat")).hits
    text = "".join(piece for piece, _ in hit.pieces)
    assert text.startswith("… ") and text.endswith(" …") and "the boat" in text and len(text) < 250


def test_the_index_is_made_anew_with_all_that_was_said(alice: User) -> None:
    """As after a migration that has made the table anew, which SQLite does without its triggers."""
    from branching.models import Thread

    thread = Thread.objects.create(owner=alice, assistant="echo")
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            for name in ("TABLE branching_words", "TRIGGER branching_words_added", "TRIGGER branching_words_gone"):
                cursor.execute(f"DROP {name}")
    Message.objects.create(thread=thread, message_id="m", path="p", depth=1, kind="human", text="an early boat")
    fulltext.prepare()
    rows = Message.objects.filter(thread=thread)
    assert fulltext.matching(rows, ["early"]).count() == 1
    Message.objects.create(thread=thread, message_id="n", path="q", depth=1, kind="human", text="a later boat")
    assert fulltext.matching(rows, ["boat"]).count() == 2
    rows.filter(message_id="n").update(text="a later ship")
    assert (fulltext.matching(rows, ["boat"]).count(), fulltext.matching(rows, ["ship"]).count()) == (1, 1)
    rows.delete()
    assert fulltext.matching(Message.objects.all(), ["boat"]).count() == 0


async def test_pinned_ones_come_first_and_archived_ones_are_kept_elsewhere(alice: User) -> None:
    first, second, third = [await threads.create(alice, assistant="echo") for _ in range(3)]
    await threads.keep(first.pk, pinned=True)
    assert await threads.of(alice) == [first, third, second]
    await threads.keep(first.pk, archived=True)
    assert (await threads.of(alice), await threads.of(alice, archived=True)) == ([third, second], [first])
    await threads.keep(first.pk, archived=False)
    assert await threads.of(alice) == [third, second, first], "what was put away is not pinned any more"
