"""What the demo model says. It is model output, so it is not for translation: each language has a file of its own."""

from __future__ import annotations

from branching.demo_texts.chinese import CHINESE
from branching.demo_texts.english import ENGLISH
from branching.demo_texts.phrases import Phrases

__all__ = ["CHINESE", "ENGLISH", "Phrases"]
