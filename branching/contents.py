"""What a model's message holds beside its text: reasoning, parts that are no text, and what it has cost in tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata

from branching.types import Content

HIDDEN = ("text", "reasoning", "tool_call", "tool_call_chunk", "invalid_tool_call", "server_tool_call_chunk")
"""Kinds of blocks that are shown as something else, or are not for a person."""


def reasoning_of(message: BaseMessage) -> str:
    """What the model thought before it spoke, where its provider tells."""
    if not isinstance(message, AIMessage):
        return ""
    told = message.additional_kwargs.get("reasoning_content")
    if isinstance(message.content, str):
        return told if isinstance(told, str) else ""
    blocks = message.content_blocks
    return "\n\n".join(block.get("reasoning", "") for block in blocks if block["type"] == "reasoning").strip()


def parts_of(message: BaseMessage) -> list[dict[str, str]]:
    """The parts that are no text: the kind of each (image, audio, file, ...), and its name or MIME type."""
    if isinstance(message.content, str):
        return []
    found = [block for block in message.content_blocks if block["type"] not in HIDDEN]
    return [{"kind": str(block["type"]), "name": _name_of(block)} for block in found]


def _name_of(block: Mapping[str, Any]) -> str:
    extras = block.get("extras") or {}
    return str(block.get("name") or extras.get("filename") or block.get("mime_type") or "")


def usage_of(message: BaseMessage) -> dict[str, int]:
    """The tokens that were read and written for it, of those read how many came from a cache, and of those written how
    many were reasoning. Empty where the provider does not tell; a count of nothing is left out."""
    usage = getattr(message, "usage_metadata", None)
    if not usage:
        return {}
    found = {
        "input": usage["input_tokens"],
        "output": usage["output_tokens"],
        "cached": (usage.get("input_token_details") or {}).get("cache_read"),
        "reasoning": (usage.get("output_token_details") or {}).get("reasoning"),
    }
    return {name: int(count) for name, count in found.items() if count}


def message_of(content: Content) -> BaseMessage:
    """The message that `history.content_of` reads as this content, as far as that is told by `text` and `data`."""
    data = content.data
    body = data.get("blocks", content.text)
    if content.kind == "human":
        return HumanMessage(body, id=content.id, name=data.get("name"))
    if content.kind == "tool":
        named = {"name": data.get("name"), "status": data.get("status", "success")}
        return ToolMessage(body, id=content.id, tool_call_id=data.get("tool_call_id", ""), **named)
    reasoning = data.get("reasoning") if isinstance(body, str) else None
    extras = {"stopped": data.get("stopped"), "reasoning_content": reasoning}
    told = {"model_name": data.get("model"), "left_out": data.get("left_out"), "settings": data.get("settings")}
    return AIMessage(
        body,
        id=content.id,
        name=data.get("name"),
        tool_calls=data.get("tool_calls", []),
        additional_kwargs={key: value for key, value in extras.items() if value},
        response_metadata={key: value for key, value in told.items() if value},
        usage_metadata=_usage(data["usage"]) if data.get("usage") else None,
    )


def _usage(counts: Mapping[str, int]) -> UsageMetadata:
    read, written = counts.get("input", 0), counts.get("output", 0)
    return UsageMetadata(
        input_tokens=read,
        output_tokens=written,
        total_tokens=read + written,
        input_token_details={"cache_read": counts.get("cached", 0)},
        output_token_details={"reasoning": counts.get("reasoning", 0)},
    )
