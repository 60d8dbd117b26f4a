"""The bounds of the domain, in one place; plain numbers that settings may read too."""

from __future__ import annotations

from datetime import timedelta

MESSAGE_MAX = 100_000
"""Characters in one human message."""

TITLE_MAX = 60
"""Characters of the first message that become a thread's title."""

LABEL_MAX = 60
"""Characters in the name of a version."""

INSTRUCTIONS_MAX = 4_000
"""Characters that a model can be told beforehand: each reply notes them."""

UNDO_FOR = timedelta(hours=1)
"""How long a deleted version can be brought back at least: it is removed when somebody comes by after that."""

LEASE = timedelta(seconds=15)
"""How long a run may go without a sign of life from its process before it counts as lost."""

RECURSION_LIMIT = 50
"""Supersteps in one run. LangGraph's own default is 10,007."""
