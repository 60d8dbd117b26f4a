"""Days as people write them, in English and Chinese, turned into ISO dates within their text."""

from __future__ import annotations

import re
from datetime import date, timedelta

MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october")
MONTHS += ("november", "december")
NAME = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
ISO = re.compile(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
CHINESE = re.compile(r"(?:(\d{4})\s*年\s*)?(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]?")
MONTH_FIRST = re.compile(rf"\b{NAME} (\d{{1,2}})(?:st|nd|rd|th)?(?:,? (\d{{4}}))?\b", re.I)
DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{NAME}(?: (\d{{4}}))?\b", re.I)
RELATIVE = {
    r"\bthe day after tomorrow\b|后天": 2,
    r"\btomorrow\b|明天|明晚": 1,
    r"\byesterday\b|昨天": -1,
    r"\b(?:today|tonight)\b|今天|今晚": 0,
}


def written_out(text: str, today: date) -> str:
    """The text with every day in it as an ISO date. A day without a year is the next one to come."""
    for words, days in RELATIVE.items():
        text = re.sub(words, f" {today + timedelta(days=days)} ", text, flags=re.I)
    text = CHINESE.sub(lambda found: _iso(found[1], int(found[2]), found[3], today) or found[0], text)
    text = MONTH_FIRST.sub(lambda found: _iso(found[3], _month(found[1]), found[2], today) or found[0], text)
    return DAY_FIRST.sub(lambda found: _iso(found[3], _month(found[2]), found[1], today) or found[0], text)


def found_in(text: str) -> list[date]:
    """The ISO dates in the text."""
    return [day for found in ISO.findall(text) if (day := _date(*map(int, found)))]


def is_month(word: str) -> bool:
    return word.lower() in MONTHS


def _month(name: str) -> int:
    return next(at for at, month in enumerate(MONTHS, start=1) if month.startswith(name.lower()))


def _iso(year: str | None, month: int, day: str, today: date) -> str:
    found = _date(int(year) if year else today.year, month, int(day))
    if found and not year and found < today:
        found = _date(today.year + 1, month, int(day))
    return f" {found} " if found else ""


def _date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None
