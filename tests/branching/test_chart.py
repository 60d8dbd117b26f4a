"""The map has every version where it grew, folds what only carries on, and marks what one looks for."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from branching import carrying, chart, check, importing, labels, threads
from branching.database import on_database
from branching.exceptions import BadText, LabelTooLong, NoSuchMessage
from branching.models import Message
from branching.search import find
from tests.branching.conftest import Story, answers, is_token
from tests.branching.models import Scripted
from tests.long import plant

pytestmark = pytest.mark.django_db(transaction=True)


async def drawn(story: Story, **more: object) -> list[str]:
    """Each line as "lane gist k/n", with a star on what is shown."""
    found = await chart.draw(story.thread.pk, **more)
    return [
        f"{spot.place.lane} {spot.gist} {spot.position}/{spot.total}{' *' if spot.on_path else ''}"
        for spot in found.spots
    ]


async def branched(chat: Story) -> None:
    """
    q1 ─┬─ a1 ── q2 ── a2
        ├─ a1'
        └─ a1'' (HEAD)
    """
    answers(chat, Scripted(replies=("a1", "a2", "a1'", "a1''")))
    await chat.send("q1")
    await chat.send("q2")
    await chat.replay(await chat.version(1))
    await chat.replay(await chat.version(1))


async def test_every_version_stands_where_it_grew_each_branch_to_its_end(chat: Story) -> None:
    await branched(chat)
    assert await drawn(chat) == ["0 q1 1/1 *", "2 a1 1/3", "2 q2 1/1", "2 a2 1/1", "1 a1' 2/3", "0 a1'' 3/3 *"]
    found = await chart.draw(chat.thread.pk)
    assert [spot.mark for spot in found.spots] == ["step", "step", "step", "tip", "tip", "head"]
    by_pk = {spot.pk: spot for spot in found.spots}
    assert all(spot.parent is None or by_pk[spot.parent] for spot in found.spots)


async def test_a_long_stretch_is_one_line_until_it_is_unfolded(story: Story) -> None:
    """
    h1 ── a1 ── ... ── h25 ── a25 (HEAD)
    """
    await on_database(plant)(story.thread, 50)
    found = await chart.draw(story.thread.pk)
    assert ([spot.count for spot in found.spots], found.messages) == ([49, 1], 50)
    whole = await chart.draw(story.thread.pk, unfolded=[found.spots[0].pk])
    assert len(whole.spots) == 50 and all(spot.count == 1 for spot in whole.spots)
    story.is_sound = False  # planted in the index alone


async def test_what_is_looked_for_is_found_by_its_words_and_by_its_name_and_is_never_folded(story: Story) -> None:
    await on_database(plant)(story.thread, 50)
    row = await Message.objects.filter(thread=story.thread, kind="ai").order_by("pk").afirst()
    await labels.name(story.thread.pk, message=row.pk, label="  The  French one ")
    found = await chart.draw(story.thread.pk, query="french")
    assert found.hits == [row.pk]
    assert [spot.label for spot in found.spots if spot.is_hit] == ["The French one"]
    by_words = await chart.draw(story.thread.pk, query=f'"{row.text[:20]}"')
    assert row.pk in by_words.hits
    story.is_sound = False


async def test_it_says_what_failed_what_was_stopped_and_what_has_no_reply(chat: Story) -> None:
    await chat.send("/fail")
    failed = await chart.draw(chat.thread.pk)
    assert [spot.state for spot in failed.spots] == ["failed"]
    await (await (await chat.begin("resume")).take(1)).stop()
    answers(chat, Scripted(replies=("one two three four",), token_delay=0.01))
    await chat.edit(await chat.version(0), "q2", answer=False)
    await (await (await chat.begin("resume")).take_until(is_token)).stop()
    await chat.edit(await chat.version(0), "q3", answer=False)
    states = {spot.gist: spot.state for spot in (await chart.draw(chat.thread.pk)).spots}
    assert states["q3"] == "unanswered" and "stopped" in states.values()


async def test_steps_of_tools_that_only_carry_on_are_left_out(chat: Story) -> None:
    concierge = Story(chat.engine, await threads.create(chat.thread.owner, assistant="concierge"))
    await concierge.send("Which hotels are there from 2027-01-05 for 2 nights?")
    found = await chart.draw(concierge.thread.pk)
    assert [spot.kind for spot in found.spots] == ["human", "ai"]
    assert found.messages > 2


async def test_two_thousand_messages_take_the_queries_of_two(story: Story) -> None:
    def counted() -> int:
        with CaptureQueriesContext(connection) as queries:
            chart.draw.func(story.thread.pk)
        return len(queries)

    await story.send("h1")
    few = await on_database(counted)()
    await on_database(plant)(story.thread, 1_000)
    assert await on_database(counted)() == few <= 5
    story.is_sound = False


class TestLabels:
    async def test_a_name_stays_through_a_rebuild_and_travels_with_an_export(self, chat: Story) -> None:
        await branched(chat)
        version = await chat.version(1)
        await labels.name(chat.thread.pk, message=version.pk, label="French")
        await check.rebuild(chat.engine, chat.thread)
        assert (await chat.version(1)).label == "French"
        text = carrying.write([await carrying.take(chat.thread.pk)])
        [made] = await importing.bring(chat.engine, chat.thread.owner, carrying.read(text))
        assert [row.text async for row in made.messages.exclude(label="")] == ["a1''"]
        assert carrying.write([await carrying.take(made.pk)]) == text

    async def test_a_search_finds_it_first(self, chat: Story) -> None:
        await branched(chat)
        await labels.name(chat.thread.pk, message=(await chat.version(1)).pk, label="Bonjour tout le monde")
        found = await find(chat.thread.owner, "bonjour monde")
        assert [(hit.label, hit.on_branch) for hit in found.hits] == [("Bonjour tout le monde", True)]

    async def test_what_can_t_be_is_refused_and_an_empty_one_takes_it_away(self, chat: Story, story: Story) -> None:
        await branched(chat)
        pk = (await chat.version(1)).pk
        await labels.name(chat.thread.pk, message=pk, label="x" * 60)
        for label, error in (("x" * 61, LabelTooLong), ("a\0b", BadText)):
            with pytest.raises(error):
                await labels.name(chat.thread.pk, message=pk, label=label)
        with pytest.raises(NoSuchMessage):
            await labels.name(story.thread.pk, message=pk, label="x")
        assert (await chat.version(1)).label == "x" * 60
        await labels.name(chat.thread.pk, message=pk, label=" ")
        assert (await chat.version(1)).label == ""
