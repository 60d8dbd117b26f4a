"""Plays one scenario in a browser: each step as a person does it, and then what the page shows and the server knows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from branching.scenarios.form import Scenario, Step
from branching.scenarios.judging import Outcome, Seen, Verdict, judge, remember
from branching.scenarios.plays import Facts
from chatapp.driving.tab import COUNT_COMMANDS, LONGEST, LOOK, PATIENCE, Stuck, Tab, until

SIZE = {"width": 1280, "height": 860}

Picture = Callable[[int, Tab], Awaitable[None]]


@dataclass(frozen=True)
class Server:
    """Where it is played, and as whom."""

    url: str
    login: tuple[str, str] | None = None
    """The name and the password; None for a guest."""
    patience: float = PATIENCE
    """Seconds that what is expected may take to come about."""


class Driver:
    """Plays a scenario on a server."""

    def __init__(self, browser: Any, server: Server, scenario: Scenario, source: str) -> None:
        self.browser, self.server, self.scenario, self.source = browser, server, scenario, source
        self.known: dict[str, str] = {}
        self.tabs: dict[int, Tab] = {}
        self._contexts: list[Any] = []
        self._deaf = {step.tab for step in scenario.steps if step.do == "deafen"}

    async def play(self, picture: Picture) -> list[Outcome]:
        """All steps, and the check of the books; `picture` is called after each step."""
        outcomes: list[Outcome] = []
        try:
            await self._begin()
            for at in range(len(self.scenario.steps)):
                outcomes.append(await self._step(at))
                await picture(at, self.tabs[self.scenario.steps[at].tab])
                if outcomes[-1].stuck:
                    return outcomes
            return [*outcomes, await self._close()]
        finally:
            for context in self._contexts:
                await context.close()

    async def _begin(self) -> None:
        """A new thread that plays the scenario. Made by request, which is quicker than by the page of scenarios."""
        page = await self._new_page()
        response = await page.request.get("/scenarios/")
        if "/login/" in response.url:
            await self._log_in(page)
            response = await page.request.get("/scenarios/")
        if response.status == 404:
            raise Stuck(f"{self.server.url} plays no scenarios: start it with QA_SCENARIOS=1.")
        tab = self.tabs[1] = Tab(page)
        made = await tab.post("/scenarios/", source=self.source, then="chat")
        if "/threads/" not in made.url:
            raise Stuck(f"{self.server.url} does not take this scenario (status {made.status}).")
        await self._ready(1, tab, made.url)

    async def _ready(self, number: int, tab: Tab, url: str) -> None:
        if number in self._deaf:
            await tab.tap()
        await tab.open(url)

    async def _new_page(self, **options: Any) -> Any:
        context = await self.browser.new_context(base_url=self.server.url, locale="en-US", viewport=SIZE, **options)
        context.set_default_timeout(PATIENCE * 1000)
        await context.add_init_script(COUNT_COMMANDS)
        self._contexts.append(context)
        return await context.new_page()

    async def _log_in(self, page: Any) -> None:
        if self.server.login is None:
            raise Stuck(f"{self.server.url} lets nobody in without an account: say with --user whom to log in.")
        await page.goto("/login/")
        await page.fill("input[name=username]", self.server.login[0])
        await page.fill("input[name=password]", self.server.login[1])
        async with page.expect_navigation():
            await page.press("input[name=password]", "Enter")
        if "/login/" in page.url:
            raise Stuck(f"{self.server.url} does not let {self.server.login[0]} in with this password.")

    async def _tab(self, number: int) -> Tab:
        """The window of this number, opened if need be: of the same person, in a window of its own."""
        if number not in self.tabs:
            first = self.tabs[1]
            # Chromium all but stops a tab that another one hides.
            page = await self._new_page(storage_state=await first.page.context.storage_state())
            self.tabs[number] = Tab(page)
            await self._ready(number, self.tabs[number], first.url)
        return self.tabs[number]

    async def _step(self, at: int) -> Outcome:
        step = self.scenario.steps[at]
        tab = await self._tab(step.tab)
        before, started = (await tab.facts())[0], time.monotonic()
        try:
            for _ in range(step.times):
                await getattr(self, f"_{step.do.replace('-', '_')}")(step, tab)
            if step.wait and not await until(lambda: _is_at_rest(tab), patience=LONGEST):
                raise Stuck(f"After {LONGEST:g} seconds the reply is still being written.")
        except Exception as error:
            if not isinstance(error, Stuck) and type(error).__module__.split(".")[0] != "playwright":
                raise
            return Outcome(at, time.monotonic() - started, stuck=str(error).split("\n")[0])
        seconds = time.monotonic() - started
        seen, verdicts = await self._look(step, tab, before, seconds)
        remember(self.known, seen)
        return Outcome(at, seconds, verdicts, shown=tuple(row.text for row in seen.rows))

    async def _look(self, step: Step, tab: Tab, before: Facts, seconds: float) -> tuple[Seen, tuple[Verdict, ...]]:
        """What there is to see, as soon as it is as expected, or after a while."""
        end = time.monotonic() + self.server.patience
        while True:
            seen = await self._see(step, tab)
            verdicts = judge(step.expect, before, seen, seconds=seconds, known=self.known, in_browser=True)
            if all(verdict.holds for verdict in verdicts) or time.monotonic() > end or tab.problems:
                return seen, verdicts
            await asyncio.sleep(LOOK)

    async def _see(self, step: Step, tab: Tab) -> Seen:
        screen, (facts, _ids) = await tab.screen(), await tab.facts()
        asked_for = (step.expect.present or ()) + (step.expect.absent or ())
        return Seen(**screen, facts=facts, problems=tuple(tab.problems), matches=await tab.matches(asked_for))

    async def _close(self) -> Outcome:
        """Whether the index and HEAD agree with the checkpoints at the end."""
        started, tab = time.monotonic(), self.tabs[1]
        response = await tab.page.request.get(f"{tab.url}checkpoints/check/")
        is_sound = 'data-findings="0"' in await response.text()
        found = "" if is_sound else f"see {tab.url}checkpoints/check/"
        verdict = Verdict("consistency", "–", found or "–", is_sound)
        return Outcome(len(self.scenario.steps), time.monotonic() - started, (verdict,))

    # What one does

    async def _send(self, step: Step, tab: Tab) -> None:
        if step.checkpoint:
            return await self._send_from(step, tab)
        await tab.page.fill("form[data-composer] textarea[name=content]", step.text)
        if step.double:
            await tab.press("button[data-action=send]", twice=True)
        else:
            await tab.page.press("form[data-composer] textarea[name=content]", "Enter")
            await tab.quiet()

    async def _send_from(self, step: Step, tab: Tab) -> None:
        await tab.page.goto(f"{tab.url}checkpoints/{await self._nth(step, tab)}/state/")
        await tab.page.fill("form[data-say] textarea[name=content]", step.text)
        await self._consent(tab, "form[data-say] ")
        await self._submit(tab, "send-from")

    async def _submit(self, tab: Tab, action: str) -> None:
        """Press a button of the time machine, and go back to the conversation, wherever it has led."""
        thread = tab.url
        async with tab.page.expect_navigation():
            await tab.page.click(f"button[data-action={action}]")
        await (tab.connected() if tab.page.url == thread else tab.open(thread))

    async def _consent(self, tab: Tab, within: str = "") -> None:
        consent = tab.page.locator(f"{within}[data-consent]")
        if await consent.count():
            await consent.check()

    async def _edit(self, step: Step, tab: Tab) -> None:
        article = await tab.article(step.message)
        await tab.press(f"{article} button[data-action=edit]")
        await tab.page.fill(f"{article} form[data-edit] textarea[name=content]", step.text)
        if not step.answer:
            await tab.page.route("**/runs/", lambda route: route.abort())
        await tab.press(f"{article} button[data-action=save-edit]")
        if step.answer:
            await until(lambda: _is_answered(tab), patience=2)
        else:
            await tab.page.wait_for_timeout(300)
            await tab.page.unroute("**/runs/")
            await tab.open(tab.url)

    async def _regenerate(self, step: Step, tab: Tab) -> None:
        article = await tab.article(step.message)
        await tab.press(f"{article} button[data-action=regenerate]", twice=step.double)

    async def _again(self, step: Step, tab: Tab) -> None:
        await self._unfold_and_press(step, tab, "button:is([data-action=again], [data-action=decide-again])")

    async def _decide_again(self, step: Step, tab: Tab) -> None:
        answered = "[data-open-reply=answered] button[data-action=decide-again]"
        if await tab.page.locator(answered).count():
            await tab.press(answered)
        else:
            await self._again(step, tab)

    async def _unfold_and_press(self, step: Step, tab: Tab, button: str) -> None:
        article = await tab.article(step.message)
        folded = tab.page.locator(f"{article} details:not([open]) > summary")
        for _ in range(await folded.count()):
            await folded.first.press("Enter")
        await tab.press(f"{article} {button}")

    async def _previous(self, step: Step, tab: Tab) -> None:
        await tab.press(f"{await tab.article(step.message)} button[data-action=previous-version]")

    async def _next(self, step: Step, tab: Tab) -> None:
        await tab.press(f"{await tab.article(step.message)} button[data-action=next-version]")

    async def _show(self, step: Step, tab: Tab) -> None:
        thread = tab.url
        await tab.page.goto(f"{thread}checkpoints/{await self._nth(step, tab)}/")
        if await tab.page.locator("button[data-action=continue]").count():
            await self._submit(tab, "continue")
        else:
            await tab.open(thread)

    async def _replay(self, step: Step, tab: Tab) -> None:
        await tab.page.goto(f"{tab.url}checkpoints/{await self._nth(step, tab)}/replay/")
        await self._consent(tab)
        await self._submit(tab, "confirm-replay")

    async def _nth(self, step: Step, tab: Tab) -> str:
        ids = (await tab.facts())[1]
        if step.checkpoint > len(ids):
            raise Stuck(f"There is no checkpoint {step.checkpoint}.")
        return ids[step.checkpoint - 1]

    async def _undo(self, step: Step, tab: Tab) -> None:
        await tab.press("button[data-action=undo]")

    async def _retry(self, step: Step, tab: Tab) -> None:
        await tab.press("button[data-action=retry]", twice=step.double)

    async def _stop(self, step: Step, tab: Tab) -> None:
        await tab.press("button[data-action=stop]")

    async def _approve(self, step: Step, tab: Tab) -> None:
        if step.every:
            return await tab.press("button[data-action=approve-all]")
        card = await self._question(step, tab)
        if not step.changes:
            return await tab.press(f"{card} button[data-action=approve]")
        await tab.press(f"{card} details > summary")
        for name, value in step.changes.items():
            field = tab.page.locator(f"{card} [name='argument-{name}']")
            is_choice = await field.evaluate("field => field.tagName === 'SELECT'")
            await (field.select_option(value) if is_choice else field.fill(value))
        await tab.press(f"{card} button[data-action=approve-changed]")

    async def _reject(self, step: Step, tab: Tab) -> None:
        if step.every:
            return await tab.press("button[data-action=reject-all]")
        card = await self._question(step, tab)
        await tab.page.fill(f"{card} input[name=reason]", step.reason)
        await tab.press(f"{card} button[data-action=reject]")

    async def _question(self, step: Step, tab: Tab) -> str:
        cards = await tab.page.locator("[data-question]").evaluate_all("all => all.map(each => each.dataset.question)")
        if step.question > len(cards):
            raise Stuck(f"There is no question {step.question} here.")
        return f"[data-question='{cards[step.question - 1]}']"

    async def _release(self, step: Step, tab: Tab) -> None:
        await tab.post(f"{tab.url}scenario/release/")

    async def _interrupt(self, step: Step, tab: Tab) -> None:
        raise Stuck("A browser can't break a reply off: this is played in the server alone.")

    async def _wait(self, step: Step, tab: Tab) -> None:
        """Nothing: resting is what every step ends with."""

    async def _reload(self, step: Step, tab: Tab) -> None:
        await tab.page.reload()
        await tab.connected()

    async def _deafen(self, step: Step, tab: Tab) -> None:
        tab.is_deaf = True

    async def _hear(self, step: Step, tab: Tab) -> None:
        tab.is_deaf = False
        await self._reload(step, tab)


async def _is_at_rest(tab: Tab) -> bool:
    return (await tab.facts())[0].is_at_rest


async def _is_answered(tab: Tab) -> bool:
    """Whether the second half of an edit has come."""
    return not await tab.page.locator("[data-open-reply=missing]").count()
