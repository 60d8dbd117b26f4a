"""How long things take."""

from __future__ import annotations

import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

Action = Callable[[], Awaitable[Any]]


async def seconds(action: Action) -> float:
    """The time of the action."""
    start = time.perf_counter()
    await action()
    return time.perf_counter() - start


async def median(action: Action, times: int = 11) -> float:
    """The median of its times."""
    return statistics.median([await seconds(action) for _ in range(times)])
