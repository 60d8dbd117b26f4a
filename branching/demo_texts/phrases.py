"""The shape of one language's phrases."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Phrases:
    """The phrases of one language.

    Everywhere `{question}` stands for what the person wrote and `{subject}` for its weightiest words. Five openings,
    three texts on each topic and seven closings: numbers without a common divisor, so 105 attempts all differ.
    """

    openings: tuple[str, ...]
    topics: dict[str, tuple[str, ...]]
    """By topic; `explanation` is for everything else."""
    closings: tuple[str, ...]
    keywords: dict[str, str]
    """A pattern for each topic, looked for in this order."""
    told: str
    """Said where there are instructions, which stand for the question here."""
    earlier: str
    """Said from the second message on: it shows that a branch remembers only what is on it."""
    recovered: str
    """The answer after the failures that `/fail N` asked for."""
    paragraphs: tuple[str, ...]
    """What `/long` goes on about."""
    help: str
