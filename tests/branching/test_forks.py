"""Forks with a changed state: at any checkpoint, as any node, checked field by field. Case 29, and 75 of the log."""

from __future__ import annotations

from typing import Any

import pytest

from branching import check, forks, history, travel
from branching.exceptions import BadFork, HeadMoved, NoStart, NoSuchCheckpoint, RunInProgress
from branching.forks import Choice, Update
from branching.models import HeadMove, IndexedCheckpoint, Run, StoredCheckpoint, StoredWrites
from tests.branching.conftest import Story, ending
from tests.branching.desk import SUITE, YES, Guest, guest
from tests.branching.test_chains import TWO_TURNS, chain, drawn

pytestmark = pytest.mark.django_db(transaction=True)

__all__ = ["guest"]

CHEAP = 500


async def fork(story: Story, checkpoint_id: str, *updates: Update, **more: Any) -> bool:
    """As a page would give it."""
    page = {"head_version": (await story.view()).head_version, **more}
    return await travel.fork(story.engine, story.thread.pk, checkpoint_id=checkpoint_id, updates=updates, **page)


async def problems(story: Story, checkpoint_id: str, *updates: Update) -> dict[str, str]:
    """Why it is refused; that nothing has come of it."""
    before = await rows(story)
    with pytest.raises(BadFork) as refused:
        await fork(story, checkpoint_id, *updates)
    assert await rows(story) == before
    return refused.value.problems


async def rows(story: Story) -> tuple[Any, ...]:
    models = (IndexedCheckpoint, StoredCheckpoint, StoredWrites, Run, HeadMove)
    return (await story.view()).head, *[await model.objects.acount() for model in models]


async def checkpoints(story: Story) -> list[str]:
    """The ids, oldest first."""
    graph = story.engine.graph(story.thread.assistant)
    return [each.id for each in await history.read_all(graph, story.thread.pk)][::-1]


def says(text: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"type": "human", "content": text, **more}]}


async def two_turns(story: Story) -> list[str]:
    await story.send("h1")
    await story.send("h2")
    return await checkpoints(story)


# The chains, on Echo


async def test_at_the_first_input_as_booking_it_makes_one_and_running_it_one_more(story: Story) -> None:
    ids = await two_turns(story)
    assert await fork(story, ids[0], Update("booking", says("h1'")))
    added = ["8 update 0 reply 0"]
    assert await chain(story) == drawn(TWO_TURNS) + added
    assert await story.screen() == ["h1' 2/2", "[missing]"]
    await story.resume()
    assert await chain(story) == drawn(TWO_TURNS) + [*added, "9 loop 1 - 8"]
    assert await story.screen() == ["h1' 2/2", "回复：h1'"]


async def test_as_reply_nothing_comes_next_and_the_outlook_says_so_before(story: Story) -> None:
    ids = await two_turns(story)
    before = await rows(story)
    found = await forks.choices(story.engine, story.thread, ids[2], says("more"))
    assert found == (
        Choice("__start__", ("booking",)), Choice("booking", ("reply",)), Choice("reply", ()),
    )  # fmt: skip
    assert [each.is_dead_end for each in found] == [False, False, True]
    assert await rows(story) == before, "it was only looked at"
    await fork(story, ids[2], Update("reply", says("more")))
    assert (await chain(story))[-1] == "8 update 2 - 2"
    assert (await story.view()).open_reply is None


async def test_case_29_a_reply_replaced_in_place_leaves_what_followed_it_in_its_own_version(story: Story) -> None:
    """
    h1 ── a1 ── h2 ── a2
       └─ a1=other
    """
    ids = await two_turns(story)
    old = await story.screen()
    reply = (await story.version(1)).message_id
    await fork(story, ids[3], Update("reply", {"messages": [{"type": "ai", "id": reply, "content": "other"}]}))
    assert await story.screen() == ["h1", "other 2/2"]
    view = await story.switch((await story.version(1)).previous)
    assert [version.text for version in view.versions] == old
    assert (await story.version(1)).message_id == reply


async def test_a_message_replaced_in_the_middle_takes_what_follows_along(story: Story) -> None:
    """What was answered to it can't be regenerated there: no step ends just before."""
    ids = await two_turns(story)
    first = (await story.version(0)).message_id
    await fork(story, ids[-1], Update("reply", says("h1'", id=first)))
    assert await story.screen() == ["h1' 2/2", "回复：h1", "h2", "回复：h2"]
    for at, command in ((1, story.replay), (3, story.replay)):
        with pytest.raises(NoStart):
            await command(await story.version(at))
    with pytest.raises(NoStart):
        await story.edit(await story.version(2), "h2'")
    await story.edit(await story.version(0), "h1''")
    assert await story.screen() == ["h1'' 3/3", "回复：h1''"]


async def test_a_reply_replaced_in_place_is_regenerated_from_the_step_before_it(story: Story) -> None:
    ids = await two_turns(story)
    reply = (await story.version(1)).message_id
    await fork(story, ids[3], Update("reply", {"messages": [{"type": "ai", "id": reply, "content": "other"}]}))
    await story.replay(await story.version(1))
    assert await story.screen() == ["h1", "回复：h1 3/3"]


async def test_a_message_is_removed(story: Story) -> None:
    ids = await two_turns(story)
    last = (await story.version(3)).message_id
    await fork(story, ids[-1], Update("booking", {"messages": [{"type": "remove", "id": last}]}))
    assert await story.screen() == ["h1", "回复：h1", "h2", "[missing 2/2]"]
    await story.resume()
    assert await story.screen() == ["h1", "回复：h1", "h2", "回复：h2 2/2"]


async def test_two_nodes_write_one_checkpoint(story: Story) -> None:
    """`bulk_update_state`: what follows both of them is next."""
    ids = await two_turns(story)
    await fork(story, ids[3], Update("__start__", says("one")), Update("booking", says("two")))
    assert (await chain(story))[-1] == "8 update 3 booking,reply 3"
    assert (await story.screen())[-3:] == ["one 2/2", "two", "[missing]"]


async def test_undo_takes_it_back_and_it_stays_under_its_arrows(story: Story) -> None:
    ids = await two_turns(story)
    before = await story.screen()
    await fork(story, ids[4], Update("__start__", says("h2'")))
    await story.undo()
    assert await story.screen() == [*before[:2], "h2 1/2", *before[3:]]


async def test_case_75_it_is_found_by_its_run(story: Story) -> None:
    ids = await two_turns(story)
    await fork(story, ids[0], Update("booking", says("h1'")), key="k")
    run = await Run.objects.aget(kind="fork")
    [found] = await history.of_run(story.engine.graph("echo"), story.thread.pk, run.pk)
    assert (run.status, run.base, run.tip, found.id) == ("done", ids[0], (await story.view()).head, run.tip)


# What is refused


async def test_a_key_forks_once_and_a_stale_page_not_at_all(story: Story) -> None:
    ids = await two_turns(story)
    update = Update("booking", says("h1'"))
    page = (await story.view()).head_version
    assert await fork(story, ids[0], update, key="k")
    assert not await fork(story, ids[0], update, key="k")
    with pytest.raises(HeadMoved):
        await fork(story, ids[0], update, head_version=page)
    assert len(await checkpoints(story)) == 9


async def test_not_while_a_run_is_under_way(story: Story) -> None:
    ids = await two_turns(story)
    reply = await (await story.begin("send", text="h3")).take(2)
    with pytest.raises(RunInProgress):
        await fork(story, ids[0], Update("booking", says("h1'")))
    await reply.finish()


async def test_a_checkpoint_that_is_missing_is_an_error_and_never_an_empty_state(story: Story, chat: Story) -> None:
    await two_turns(story)
    await chat.send("q1")
    for wrong in ("no such", (await chat.view()).head):
        with pytest.raises(NoSuchCheckpoint):
            await fork(story, wrong, Update("booking", says("x")))
        with pytest.raises(NoSuchCheckpoint):
            await forks.choices(story.engine, story.thread, wrong)


@pytest.mark.parametrize(
    "name", ["next", "tasks", "config", "metadata", "checkpoint_id", "__start__", "branch:to:reply"]
)
async def test_what_follows_from_the_run_is_no_field(story: Story, name: str) -> None:
    ids = await two_turns(story)
    found = await problems(story, ids[0], Update("booking", {name: ["reply"], "colour": 1}))
    assert found[name].startswith("This follows from how the graph has run")
    assert found["colour"].startswith("The state of this assistant has no such field. It has: messages.")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("hello", "Messages are a list"),
        ([7], "Message 1: its type"),
        ([{"type": "system", "content": "x"}], "Message 1: its type"),
        ([{"type": "human", "content": "x"}, {"type": "human"}], "Message 2: its content has to be a text"),
        ([{"type": "human", "content": "x", "id": "elsewhere"}], "Message 1: there is none with the id elsewhere"),
        ([{"type": "human", "content": "x", "tool_calls": []}], "Message 1: it can't have tool_calls"),
        ([{"type": "remove"}], "Message 1: say by its id"),
        ([{"type": "remove", "id": "__remove_all__"}], "Message 1: there is none"),
        ([{"type": "ai", "content": "", "tool_calls": [{"name": "x"}]}], "Message 1: tool calls are a list"),
        ([{"type": "human", "content": "a\0b"}], "This text holds characters"),
        ([{"type": "human", "content": "\ud800"}], "This text holds characters"),
        ([{"type": "human", "content": "x" * 100_001}], "This text is too long"),
    ],
)
async def test_messages_are_judged_one_by_one(story: Story, given: Any, said: str) -> None:
    ids = await two_turns(story)
    assert (await problems(story, ids[3], Update("booking", {"messages": given})))["messages"].startswith(said)


async def test_a_node_that_the_graph_does_not_have(story: Story) -> None:
    ids = await two_turns(story)
    for node in ("nobody", "__copy__", "__end__", "__input__", ""):
        assert await problems(story, ids[3], Update(node, {})) == {"as_node": f"This assistant has no node “{node}”."}
    assert await problems(story, ids[3]) == {"as_node": "Say as which node to write."}


# At the concierge's desk


SEARCH = "Hotels from 2026-12-05 for 2 nights"


async def due(guest: Guest, node: str) -> str:
    """The first checkpoint at which this node is to run."""
    rows = IndexedCheckpoint.objects.filter(thread=guest.thread, next=[node])
    return (await rows.order_by("id").afirst()).checkpoint_id


async def test_another_budget_at_an_old_checkpoint_leads_to_another_offer(guest: Guest) -> None:
    """Both before the agent speaks and after it has called the search."""
    await guest.send(SEARCH)
    await guest.send("thanks")
    dear = (await guest.state())["seen_hotel_ids"]
    for node, checkpoint_id in (("__start__", await due(guest, "agent")), ("agent", await due(guest, "tools"))):
        await fork(guest, checkpoint_id, Update(node, {"budget": CHEAP}))
        assert ending(await guest.resume()) == "done"
        state = await guest.state()
        assert state["budget"] == CHEAP
        assert set(state["seen_hotel_ids"]) < set(dear)
    assert [version.total for version in (await guest.view()).versions] == [1, 2, 2, 1]


async def test_another_date_in_the_same_message_is_what_is_searched_for(guest: Guest) -> None:
    await guest.send(SEARCH)
    said = (await guest.version(0)).message_id
    later = says(SEARCH.replace("12-05", "12-12"), id=said)
    await fork(guest, await due(guest, "agent"), Update("__start__", later))
    assert ending(await guest.resume()) == "done"
    view = await guest.view()
    assert (view.versions[0].position, view.versions[0].message_id) == (2, said)
    assert view.versions[1].data["tool_calls"][0]["args"]["check_in"] == "2026-12-12"


async def test_fields_are_judged_by_their_types(guest: Guest) -> None:
    await guest.send(SEARCH)
    here = await due(guest, "agent")
    found = await problems(guest, here, Update("__start__", {
        "budget": "much", "seen_hotel_ids": ["a", 7], "orders": [], "warnings": {"a": float(2**70)},
    }))  # fmt: skip
    assert found == {
        "budget": "This is no int | None: Input should be a valid integer.",
        "seen_hotel_ids": "This is no list[str]: [1] Input should be a valid string.",
        "orders": "This is no dict[str, Any]: Input should be a valid dictionary.",
        "warnings": "This number is too large.",
    }
    assert "budget" in await problems(guest, here, Update("__start__", {"budget": True}))


async def test_reducers_put_values_together_and_a_plain_field_takes_the_new_one(guest: Guest) -> None:
    await guest.send(SEARCH)
    head, seen = (await guest.view()).head, (await guest.state())["seen_hotel_ids"]
    await fork(guest, head, Update("agent", {"seen_hotel_ids": ["mine"], "budget": CHEAP}))
    state = await guest.state()
    assert (state["seen_hotel_ids"], state["budget"]) == ([*seen, "mine"], CHEAP)
    assert {field.name: field.is_merged for field in forks.fields(guest.engine.graph("concierge"))} == {
        "messages": True, "seen_hotel_ids": True, "orders": True, "budget": False, "warnings": True,
    }  # fmt: skip
    both = [Update("agent", {"budget": 1}), Update("tools", {"budget": 2})]
    assert "one value per step" in (await problems(guest, head, *both))["as_node"]


async def test_a_call_is_never_left_without_its_result(guest: Guest) -> None:
    """At a question: as `agent` the tools still come next; as anything else the call would stay open."""
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    found = await forks.choices(guest.engine, guest.thread, asked.checkpoint_id, {"budget": CHEAP})
    assert {each.node: each.next for each in found} == {"__start__": (), "agent": ("tools",), "tools": ()}
    assert all("would have no result" in each.problems["messages"] for each in found if each.node != "agent")
    view = await guest.view()
    call = next(v for v in view.versions if v.kind == "ai")
    await problems(
        guest, asked.checkpoint_id, Update("agent", {"messages": [{"type": "remove", "id": call.message_id}]})
    )
    stray = {"type": "tool", "content": "x", "tool_call_id": "nobody"}
    assert (
        "is not there"
        in (await problems(guest, asked.checkpoint_id, Update("tools", {"messages": [stray]})))["messages"]
    )


async def test_a_result_by_hand_goes_on_and_leaves_the_question_on_its_own_version(guest: Guest) -> None:
    """F24; and what is written there is nobody's answer to what waits on the old branch."""
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    call = asked.payload["call"]
    result = {
        "type": "tool",
        "content": "Not today.",
        "tool_call_id": call,
        "name": "book_hotel",
        "status": "error",
    }
    await fork(guest, asked.checkpoint_id, Update("tools", {"messages": [result]}))
    assert ending(await guest.resume()) == "done"
    assert await guest.bookings() == []
    await guest.go(asked.checkpoint_id)
    assert await guest.waiting() == (asked,)
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2"]


async def test_a_fork_at_a_question_asks_on_its_own_branch(guest: Guest) -> None:
    await guest.send(SUITE)
    [asked] = await guest.waiting()
    await fork(guest, asked.checkpoint_id, Update("agent", {"budget": CHEAP}))
    assert ending(await guest.resume()) == "waiting"
    [anew] = await guest.waiting()
    assert anew.interrupt_id != asked.interrupt_id
    await guest.answer(YES)
    assert (await guest.state())["warnings"] == ["over_budget"]
    assert await guest.bookings() == ["suite bell-tower 2"]
    assert not await check.check(guest.engine, guest.thread)
