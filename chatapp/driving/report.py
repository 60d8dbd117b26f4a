"""Writes what a run in a browser has shown as a folder of plain files, to be handed on."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import timezone

from branching.scenarios.form import Scenario
from branching.scenarios.judging import Outcome

STYLES = ("layers", "tokens", "base", "bar", "steps", "button", "scenarios", "report")


@dataclass
class Played:
    """A scenario, and what came of it."""

    name: str
    scenario: Scenario
    source: str
    outcomes: list[Outcome] = field(default_factory=list)
    pictures: dict[int, str] = field(default_factory=dict)
    """The names of the files, by the places of the steps."""
    trouble: str = ""
    """Why it could not be played at all."""
    skipped: str = ""

    @property
    def holds(self) -> bool:
        return not self.trouble and all(outcome.holds for outcome in self.outcomes)

    @property
    def seconds(self) -> float:
        return sum(outcome.seconds for outcome in self.outcomes)

    @property
    def lines(self) -> list[tuple[int, object, Outcome | None, str]]:
        """Each step with its number, what came of it, and its picture."""
        told = {outcome.at: outcome for outcome in self.outcomes}
        return [(at + 1, step, told.get(at), self.pictures.get(at, "")) for at, step in enumerate(self.scenario.steps)]

    @property
    def end(self) -> Outcome | None:
        """The check of the books."""
        return next((outcome for outcome in self.outcomes if outcome.at == len(self.scenario.steps)), None)


def write(folder: Path, url: str, played: Sequence[Played]) -> Path:
    """The page of the report in this folder, where the pictures are already."""
    counted = [each for each in played if not each.skipped]
    context = {
        "played": played,
        "url": url,
        "at": timezone.localtime(),
        "count": len(counted),
        "wrong": [each for each in counted if not each.holds],
        "seconds": sum(each.seconds for each in played),
        "styles": STYLES,
    }
    css = Path(settings.ROOT) / "static" / "css"
    for name in STYLES:
        shutil.copy(css / f"{name}.css", folder / f"{name}.css")
    page = folder / "index.html"
    page.write_text(render_to_string("scenarios/report.html", context), encoding="utf-8")
    return page
