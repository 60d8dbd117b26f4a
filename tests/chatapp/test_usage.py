"""What the page says of a model's reply beside its text."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, BaseMessage

from branching import prices
from chatapp import engine
from tests.branching.models import Scripted, models_with
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)

USAGE = {"input_tokens": 1_000, "output_tokens": 200, "total_tokens": 1_200}
EVIL = "<img src=x onerror=alert(1)>"
THOUGHT = {"type": "reasoning", "reasoning": f"Let me think. {EVIL}", "index": 0}


class Thoughtful(Scripted):
    """Thinks before it speaks, shows a picture, and knows what it has taken."""

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str | AIMessageChunk]:
        picture: Any = {"type": "image", "url": "https://evil.example/x.png", "index": 2}
        yield AIMessageChunk([THOUGHT])
        yield AIMessageChunk([{"type": "text", "text": "The answer.", "index": 1}, picture], usage_metadata=USAGE)


async def page(tab: Tab) -> str:
    return (await tab.client.get(tab.url)).content.decode()


async def test_reasoning_is_folded_above_the_reply_and_pictures_are_named_and_not_loaded(chat: Tab) -> None:
    engine.get().models = models_with(Thoughtful())
    await chat.send("hello")
    html = await page(chat)
    assert (await chat.texts()) == ["hello", "The answer."]
    assert "data-reasoning" in html and "Let me think." in html and EVIL not in html
    assert "evil.example" not in html.partition("data-reasoning")[2].partition("<footer")[0]
    assert 'data-source="The answer."' in html, "what is copied is the reply alone"


async def test_the_tokens_of_a_reply_stand_beside_it_and_its_cost_where_the_price_is_known(
    chat: Tab, settings: Any
) -> None:
    engine.get().models = models_with(Thoughtful())
    await chat.send("hello")
    assert "1000 → 200 tokens</span>" in await page(chat)
    settings.CHAT_PRICES = prices.parse("scripted=2/10 EUR")
    assert "· 0.0040 EUR" in await page(chat)


async def test_a_reply_whose_tokens_nobody_told_says_nothing(chat: Tab) -> None:
    await chat.send("hello")
    assert "data-usage" not in await page(chat)
