"""The composition root: the saver, the models and the graphs of this process, opened when first needed."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from weakref import WeakKeyDictionary

from django.conf import settings

from branching import llm
from branching.checkpointer import open_saver
from branching.engine import Engine

_open: WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[asyncio.Task[Engine], AsyncExitStack]] = WeakKeyDictionary()
"""By event loop, since a saver belongs to the loop that first used it. A server has one; tests have many."""


async def get() -> Engine:
    """The engine of this process."""
    loop = asyncio.get_running_loop()
    if loop not in _open:
        stack = AsyncExitStack()
        _open[loop] = loop.create_task(_build(stack)), stack
    opening, _ = _open[loop]
    return await asyncio.shield(opening)


async def close() -> None:
    """Close what this process has opened. Its runs must have ended: see `runner.close`."""
    if opened := _open.pop(asyncio.get_running_loop(), None):
        await opened[1].aclose()


async def _build(stack: AsyncExitStack) -> Engine:
    return Engine(
        saver=await stack.enter_async_context(open_saver(settings.CHAT_CHECKPOINTS_PATH)),
        models=llm.open_models(
            chat_model=settings.CHAT_MODEL,
            base_url=settings.CHAT_MODEL_BASE_URL,
            token_delay=settings.CHAT_TOKEN_DELAY_MS / 1000,
        ),
    )
