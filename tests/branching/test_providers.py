"""Whole turns with a provider across a real socket: what it does wrong, what its tools do, and what it is sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from langchain_core.messages import AIMessage, HumanMessage

from branching import llm, threads
from branching.assistants.concierge import clock
from branching.engine import Engine
from branching.saver import DjangoSaver
from branching.types import Token
from tests.branching.conftest import Story, ending
from tests.branching.desk import NO, TODAY, YES, Guest
from tests.wire import Answer, Call, Provider

pytestmark = pytest.mark.django_db(transaction=True)

SEARCH = Call("search_hotels", json.dumps({"city": "Xi'an", "check_in": "2026-12-05", "nights": 2}))
STAY = {"check_in": "2026-12-05", "nights": 2}
SUITE = Call("book_hotel", json.dumps({"hotel_id": "bell-tower", "room_type": "suite", **STAY}), id="call_2")
ROOM = Call("book_hotel", json.dumps({"hotel_id": "city-wall", "room_type": "standard", **STAY}), id="call_3")
USAGE = {"prompt_tokens": 41, "completion_tokens": 7, "total_tokens": 48}
WHOLE = "Streamed in pieces."


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Provider.serving() as server:
        yield server


def engine_for(provider: Provider, **options: Any) -> Engine:
    given = {"timeout": 5.0, "retries": 0, **options}
    models = llm.open_models(chat_model="openai:tiny", base_url=provider.url, token_delay=0, **given)
    return Engine(DjangoSaver(), models)


async def chat_of(alice: User, provider: Provider, **options: Any) -> Story:
    return Story(engine_for(provider, **options), await threads.create(alice, assistant="chat"))


@pytest.fixture
async def guest(alice: User, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Guest:
    monkeypatch.setattr(clock, "today", lambda: TODAY)
    return Guest(engine_for(provider), await threads.create(alice, assistant="concierge"))


# Faults


@pytest.mark.parametrize(
    ("answer", "code", "partial"),
    [
        (Answer(status=401), "auth", ""),
        (Answer(status=429), "rate", ""),
        (Answer(status=500), "model", ""),
        (Answer(cut_after=2), "network", "Streamed in"),
        (Answer(garbled=True), "model", "Streamed"),
        (Answer(silent=1.5), "timeout", "Streamed"),
        (Answer(silent=1.5, breathes=True), "timeout", "Streamed"),
    ],
    ids=["401", "429", "500", "cut", "garbled", "slow", "alive"],
)
async def test_a_fault_is_named_what_was_said_is_kept_and_retry_answers_once(
    alice: User, provider: Provider, answer: Answer, code: str, partial: str
) -> None:
    story = await chat_of(alice, provider, timeout=0.5 if answer.silent else 20)
    provider.answers = [answer, answer, Answer()]
    await story.send("hello")
    await story.resume()
    view = await story.view()
    assert (view.open_reply.state, view.open_reply.error, view.open_reply.text) == ("failed", code, partial)
    await story.resume()
    assert await story.screen() == ["hello", WHOLE]
    assert not await story.findings()


@pytest.mark.parametrize("answer", [Answer(status=429, headers={"Retry-After": "0.1"}), Answer(status=503)])
async def test_a_provider_that_is_busy_for_a_moment_is_asked_again_by_itself(
    alice: User, provider: Provider, answer: Answer
) -> None:
    story = await chat_of(alice, provider, retries=2)
    provider.answers = [answer, Answer()]
    assert ending(await story.send("hello")) == "done"
    assert (len(provider.requests), await story.screen()) == (2, ["hello", WHOLE])


async def test_a_provider_that_asks_for_too_much_patience_is_not_waited_for(alice: User, provider: Provider) -> None:
    story = await chat_of(alice, provider, retries=2)
    provider.answers = [Answer(status=429, headers={"Retry-After": "500"}), Answer()]
    assert ending(await story.send("hello")) == "failed"
    assert (len(provider.requests), (await story.view()).open_reply.error) == (1, "rate")


async def test_a_provider_may_be_silent_for_as_long_as_the_setting_says(
    alice: User, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its package has a limit of its own, 120 seconds, for the silence between two pieces."""
    monkeypatch.setenv("LANGCHAIN_OPENAI_STREAM_CHUNK_TIMEOUT_S", "0.2")
    story = await chat_of(alice, provider)
    provider.answers = [Answer(silent=0.8)]
    assert ending(await story.send("hello")) == "done"
    assert await story.screen() == ["hello", WHOLE]


async def test_reasoning_is_not_sent_back_to_the_provider(provider: Provider) -> None:
    model = engine_for(provider).models.chat
    blocks: Any = [{"type": "reasoning", "reasoning": "thought", "index": 0}, {"type": "text", "text": "Yes."}]
    told = AIMessage("No.", additional_kwargs={"reasoning_content": "thought"})
    await llm.reply(model, [HumanMessage("a"), AIMessage(blocks), HumanMessage("b"), told, HumanMessage("c")])
    assert "thought" not in json.dumps(provider.requests)


async def test_what_has_begun_to_stream_is_not_asked_for_again_by_itself(alice: User, provider: Provider) -> None:
    """A second answer would begin anew behind the text that is on screen."""
    story = await chat_of(alice, provider, retries=2)
    provider.answers = [Answer(cut_after=2), Answer()]
    assert ending(await story.send("hello")) == "failed"
    assert len(provider.requests) == 1


async def test_each_version_knows_its_model_and_its_tokens(alice: User, provider: Provider) -> None:
    story = await chat_of(alice, provider)
    provider.answers = [Answer(usage=USAGE)]
    await story.send("hello")
    reply = await story.version(1)
    assert (reply.data["model"], reply.data["usage"]) == ("tiny-1", {"input": 41, "output": 7})
    assert provider.requests[0]["stream_options"] == {"include_usage": True}


# Tools


async def test_a_model_searches_books_with_leave_and_tells(guest: Guest, provider: Provider) -> None:
    provider.answers = [Answer(("Let me see. ",), [SEARCH]), Answer((), [SUITE]), Answer(("It is booked.",))]
    assert ending(await guest.send("the suite, please")) == "waiting"
    await guest.answer(YES)
    assert await guest.bookings() == ["suite bell-tower 2"]
    assert [version.kind for version in (await guest.view()).versions] == ["human", "ai", "tool", "ai", "tool", "ai"]
    roles = [message["role"] for message in provider.requests[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "tool"]
    assert {tool["function"]["name"] for tool in provider.requests[0]["tools"]} == {
        "search_hotels",
        "book_hotel",
        "cancel_booking",
        "get_weather",
    }


async def test_parallel_calls_are_asked_together_and_answered_apart(guest: Guest, provider: Provider) -> None:
    provider.answers = [Answer((), [SEARCH]), Answer((), [SUITE, ROOM]), Answer(("Done.",))]
    await guest.send("both")
    await guest.answer(YES)
    await guest.answer(NO)
    assert await guest.bookings() == ["suite bell-tower 2"]
    assert (await guest.view()).versions[-1].text == "Done."


async def test_a_call_that_is_no_json_is_refused_by_its_tool_and_the_model_may_try_again(
    guest: Guest, provider: Provider
) -> None:
    broken = Call("search_hotels", '{"city": "Xi\'an", "check_in": ')
    provider.answers = [Answer((), [broken]), Answer((), [SEARCH]), Answer(("Found.",))]
    assert ending(await guest.send("hotels")) == "done"
    first, second = [version.step for version in (await guest.view()).versions if version.step]
    assert first.failed and "bad_arguments" in first.result and not second.failed


async def test_a_hotel_that_no_search_returned_is_not_booked_whatever_the_model_calls(
    guest: Guest, provider: Provider
) -> None:
    provider.answers = [Answer((), [SUITE]), Answer(("I am sorry.",))]
    assert ending(await guest.send("book it")) == "done"
    assert "not_seen" in (await guest.view()).versions[2].text and await guest.bookings() == []


async def test_a_tool_that_nobody_has_gets_a_result_too(guest: Guest, provider: Provider) -> None:
    provider.answers = [Answer((), [Call("buy_plane", "{}")]), Answer(("I can't.",))]
    assert ending(await guest.send("a plane")) == "done"
    assert "unknown_tool" in (await guest.view()).versions[2].text


async def test_case_50_every_way_on_from_an_open_call_is_taken_by_a_strict_provider(
    guest: Guest, provider: Provider
) -> None:
    """A message instead of an answer, an edit, Regenerate, again from a step: each time the provider gets a
    conversation in which every call has its result."""
    provider.answers = [Answer((), [SEARCH]), Answer((), [SUITE]), Answer(("So be it.",))]
    await guest.send("the suite")
    assert ending(await guest.send("what is the weather?")) == "done"
    search = (await guest.view()).versions[2]
    assert ending(await guest.replay(search, whole=False)) == "done"
    provider.answers = [Answer((), [SEARCH]), Answer(("Anew.",))]
    assert ending(await guest.replay(search)) == "done"
    assert ending(await guest.edit((await guest.view()).versions[0], "the other suite")) == "done"
    assert not await guest.findings()


async def test_stopped_in_mid_answer_the_conversation_still_goes_on(guest: Guest, provider: Provider) -> None:
    provider.answers = [Answer((), [SEARCH]), Answer(), Answer(("Next.",))]
    provider.may_go_on.clear()
    reply = await guest.begin("send", text="hotels")
    await reply.take_until(lambda event: isinstance(event, Token))
    events = await asyncio.wait_for(reply.stop(), timeout=5)
    provider.may_go_on.set()
    assert ending(events) == "stopped"
    assert ending(await guest.send("and now?")) == "done"
