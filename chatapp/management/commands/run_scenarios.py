"""`manage.py run_scenarios [file ...] --url http://127.0.0.1:8000`: plays scenarios in a browser, with a report."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from branching.exceptions import BadScenario
from branching.scenarios import reading
from chatapp import stage
from chatapp.driving import report
from chatapp.driving.driver import Driver, Server
from chatapp.driving.report import Played
from chatapp.driving.tab import PATIENCE, Stuck, Tab

AT_ONCE = 2
"""Scenarios that are played beside each other: each is somebody else, in a conversation of their own."""

PASSWORD = "SCENARIOS_PASSWORD"

INSTALL = (
    "This drives a real browser, for which it needs Playwright: pip install -r requirements-test.txt (the app itself "
    "does without). Chromium is that of the system, or the one that CHROMIUM names."
)


class Command(BaseCommand):
    help = "Plays scenarios in a browser against a live server, and writes a report with pictures. Fails if one fails."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "file", nargs="*", type=Path, help="Scenarios; the starting set in tests/scenarios by default."
        )
        parser.add_argument("--url", default="http://127.0.0.1:8000", help="The server. It has to allow QA_SCENARIOS.")
        parser.add_argument("--report", type=Path, default=Path("scenario-report"), help="A folder for the report.")
        parser.add_argument("--user", help=f"Whom to log in, with the password in {PASSWORD}; a guest by default.")
        parser.add_argument("--patience", type=float, default=PATIENCE, help="Seconds that what is expected may take.")
        parser.add_argument("--show", action="store_true", help="Show the browser.")

    def handle(self, *args: Any, **options: Any) -> None:
        files = options["file"] or sorted(stage.FOLDER.glob("*.toml"))
        played = [self._read(file) for file in files]
        if not played:
            raise CommandError("There are no scenarios.")
        folder: Path = options["report"]
        _make(folder)
        login = (options["user"], os.environ.get(PASSWORD, "")) if options["user"] else None
        server = Server(options["url"].rstrip("/"), login, options["patience"])
        asyncio.run(self._play(played, folder, server, show=options["show"]))
        page = report.write(folder, options["url"], played)
        self.stdout.write(f"The report is {page}.")
        if wrong := [each.name for each in played if not each.holds]:
            raise CommandError(f"Not as it should be: {', '.join(wrong)}.")
        self.stdout.write(self.style.SUCCESS("All scenarios hold."))

    def _read(self, file: Path) -> Played:
        try:
            source = file.read_text(encoding="utf-8")
            return Played(file.stem, reading.read(source, file.name), source)
        except (OSError, UnicodeDecodeError, BadScenario) as error:
            raise CommandError(str(error)) from error

    async def _play(self, played: Sequence[Played], folder: Path, server: Server, *, show: bool) -> None:
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError:
            raise CommandError(INSTALL) from None
        async with async_playwright() as playwright:
            try:
                browser = await playwright.chromium.launch(headless=not show, **_program(show))
            except Error as error:
                raise CommandError(f"{INSTALL}\n{error}") from None
            gate = asyncio.Semaphore(AT_ONCE)

            async def one(each: Played) -> None:
                async with gate:
                    try:
                        await self._one(browser, each, folder, server)
                    except (Stuck, Error) as error:
                        each.trouble = str(error).split("\n")[0]
                    self._tell(each)

            await asyncio.gather(*map(one, played))
            await browser.close()

    async def _one(self, browser: Any, played: Played, folder: Path, server: Server) -> None:
        if played.scenario.only == "server":
            played.skipped = "server"
            return

        async def picture(at: int, tab: Tab) -> None:
            name = played.pictures[at] = f"{played.name}-{at + 1:02}.png"
            await tab.page.screenshot(path=folder / name)

        played.outcomes = await Driver(browser, server, played.scenario, played.source).play(picture)

    def _tell(self, played: Played) -> None:
        word = "skipped" if played.skipped else "holds" if played.holds else "FAILS"
        self.stdout.write(f"{word:8} {played.name} ({played.seconds:.1f} s)")
        if played.trouble:
            self.stdout.write(f"         {played.trouble}")
        for outcome in played.outcomes:
            if outcome.stuck:
                self.stdout.write(f"         step {outcome.at + 1}: {outcome.stuck}")
            for verdict in outcome.failed:
                expected, got = (text.replace("\n", " | ") for text in (verdict.expected, verdict.got))
                self.stdout.write(f"         step {outcome.at + 1}: {verdict.what}: expected {expected}; found {got}")


def _program(show: bool) -> dict[str, Any]:
    # The first one is the same engine without the browser around it, which has no window.
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")[show:]
    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    # Chromium refuses its sandbox to root, which containers usually are.
    return {"executable_path": program, "args": ["--no-sandbox"] if os.geteuid() == 0 else []}


def _make(folder: Path) -> None:
    """The folder, empty but for what is nobody's report."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in [*folder.glob("*.png"), *folder.glob("index.html")]:
        old.unlink()
