"""The composition root: the saver, the models and the graphs of this process, made when first needed."""

from __future__ import annotations

from functools import cache

from django.conf import settings

from branching import llm
from branching.engine import Engine
from branching.saver import DjangoSaver


@cache
def get() -> Engine:
    """The engine of this process."""
    models = llm.open_models(
        chat_model=settings.CHAT_MODEL,
        others=settings.CHAT_MODELS,
        base_url=settings.CHAT_MODEL_BASE_URL,
        token_delay=settings.CHAT_TOKEN_DELAY_MS / 1000,
        context_tokens=settings.CHAT_CONTEXT_TOKENS,
        timeout=settings.CHAT_TIMEOUT,
        retries=settings.CHAT_RETRIES,
    )
    return Engine(DjangoSaver(), models, plays=settings.QA_SCENARIOS)
