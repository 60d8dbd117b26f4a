"""What a model's message holds beside its text, and what it has cost."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from branching import contents, prices

THOUGHT = [{"type": "reasoning", "reasoning": "First this."}, {"type": "reasoning", "reasoning": "Then that."}]


@pytest.mark.parametrize(
    ("message", "reasoning"),
    [
        (AIMessage("yes"), ""),
        (AIMessage([*THOUGHT, {"type": "text", "text": "yes"}]), "First this.\n\nThen that."),
        (AIMessage("yes", additional_kwargs={"reasoning_content": "Because."}), "Because."),
        (AIMessage("yes", additional_kwargs={"reasoning_content": None}), ""),
        (HumanMessage("why?", additional_kwargs={"reasoning_content": "no"}), ""),
    ],
)
def test_reasoning_is_found_where_providers_put_it(message: Any, reasoning: str) -> None:
    assert contents.reasoning_of(message) == reasoning


def test_reasoning_is_no_part_of_the_text() -> None:
    assert AIMessage([*THOUGHT, {"type": "text", "text": "yes"}]).text == "yes"


@pytest.mark.parametrize(
    ("block", "part"),
    [
        ({"type": "image", "base64": "aGk=", "mime_type": "image/png"}, {"kind": "image", "name": "image/png"}),
        ({"type": "image", "url": "https://evil.example/x.png"}, {"kind": "image", "name": ""}),
        ({"type": "file", "file_id": "f", "extras": {"filename": "a.pdf"}}, {"kind": "file", "name": "a.pdf"}),
    ],
)
def test_parts_that_are_no_text_are_named(block: dict[str, Any], part: dict[str, str]) -> None:
    message = AIMessage([{"type": "text", "text": "Look:"}, block])
    assert (message.text, contents.parts_of(message)) == ("Look:", [part])


def test_usage_is_told_as_far_as_it_is_known() -> None:
    whole = {
        "input_tokens": 400,
        "output_tokens": 90,
        "total_tokens": 490,
        "input_token_details": {"cache_read": 300},
        "output_token_details": {"reasoning": 40},
    }
    plain = {"input_tokens": 4, "output_tokens": 0, "total_tokens": 4}
    assert contents.usage_of(AIMessage("", usage_metadata=whole)) == {
        "input": 400,
        "output": 90,
        "cached": 300,
        "reasoning": 40,
    }
    assert contents.usage_of(AIMessage("", usage_metadata=plain)) == {"input": 4}
    assert contents.usage_of(AIMessage("")) == contents.usage_of(ToolMessage("", tool_call_id="c")) == {}


def test_a_cost_is_known_only_where_somebody_has_said_the_price() -> None:
    known = prices.parse("gpt-5=1.25/10, gpt-5-mini=0.25/2 USD")
    usage = {"input": 1_000_000, "output": 100_000}
    assert known.cost("gpt-5-2025-08-07", usage) == Decimal("2.25")
    assert known.cost("gpt-5-mini", usage) == Decimal("0.45")
    assert known.cost("claude", usage) is known.cost("gpt-5", {}) is prices.parse("").cost("gpt-5", usage) is None


@pytest.mark.parametrize("text", ["gpt-5", "gpt-5=1/2", "gpt-5=1 USD", "gpt-5=a/b USD", "=1/2 USD", "gpt-5=1/2,, USD"])
def test_prices_that_cannot_be_read_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="prices are written like"):
        prices.parse(text)
