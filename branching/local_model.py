"""The base of the models that run in this process: they write their own text, yet stream like a hosted model."""

from __future__ import annotations

import asyncio
import re
from abc import abstractmethod
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import agenerate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult

# A word with the blanks before it, or two ideographs: about what hosted models send at a time.
PIECE = re.compile(r"\s*[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]{1,2}|\s*[^\s\u3000-\u30ff\u3400-\u9fff]{1,12}|\s+")

IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")
"""What tells a text in Chinese, for models that know two languages."""


def pieces(text: str) -> list[str]:
    """The text cut into small parts; joined they are the text again."""
    return PIECE.findall(text)


class LocalModel(BaseChatModel):
    """A chat model without a provider. Subclasses say in `write` what it answers."""

    model: str
    token_delay: float = 0.0
    """Seconds between two pieces."""

    @abstractmethod
    def write(self, messages: list[BaseMessage]) -> AsyncIterator[str | AIMessageChunk]:
        """The reply, piece by piece: text, or a whole chunk where it calls tools. It may raise, and may be cancelled
        wherever it awaits."""

    async def paced(self, text: str) -> AsyncIterator[str]:
        """The pieces of a text at this model's pace."""
        for piece in pieces(text):
            await asyncio.sleep(self.token_delay)
            yield piece

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        # Only the first chunk names the model: merging chunks joins their strings.
        metadata = {"model_name": self.model}
        async for piece in self.write(messages):
            chunk = AIMessageChunk(content=piece) if isinstance(piece, str) else piece
            chunk.response_metadata = metadata
            yield ChatGenerationChunk(message=chunk)
            metadata = {}

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return asyncio.run(self._agenerate(messages))

    @property
    def _llm_type(self) -> str:
        return self.model

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model}
