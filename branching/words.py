"""What a person may say: the text as it will be stored, or why it can't be."""

from __future__ import annotations

from branching.exceptions import BadText, EmptyMessage, MessageTooLong
from branching.limits import MESSAGE_MAX


def checked(text: str) -> str:
    """`text` as it will be stored. Raises `EmptyMessage`, `MessageTooLong`, `BadText`."""
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise EmptyMessage
    if len(text) > MESSAGE_MAX:
        raise MessageTooLong
    refuse_unstorable(text)
    return text


def refuse_unstorable(text: str) -> None:
    """Raises `BadText` for what no database takes."""
    # PostgreSQL refuses NUL, and a lone surrogate has no UTF-8: refused everywhere alike.
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise BadText
