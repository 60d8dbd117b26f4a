"""The model that the planner has without a key: it makes a plan of what it is told, and knows nothing else."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import BaseMessage

from branching.assistants.concierge import phrases as concierge
from branching.local_model import IDEOGRAPH, LocalModel

DRAFT = (
    "You plan days in Xi'an. Draft a plan: one line for each day, the date and what to see. Write in the person's "
    "language. Where no days are known, ask when the trip begins."
)
REVISED = (
    "You plan days in Xi'an. Revise the draft for the person: keep to it where you can, go indoors when the weather is "
    "bad, say where to stay and what all nights cost. Where the stay is longer than the plan, say so. Write in the "
    "person's language, in Markdown."
)
FINDINGS, MADE = "What is known:\n", "The draft:\n"

BAD = ("light rain", "light snow", "hazy")


@dataclass(frozen=True)
class Words:
    """What the rules say in one language."""

    outdoors: Sequence[str]
    indoors: Sequence[str]
    title: str
    day: str
    moved: str
    longer: str
    stay: str
    nowhere: str
    when: str
    past: str
    skies: Mapping[str, str]
    hotel: str


ENGLISH = Words(
    outdoors=(
        "cycle round the city wall",
        "see the Terracotta Army at Lintong",
        "climb the Giant Wild Goose Pagoda",
        "walk through Tang Paradise",
    ),
    indoors=(
        "the Shaanxi History Museum",
        "the Forest of Steles",
        "the shops and noodles of the Muslim Quarter",
        "the Xi'an Museum at the Small Wild Goose Pagoda",
    ),
    title="## {days} days in Xi'an",
    day="- **{date}** ({sky}, {low} to {high} °C): {what}",
    moved=", indoors because of the weather",
    longer="You stay {nights} nights: this plans the first {days} days.",
    stay="Stay at **{name}**: {total} {currency} for the whole time, in a standard room.",
    nowhere="No hotel fits the budget. Tell me another one.",
    when="When does the trip begin, and for how many nights? For example: from 2026-12-20 for 2 nights.",
    past="{day} is in the past: today is {today}. When does the trip begin?",
    skies={},
    hotel="name",
)
CHINESE = Words(
    outdoors=("骑车环游城墙", "去临潼看兵马俑", "登大雁塔", "逛大唐芙蓉园"),
    indoors=("参观陕西历史博物馆", "参观碑林博物馆", "在回民街吃面逛店", "参观小雁塔旁的西安博物院"),
    title="## 西安 {days} 日计划",
    day="- **{date}**（{sky}，{low} 到 {high} °C）：{what}",
    moved="（因天气改为室内）",
    longer="共住 {nights} 晚，这里计划前 {days} 天。",
    stay="住宿：**{name}**，标准间，全程 {total} 元。",
    nowhere="没有符合预算的酒店。请换一个预算。",
    when="哪天出发，住几晚？例如：2026-12-20 起两晚。",
    past="{day} 已经过去了，今天是 {today}。哪天出发？",
    skies=concierge.CHINESE.skies,
    hotel="chinese",
)


class PlannerModel(LocalModel):
    """Drafts a plan, or revises one, as it is told."""

    model: str = "planner-rules"

    async def write(self, messages: list[BaseMessage]) -> AsyncIterator[str]:
        """The draft or the plan."""
        said = next((message.text for message in reversed(messages) if message.type == "human"), "")
        words = CHINESE if IDEOGRAPH.search(said) else ENGLISH
        role, _, rest = messages[0].text.partition(FINDINGS)
        known, end = json.JSONDecoder().raw_decode(rest)
        draft = rest[end:].partition(MADE)[2]
        text = _revised(words, known, draft) if role.strip() == REVISED else _drafted(words, known)
        async for piece in self.paced(text):
            yield piece


def _drafted(words: Words, known: Mapping[str, Any]) -> str:
    """Something outdoors for each day, as if the sun always shone."""
    if not known["days"]:
        return words.when
    days = enumerate(known["days"])
    return "\n".join(f"{day}: {words.outdoors[number % len(words.outdoors)]}" for number, day in days)


def _revised(words: Words, known: Mapping[str, Any], draft: str) -> str:
    if not known["days"]:
        return words.when
    if known["days"][0] < known["today"]:
        return words.past.format(day=known["days"][0], today=known["today"])
    planned = dict(line.split(": ", 1) for line in draft.splitlines() if ": " in line)
    skies = {found["date"]: found for found in known["findings"] if found["what"] == "weather"}
    days = [_day(words, number, skies[day], planned.get(day, "")) for number, day in enumerate(known["days"])]
    is_longer = known["nights"] >= len(days)
    longer = [words.longer.format(days=len(days), nights=known["nights"])] if is_longer else []
    return "\n\n".join([words.title.format(days=len(days)), "\n".join(days), *longer, _stay(words, known)])


def _day(words: Words, number: int, sky: Mapping[str, Any], planned: str) -> str:
    is_bad = sky["sky"] in BAD
    what = words.indoors[number % len(words.indoors)] + words.moved if is_bad else planned
    return words.day.format(**{**sky, "sky": words.skies.get(sky["sky"], sky["sky"]), "what": what})


def _stay(words: Words, known: Mapping[str, Any]) -> str:
    hotel = next(found for found in known["findings"] if found["what"] == "hotel")
    if hotel["name"] is None:
        return words.nowhere
    return words.stay.format(name=hotel[words.hotel], total=hotel["total"], currency=hotel["currency"])
