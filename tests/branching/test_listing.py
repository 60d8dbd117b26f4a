"""The list of all checkpoints says what the history says, and ends nowhere unnoticed."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from branching import history, listing
from branching.database import on_database
from branching.exceptions import NoSuchCheckpoint
from branching.listing import Sieve
from branching.models import IndexedCheckpoint
from branching.types import ListedCheckpoint
from tests.branching.conftest import Story, answers
from tests.branching.models import Scripted

pytestmark = pytest.mark.django_db(transaction=True)


async def branched(story: Story) -> None:
    """
    h1 ── a1 ── h2 ── a2
       └─ a1'
    """
    await story.send("h1")
    await story.send("h2 " * 100)
    await story.replay(await story.version(1))


async def test_it_agrees_with_the_history(story: Story) -> None:
    await branched(story)
    listed = await listing.checkpoints(story.thread.pk)
    saved = await history.read_all(story.engine.graph("echo"), story.thread.pk)
    assert [
        (each.id, each.parent_id, each.source, each.step, tuple(each.next), each.depth or 0) for each in listed
    ] == [(each.id, each.parent_id, each.source, each.step, each.next, len(each.messages)) for each in saved]
    gists = [each.messages[-1].text[: listing.GIST] if each.messages else None for each in saved]
    assert [each.gist for each in listed] == gists
    assert {each.run_kind for each in listed} == {"send", "replay"}


async def test_case_67_page_by_page_it_is_the_same_list(story: Story) -> None:
    await branched(story)
    whole = await listing.checkpoints(story.thread.pk)
    pages: list[ListedCheckpoint] = []
    while page := await listing.checkpoints(story.thread.pk, before=pages[-1].id if pages else None, limit=3):
        pages += page
    assert pages == whole


async def test_case_67_a_thousand_checkpoints_are_one_query(story: Story) -> None:
    await story.send("h1")
    await on_database(multiply)(story, 1_000)
    listed, queries = await on_database(counted)(story)
    assert (listed, queries) == (await IndexedCheckpoint.objects.acount(), 1)
    story.is_sound = False  # these checkpoints stand in the index alone


def multiply(story: Story, count: int) -> None:
    row = IndexedCheckpoint.objects.filter(thread=story.thread).latest("id")
    copies = [IndexedCheckpoint(**{**values(row), "checkpoint_id": str(uuid4())}) for _ in range(count)]
    IndexedCheckpoint.objects.bulk_create(copies)


def values(row: IndexedCheckpoint) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields if not field.primary_key}


def counted(story: Story) -> tuple[int, int]:
    with CaptureQueriesContext(connection) as queries:
        found = listing.checkpoints.func(story.thread.pk)
    return len(found), len(queries)


async def test_what_is_of_another_thread_is_no_place_to_go_on_from(story: Story, chat: Story) -> None:
    await story.send("h1")
    await chat.send("q1")
    with pytest.raises(NoSuchCheckpoint):
        await listing.checkpoints(story.thread.pk, before=(await chat.view()).head)


async def test_it_marks_head_and_what_head_grew_from(story: Story) -> None:
    """One that is not on the way is told from the others, and where the ways end too."""
    await branched(story)
    head = (await story.view()).head
    listed = {each.id: each for each in await listing.checkpoints(story.thread.pk)}
    way, at = set(), head
    while at:
        way.add(at)
        at = listed[at].parent_id
    assert {each.id for each in listed.values() if each.on_path} == way < set(listed)
    assert [each.id for each in listed.values() if each.is_head] == [head]
    assert sorted(each.gist for each in listed.values() if each.is_tip) == ["回复：h1", ("回复：" + "h2 " * 100)[:120]]
    assert {each.by for each in listed.values()} == {"alice"}


async def test_case_75_it_is_sifted_by_source_node_run_and_branch(story: Story) -> None:
    await branched(story)
    whole = await listing.checkpoints(story.thread.pk)
    run = whole[0].run_id
    for sieve, fits in (
        (Sieve(source="fork"), lambda each: each.source == "fork"),
        (Sieve(node="reply"), lambda each: "reply" in each.next),
        (Sieve(node="repl"), lambda each: False),
        (Sieve(run=run), lambda each: each.run_id == run),
        (Sieve(on_path=True), lambda each: each.on_path),
        (Sieve(source="loop", node="booking", on_path=True), lambda each: each == whole[-2]),
    ):
        assert await listing.checkpoints(story.thread.pk, sieve=sieve) == [each for each in whole if fits(each)]


async def test_a_failed_run_marks_where_it_failed(chat: Story) -> None:
    answers(chat, Scripted(replies=(("so far", ValueError("as planned")),)))
    await chat.send("q1")
    assert [each.has_failed for each in await listing.checkpoints(chat.thread.pk)] == [True, False]
