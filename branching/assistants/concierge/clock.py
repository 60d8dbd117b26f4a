"""What day it is for the concierge. Tests set it."""

from __future__ import annotations

from datetime import date

from django.utils import timezone


def today() -> date:
    """Today, in the app's time zone."""
    return timezone.localdate()
