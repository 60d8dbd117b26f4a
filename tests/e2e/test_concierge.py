"""A room is booked: what the assistant does is seen, asked for, and kept, on each version by itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import pytest
from playwright.async_api import Browser, Locator, Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, post, second_window
from tests.e2e.test_languages import english_on


def free_day() -> str:
    """A day on which the hotels of these stories have a suite for two nights.

    Theirs are gone every ninth and every seventh night: see `branching/assistants/concierge/hotels.py`.
    """
    days = (date.today() + timedelta(days=ahead) for ahead in range(10, 100))
    stays = ((day.toordinal(), day.toordinal() + 1) for day in days)
    first, _ = next(stay for stay in stays if all((night + 10) % 9 and (night + 9) % 7 for night in stay))
    return date.fromordinal(first).isoformat()


DAY = free_day()
ARGUMENTS = {"city", "check_in", "nights"}
"""What tools are called with has the same names in every language."""


@dataclass(frozen=True)
class Words:
    """The story in one language."""

    locale: str
    search: str
    suite: str
    standard: str
    other: str
    booked: str
    left: str


ENGLISH = Words(
    locale="en-US",
    search=f"Which hotels are there from {DAY} for 2 nights?",
    suite=f"Book the suite in Bell Tower Hotel for 2 nights from {DAY}",
    standard="The suite is too expensive, take the standard room in Bell Tower Hotel",
    other=f"Book the suite in City Wall Inn for 2 nights from {DAY}",
    booked="Booked:",
    left="Then I have left it.",
)
CHINESE = Words(
    locale="zh-CN",
    search=f"{DAY} 入住两晚，有哪些酒店？",
    suite=f"预订钟楼饭店的套房，{DAY} 入住，两晚",
    standard="套房太贵了，换成钟楼饭店的标准间",
    other=f"预订城墙客栈的套房，{DAY} 入住，两晚",
    booked="已预订",
    left="好的，没有办理。",
)


class Desk(Chat):
    """The concierge's thread on a page."""

    @property
    def questions(self) -> Locator:
        return self.page.locator("[data-question]")

    def steps(self, tool: str) -> Locator:
        return self.page.locator(f"[data-step={tool}]")

    async def ask(self, text: str) -> None:
        """Say it; returns when the assistant asks back."""
        await self.send(text)
        await self.asked()

    async def asked(self) -> None:
        await expect(self.page.locator("main[data-run-state=waiting]")).to_be_attached()
        await expect(self.questions).to_have_count(1)
        await self.quiet()

    async def press(self, action: str) -> None:
        """Answer the first question that waits."""
        await self.button(action).first.click()
        await self.quiet()

    async def unfold(self, step: Locator) -> Locator:
        await step.locator("summary").click()
        return step

    async def ledger(self) -> list[tuple[str, str, bool]]:
        """The actions, oldest first: how each stands, its booking, and whether the shown version has it."""
        page = await self.page.context.new_page()
        await page.goto(self.page.url.partition("#")[0] + "actions/")
        rows = await page.locator("[data-ledger-row]").evaluate_all(
            "(rows) => rows.map((row) => [row.dataset.actionState, row.dataset.order ?? '', 'onBranch' in row.dataset])"
        )
        await page.close()
        return [tuple(row) for row in reversed(rows)]


@pytest.mark.parametrize("words", [ENGLISH, CHINESE], ids=["English", "Chinese"])
async def test_the_booking_story(new_page: NewPage, words: Words) -> None:
    """
    search ── reply ─┬─ the suite ─┬─ asks (left)
                     │             └─ asks, approved ── the other hotel ─┬─ approved
                     │                                                   └─ decided again: rejected
                     └─ the standard room ── asks, approved
    """
    desk = await Desk.begin(await new_page(locale=words.locale), "concierge")
    page = desk.page

    await desk.say(words.search)
    searched = desk.steps("search_hotels").first
    await expect(searched).to_have_attribute("data-step-state", "done")
    await expect((await desk.unfold(searched)).locator("[data-content]")).to_contain_text("bell-tower")

    await desk.ask(words.suite)
    await expect(page.locator("#threads [data-waiting]")).to_be_visible()
    await desk.button("regenerate").last.click()
    await expect(page.locator("#hint-asked")).to_be_visible()
    await desk.asked()
    await expect(page.locator("article[data-role=ai] [data-versions]")).to_have_attribute("data-total", "2")
    if words is CHINESE:
        assert set(await english_on(page)) <= ARGUMENTS
    await desk.press("approve")
    await desk.done()
    await expect(desk.texts.last).to_contain_text(words.booked)

    await desk.start_editing(4, words.standard)
    await desk.asked()
    await desk.press("approve")
    await desk.done()
    await expect(desk.texts.last).to_contain_text(words.booked)
    await expect(page.locator("#hint-standing")).to_contain_text("1")
    ledger = await desk.ledger()
    assert [(state, here) for state, _order, here in ledger] == [("waiting", False), ("done", False), ("done", True)]
    assert len({order for state, order, _here in ledger if state == "done"}) == 2

    await desk.step(4, "previous")
    await expect(desk.texts.nth(4)).to_have_text(words.suite)
    await desk.ask(words.other)
    await desk.step(4, "next")
    await expect(desk.questions).to_have_count(0)
    await page.locator("#hint-asked [data-action=show-question]").click()
    await desk.asked()
    await desk.reload()
    await desk.asked()
    other = await second_window(desk, new_page)
    await expect(other.page.locator("[data-question]")).to_have_count(1)
    await desk.press("approve")
    await desk.done()
    answered = other.page.locator("[data-step=book_hotel]").last
    await expect(answered).to_have_attribute("data-step-state", "done")
    await expect(other.page.locator("[data-question]")).to_have_count(0)

    again = await desk.unfold(desk.steps("book_hotel").last)
    await again.locator("[data-action=decide-again]").click()
    await desk.asked()
    await page.locator("[data-question] [name=reason]").fill("no, thanks")
    await page.locator("[data-question] [name=reason]").press("Enter")
    await desk.done()
    await expect(desk.texts.last).to_contain_text(words.left)
    await expect(desk.steps("book_hotel").last).to_have_attribute("data-step-state", "rejected")
    assert [state for state, _order, _here in await desk.ledger()] == ["waiting", "done", "done", "done", "rejected"]


async def test_what_was_changed_with_a_yes_is_what_is_booked(page: Page) -> None:
    desk = await Desk.begin(page, "concierge")
    await desk.ask(ENGLISH.suite)
    await page.locator("[data-question] summary").click()
    await page.locator("[name=argument-room_type]").select_option("standard")
    await page.locator("[name=argument-nights]").fill("3")
    await desk.press("approve-changed")
    await desk.done()
    await expect(desk.texts.last).to_contain_text("standard room in Bell Tower Hotel")
    await expect(desk.texts.last).to_contain_text("3 night(s)")


async def test_several_questions_are_answered_one_by_one_or_together(page: Page) -> None:
    desk = await Desk.begin(page, "concierge")
    both = f"{ENGLISH.suite} and the standard room in City Wall Inn"
    await desk.send(both)
    await expect(desk.questions).to_have_count(2)
    await desk.press("approve")
    await expect(desk.questions).to_have_count(1)
    await desk.press("reject")
    await desk.done()
    assert [state for state, _order, _here in await desk.ledger()] == ["done", "rejected"]
    await desk.send(both)
    await expect(desk.questions).to_have_count(2)
    await desk.press("reject-all")
    await desk.done()
    assert [state for state, _order, _here in await desk.ledger()] == ["done", "rejected", "rejected", "rejected"]


async def test_case_61_a_message_instead_of_an_answer_declines_and_says_so_first(page: Page) -> None:
    desk = await Desk.begin(page, "concierge")
    await desk.ask(ENGLISH.suite)
    await expect(page.locator("#hint-waiting")).to_be_visible()
    await desk.say("What is the weather like?")
    await expect(page.locator("#hint-waiting")).to_have_count(0)
    await expect(desk.steps("book_hotel")).to_have_attribute("data-step-state", "declined")


async def test_a_booking_that_was_left_behind_is_cancelled_by_hand(page: Page) -> None:
    desk = await Desk.begin(page, "concierge")
    await desk.ask(ENGLISH.suite)
    await desk.press("approve")
    await desk.done()
    await desk.start_editing(0, "What is the weather like?")
    await desk.done()
    await page.locator("#hint-standing a").click()
    row = page.locator("[data-ledger-row]")
    await row.locator(".action__cancel summary").click()
    await row.locator("[data-action=cancel-booking]").click()
    await expect(page.locator("[data-ledger-row][data-cancelled]")).to_be_visible()
    await row.locator("[data-action=show-action]").click()
    await expect(page.locator("[data-step=book_hotel]")).to_be_visible()


async def test_case_18_again_from_one_step_keeps_the_steps_before_it(page: Page) -> None:
    """Regenerate does the whole turn; a step's own button only what comes from there on."""
    desk = await Desk.begin(page, "concierge")
    await desk.ask(ENGLISH.suite)
    await desk.press("approve")
    await desk.done()
    assert await desk.versions() == [""] * 6
    await desk.button("again").last.click()
    await expect(desk.message(5).locator("[data-versions]")).to_have_attribute("data-total", "2")
    await desk.done()
    assert await desk.versions() == ["", "", "", "", "", "2/2"]
    await desk.button("regenerate").last.click()
    await expect(desk.message(1).locator("[data-versions]")).to_have_attribute("data-total", "2")
    await desk.asked()
    assert [order for _state, order, _here in await desk.ledger()][1:] == [""]


async def test_what_is_typed_into_a_card_stays_whatever_comes_from_elsewhere(page: Page, new_page: NewPage) -> None:
    desk = await Desk.begin(page, "concierge")
    await desk.ask(ENGLISH.suite)
    await page.locator("[data-question] summary").click()
    await page.locator("[name=argument-nights]").fill("5")
    await page.locator("[name=argument-room_type]").select_option("standard")
    await page.locator("[data-question] [name=reason]").fill("half a rea")
    other = await second_window(desk, new_page)
    item = other.page.locator("#threads li").first
    await item.locator("summary").click()
    await item.locator("[name=title]").fill("Renamed elsewhere")
    await item.locator("[data-action=rename]").click()
    await expect(page.locator("#thread-title")).to_have_text("Renamed elsewhere")
    await expect(page.locator("[data-question] [name=reason]")).to_have_value("half a rea")
    await expect(page.locator("[data-question] [name=reason]")).to_be_focused()
    await expect(page.locator("[name=argument-nights]")).to_have_value("5")
    await expect(page.locator("[name=argument-room_type]")).to_have_value("standard")


async def test_what_is_typed_into_one_card_outlives_the_answer_to_another(page: Page) -> None:
    """Also where somebody else answers that card: then its words are in a notice."""
    desk = await Desk.begin(page, "concierge")
    await desk.send(f"{ENGLISH.suite} and the standard room in City Wall Inn")
    await expect(desk.questions).to_have_count(2)
    reasons = page.locator("[data-question] [name=reason]")
    await reasons.nth(1).fill("half a rea")
    await page.locator("[data-question] summary").nth(1).click()
    await page.locator("[name=argument-nights]").nth(1).fill("5")
    await desk.press("approve")
    await expect(desk.questions).to_have_count(1)
    await expect(page.locator("main[data-run-state=waiting]")).to_be_attached()
    await expect(reasons).to_have_value("half a rea")
    await expect(page.locator("[name=argument-nights]")).to_be_visible()
    await expect(page.locator("[name=argument-nights]")).to_have_value("5")
    form = desk.questions.locator("form").first
    fields = {name: await form.locator(f"[name={name}]").input_value() for name in ("question", "head_version")}
    await post(page, await form.get_attribute("action") or "", decision="approve", **fields)
    await expect(page.locator("[data-kept]")).to_have_text("half a rea\nNights: 5")


async def test_on_the_smallest_phone_a_card_holds_its_buttons(new_page: NewPage) -> None:
    page = await new_page(viewport={"width": 320, "height": 700})
    desk = await Desk.begin(page, "concierge")
    await desk.ask(ENGLISH.suite)
    card, button = await desk.questions.bounding_box(), await desk.button("reject").bounding_box()
    assert card and button
    assert button["x"] + button["width"] <= card["x"] + card["width"]


async def test_by_keyboard_alone_a_question_is_answered_and_the_focus_stays_near(page: Page) -> None:
    desk = await Desk.begin(page, "concierge")
    await desk.ask(ENGLISH.suite)
    await desk.button("approve").focus()
    await page.keyboard.press("Enter")
    await desk.done()
    assert await page.evaluate("document.activeElement.closest('[data-slot], [data-composer]') !== null")
    step = desk.steps("book_hotel").locator("summary")
    await step.focus()
    await page.keyboard.press("Enter")
    await expect(desk.button("decide-again")).to_be_visible()


async def test_without_javascript_a_question_is_answered_too(page: Page, browser: Browser) -> None:
    desk = await Desk.begin(page, "concierge")
    await desk.ask(ENGLISH.suite)
    context = await browser.new_context(java_script_enabled=False, storage_state=await page.context.storage_state())
    plain = await context.new_page()
    await plain.goto(page.url)
    await plain.locator("[data-question] [name=reason]").fill("too dear")
    await plain.locator("[data-action=reject]").click()
    await expect(page.locator("[data-step=book_hotel]")).to_have_attribute("data-step-state", "rejected")
    await context.close()


async def test_undo_takes_an_answer_back_to_where_one_can_decide_again(page: Page) -> None:
    """What was booked stays booked: the page says so, and asks anew on a branch of its own."""
    desk = await Desk.begin(page, "concierge")
    await desk.ask(ENGLISH.suite)
    await desk.press("approve")
    await desk.done()
    await desk.undo()
    await expect(page.locator("[data-open-reply=answered]")).to_be_visible()
    await desk.button("decide-again").last.click()
    await desk.asked()
    await desk.press("reject")
    await desk.done()
    assert [state for state, _order, _here in await desk.ledger()] == ["done", "rejected"]
    await expect(page.locator("#hint-standing")).to_be_visible()
