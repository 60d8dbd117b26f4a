"""What replies cost, where somebody has said what their model costs. Nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

PRICE = re.compile(r"([^=,\s]+)=(\d+(?:\.\d+)?)/(\d+(?:\.\d+)?)")
MILLION = Decimal(1_000_000)


@dataclass(frozen=True)
class Prices:
    """The prices of models, each by the beginning of its name."""

    currency: str = ""
    of: Mapping[str, tuple[Decimal, Decimal]] = field(default_factory=dict)
    """For a million tokens: read, and written."""

    def cost(self, model: str, usage: Mapping[str, int]) -> Decimal | None:
        """What a reply with this usage has cost, in `currency`; None where the price of its model is not known."""
        names = [name for name in self.of if model.startswith(name)]
        if not usage or not names:
            return None
        read, written = self.of[max(names, key=len)]
        return (usage.get("input", 0) * read + usage.get("output", 0) * written) / MILLION


def parse(text: str) -> Prices:
    """The prices that a text like "gpt-5=1.25/10, gpt-5-mini=0.25/2 USD" tells: for a million tokens, read and written.

    Raises `ValueError` for what it can't be read as.
    """
    if not text.strip():
        return Prices()
    listed, _space, currency = text.strip().rpartition(" ")
    parts = [part.strip() for part in listed.split(",")]
    found = [PRICE.fullmatch(part) for part in parts]
    if not all(found) or not currency.isalpha():
        raise ValueError("prices are written like gpt-5=1.25/10,gpt-5-mini=0.25/2 USD")
    return Prices(currency, {match[1]: (Decimal(match[2]), Decimal(match[3])) for match in found if match})
