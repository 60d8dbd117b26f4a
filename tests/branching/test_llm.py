"""Opening models by name; the demo model; and the whole way to a provider, over a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langgraph.graph.state import CompiledStateGraph
from pydantic import PrivateAttr

from branching import assistants, failures, llm
from branching.demo_model import DemoModel, reply_to
from branching.demo_texts import CHINESE, ENGLISH
from branching.exceptions import ModelUnavailable
from branching.local_model import LocalModel, pieces
from tests.wire import Answer, Provider


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the developer's own environment: neither keys nor proxies."""
    for names in llm.KEYS.values():
        for name in names:
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def opened(chat_model: str = "", base_url: str = "") -> llm.Models:
    return llm.open_models(chat_model=chat_model, base_url=base_url, token_delay=0)


# Opening


def test_without_a_name_it_is_the_demo_model() -> None:
    models = opened()
    assert models.is_demo and not models.problem
    assert str(models.label) == "Demo model"


def test_a_named_model_is_called_as_it_is_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    models = opened("openai:gpt-5")
    assert (models.label, models.is_demo, models.problem) == ("openai:gpt-5", False, "")


def test_a_local_server_needs_no_key() -> None:
    assert not opened("openai:any", "http://127.0.0.1:1/v1").problem


@pytest.mark.parametrize(
    ("chat_model", "words"),
    [
        ("openai:gpt-5", ("openai:gpt-5", "OPENAI_API_KEY")),
        ("anthropic:claude", ("anthropic:claude", "pip install langchain-anthropic")),
        ("ollama:llama3:8b", ("ollama:llama3:8b", "pip install langchain-ollama")),
        ("google-vertexai:gemini", ("pip install langchain-google-vertexai",)),
        ("nobody:model", ("nobody:model", "provider:model")),
        ("gpt-5", ("gpt-5", "provider:model")),
        ("ollama:", ("ollama:", "provider:model")),
        (":", ("provider:model",)),
    ],
)
def test_what_is_missing_is_said_and_no_error_raised(chat_model: str, words: tuple[str, ...]) -> None:
    problem = str(opened(chat_model).problem)
    assert all(word in problem for word in words)


def test_a_missing_key_is_named_also_where_the_provider_s_package_does_not_mind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(llm, "init_chat_model", lambda *args, **options: DemoModel())
    assert "ANTHROPIC_API_KEY" in str(opened("anthropic:claude").problem)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a-key")
    assert not opened("anthropic:claude").problem


def test_a_model_that_refuses_its_options_is_a_problem_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(llm, "init_chat_model", refuse)
    problem = str(opened("ollama:llama").problem)
    assert "RuntimeError" in problem and "secret" not in problem


@pytest.mark.parametrize(
    ("chat_model", "timeout", "retries"),
    [
        ("openai:any", 600, 0),
        ("anthropic:any", 600, 0),
        ("openrouter:any", 600_000, 0),
        ("google_genai:any", 600, 1),
        ("ollama:any", None, None),
    ],
)
def test_each_package_is_told_the_limits_in_its_own_measure(
    monkeypatch: pytest.MonkeyPatch, chat_model: str, timeout: int | None, retries: int | None
) -> None:
    """OpenRouter's counts milliseconds, and Google's the first request too."""
    given: dict[str, Any] = {}
    monkeypatch.setattr(llm, "init_chat_model", lambda *args, **options: given.update(options) or DemoModel())
    llm.open_models(chat_model=chat_model, base_url="", token_delay=0, timeout=600, retries=0)
    assert (given.get("timeout"), given.get("max_retries")) == (timeout, retries)


async def test_a_model_with_a_problem_fails_when_it_is_called_and_says_why() -> None:
    models = opened("openai:gpt-5")
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY") as caught:
        await models.chat.ainvoke("hello")
    assert failures.code_of(caught.value) == "unavailable"


def test_a_local_model_can_be_called_synchronously_too() -> None:
    assert opened().chat.invoke("hello").text == reply_to([HumanMessage("hello")], attempt=0)


@pytest.mark.parametrize(
    "text", ["", "one", " one  two\n\n three ", "你好，世界！再见", "a" * 100, "😀 b\t", "| a |\n|---|"]
)
def test_pieces_are_small_and_lose_nothing(text: str) -> None:
    assert "".join(pieces(text)) == text
    assert all(len(piece.strip()) <= 12 for piece in pieces(text))


class Waiting(LocalModel):
    """Waits for its piece as the providers' packages do, then says no more."""

    model: str = "waiting"
    _piece: asyncio.Future[str] = PrivateAttr()

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        self._piece = asyncio.get_running_loop().create_future()
        yield await asyncio.wait_for(self._piece, timeout=60)
        await asyncio.Event().wait()


async def test_a_cancel_that_arrives_together_with_a_piece_is_not_lost() -> None:
    model = Waiting()
    run = asyncio.create_task(llm.reply(model, said("hello")))
    await asyncio.sleep(0.1)
    model._piece.set_result("a piece")
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, timeout=1)


# The demo model

QUESTIONS = ["hello", "How do branches work?", "Plan a trip to Lisbon", "a python function", "compare tea and coffee"]
QUESTIONS += [
    "a list of ideas",
    "Why is the sky blue?",
    "你好",
    "分支怎么用？",
    "为什么天空是蓝色的？",
    "/help",
    "/long 50",
]


def said(*texts: str) -> list[BaseMessage]:
    """A conversation: the person and the model in turn."""
    return [(AIMessage if number % 2 else HumanMessage)(text) for number, text in enumerate(texts)]


@pytest.mark.parametrize("question", QUESTIONS)
def test_twenty_attempts_are_twenty_texts_and_the_same_ones_every_time(question: str) -> None:
    texts = [reply_to(said(question), attempt=attempt) for attempt in range(20)]
    assert len(set(texts)) == 20
    assert texts == [reply_to(said(question), attempt=attempt) for attempt in range(20)]


def test_the_wording_is_the_same_in_every_process() -> None:
    """Python's own `hash` of a text differs between processes; this one must not."""
    assert reply_to(said("hello"), attempt=0).splitlines()[2] == "A short answer first, then the details."


@pytest.mark.parametrize("phrases", [ENGLISH, CHINESE])
def test_the_numbers_of_phrases_share_no_divisor(phrases: Any) -> None:
    assert (len(phrases.openings), len(phrases.closings)) == (5, 7)
    assert {len(texts) for texts in phrases.topics.values()} == {3}
    assert set(phrases.keywords) | {"explanation"} == set(phrases.topics)


@pytest.mark.parametrize(
    ("question", "topic"),
    [
        ("Hi there", "greeting"),
        ("how do I undo a branch?", "branching"),
        ("Plan a trip to Porto", "travel"),
        ("write some Python code", "code"),
        ("compare cats with dogs", "table"),
        ("ideas for a rainy day", "list"),
        ("Why is the sky blue?", "explanation"),
        ("谢谢", "greeting"),
        ("写一个函数", "code"),
        ("比较猫和狗", "table"),
        ("天空为什么是蓝色的", "explanation"),
    ],
)
def test_an_answer_fits_the_topic_and_the_language(question: str, topic: str) -> None:
    phrases = CHINESE if question[-1] > "\u3000" else ENGLISH
    reply = reply_to(said(question), attempt=0)
    firsts = [text.split("{")[0].strip().splitlines()[0] for text in phrases.topics[topic]]
    assert any(first in reply for first in firsts)


def test_an_answer_quotes_the_question_as_plain_text_on_one_line() -> None:
    reply = reply_to(said("<b>**bold**</b>\n| a `b`"), attempt=0)
    assert r"\<b\>\*\*bold\*\*\</b\> \| a \`b\`" in reply


def test_a_later_answer_knows_what_is_on_its_branch_and_nothing_else() -> None:
    reply = reply_to(said("one", "first", "two", "second", "three"), attempt=0)
    assert "Message 3 on this branch" in reply and "“two”" in reply and "“one”" not in reply


def test_a_command_is_answered_in_the_language_of_the_conversation() -> None:
    assert CHINESE.help.splitlines()[0] in reply_to(said("你好", "……", "/help"), attempt=0)
    assert ENGLISH.help.splitlines()[0] in reply_to(said("/help"), attempt=0)


def test_only_its_own_commands_are_commands() -> None:
    assert ENGLISH.help.splitlines()[0] not in reply_to(said("/helpful people"), attempt=0)
    assert ENGLISH.help.splitlines()[0] not in reply_to(said("What does /help do?"), attempt=0)


@pytest.mark.parametrize(("asked", "least", "most"), [("/long 300", 250, 350), ("/long", 500, 700), ("/long 0", 1, 60)])
def test_long_answers_have_about_as_many_words_as_asked(asked: str, least: int, most: int) -> None:
    assert least <= len(reply_to(said(asked), attempt=0).split()) <= most


def test_a_long_answer_has_a_limit() -> None:
    assert len(reply_to(said("/long 999999999"), attempt=0).split()) < 21_000
    assert len(reply_to(said("/long " + "9" * 5000), attempt=0).split()) < 1_000


async def outcome(model: DemoModel, messages: list[BaseMessage]) -> tuple[str, str]:
    """The text a call streamed, and the code of the failure it ended in."""
    text = ""
    try:
        async for chunk in model.astream(messages):
            text += chunk.text
    except Exception as error:
        return text, failures.code_of(error)
    return text, ""


@pytest.mark.parametrize(
    ("asked", "code", "began"),
    [
        ("/fail", "model", True),
        ("/fail auth", "auth", False),
        ("/fail rate", "rate", False),
        ("/fail network", "network", True),
        ("/fail timeout", "timeout", True),
        ("/fail anyhow", "model", True),
    ],
)
async def test_fail_fails_at_every_try(asked: str, code: str, began: bool) -> None:
    model = DemoModel()
    for _try in range(3):
        text, failed = await outcome(model, said(asked))
        assert (failed, bool(text)) == (code, began)
        assert len(text.split()) < 10


async def test_fail_with_a_number_answers_after_so_many_failures_of_that_message() -> None:
    model, first, other = DemoModel(), [HumanMessage("/fail 2", id="1")], [HumanMessage("/fail 2", id="2")]
    assert [(await outcome(model, first))[1] for _try in range(4)] == ["model", "model", "", ""]
    assert (await outcome(model, other))[1] == "model"
    assert ENGLISH.recovered in (await outcome(model, first))[0]


async def test_slow_waits_before_the_first_token() -> None:
    loop = asyncio.get_running_loop()
    began = loop.time()
    async for _chunk in DemoModel(pause=0.2).astream(said("/slow")):
        assert loop.time() - began >= 0.2
        break


# The way to a provider that speaks OpenAI's protocol


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider.serving() as server:
        yield server


def chat(base_url: str) -> CompiledStateGraph:
    models = opened("openai:tiny", base_url)
    assert not models.problem
    return assistants.get("chat").build(models).compile()


async def test_a_provider_s_reply_streams_as_it_is_written(provider: Provider) -> None:
    """The server says the rest only after its first word has come out of the graph."""
    provider.may_go_on.clear()
    texts = []
    stream = chat(provider.url).astream({"messages": said("hello")}, stream_mode=["messages"], version="v2")
    async for part in stream:
        message, _metadata = part["data"]
        if isinstance(message, AIMessageChunk) and message.text:
            texts.append(message.text)
            provider.may_go_on.set()
    assert texts == ["Streamed", " in", " pieces", "."]
    (request,) = provider.requests
    assert (request["path"], request["model"], request["stream"]) == ("/v1/chat/completions", "tiny", True)
    assert request["messages"] == [{"role": "user", "content": "hello"}]


async def test_a_provider_that_repeats_its_ids_still_makes_different_messages(provider: Provider) -> None:
    graph = chat(provider.url)
    replies = [(await graph.ainvoke({"messages": said("hello")}))["messages"][-1] for _run in range(2)]
    assert [reply.text for reply in replies] == ["Streamed in pieces."] * 2
    assert len({reply.id for reply in replies}) == 2
    assert all("chatcmpl" not in reply.id for reply in replies)
    assert replies[0].response_metadata["model_name"] == "tiny-1"


async def test_the_key_goes_to_the_provider(provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    await chat(provider.url).ainvoke({"messages": said("hello")})
    assert provider.requests[0]["key"] == "Bearer a-key"


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (401, {"code": "invalid_api_key"}, "auth"),
        (403, {}, "auth"),
        (404, {"code": "model_not_found"}, "unavailable"),
        (429, {"code": "rate_limit_exceeded"}, "rate"),
        (429, {"code": "insufficient_quota"}, "rate"),
        (400, {"code": "context_length_exceeded", "message": "context_length_exceeded"}, "context"),
        (400, {"message": "bad"}, "model"),
        (500, {}, "model"),
        (504, {}, "timeout"),
    ],
)
async def test_what_a_provider_refuses_is_named(
    provider: Provider, status: int, error: dict[str, str], code: str
) -> None:
    provider.answers = [Answer(status=status, error=error, headers={"X-Should-Retry": "false"})]
    with pytest.raises(Exception) as caught:
        await chat(provider.url).ainvoke({"messages": said("hello")})
    assert failures.code_of(caught.value) == code


async def test_a_closed_port_is_a_matter_of_the_network(provider: Provider) -> None:
    url = provider.url
    provider.server_close()
    with pytest.raises(Exception) as caught:
        await chat(url).ainvoke({"messages": said("hello")})
    assert failures.code_of(caught.value) == "network"


async def test_a_connection_that_breaks_in_mid_reply_is_a_matter_of_the_network(provider: Provider) -> None:
    provider.answers = [Answer(cut_after=1)]
    with pytest.raises(Exception) as caught:
        await chat(provider.url).ainvoke({"messages": said("hello")})
    assert failures.code_of(caught.value) == "network"


async def test_a_run_on_a_silent_provider_can_be_cancelled(provider: Provider) -> None:
    provider.may_go_on.clear()
    run = asyncio.create_task(chat(provider.url).ainvoke({"messages": said("hello")}))
    await asyncio.to_thread(provider.was_asked.wait, 5)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, timeout=1)
