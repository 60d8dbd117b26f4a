"""The weather in Xi'an: made up from the date, so that it is the same whenever one asks."""

from __future__ import annotations

from datetime import date
from typing import Any

SKIES = ("sunny", "cloudy", "hazy", "light rain", "clear", "overcast", "windy")
SNOW = "light snow"
# Means of the months, in degrees Celsius.
MEANS = (0, 4, 9, 16, 21, 26, 27, 26, 20, 14, 7, 1)


def on(day: date) -> dict[str, Any]:
    """What the day is like."""
    number = day.toordinal() * 2_654_435_761 % 2**32
    mean = MEANS[day.month - 1] + number % 7 - 3
    sky = SKIES[number // 7 % len(SKIES)]
    if sky == "light rain" and mean < 2:
        sky = SNOW
    return {"date": day.isoformat(), "sky": sky, "low": mean - 5, "high": mean + 5}
