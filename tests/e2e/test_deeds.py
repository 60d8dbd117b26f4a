"""Done by hand in the time machine: the chains of an Echo thread exactly, and the forms that make them.

A chain is drawn oldest first, a row a line: its number, source, step, what comes next, the number of its parent.
"""

from __future__ import annotations

from typing import Self

from playwright.async_api import Page, expect

from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat, answered
from tests.e2e.test_storage import WIDE

TWO_TURNS = """
    0 input  -1 __start__  -
    1 loop    0 booking    0
    2 loop    1 reply      1
    3 loop    2 -          2
    4 input   3 __start__  3
    5 loop    4 booking    4
    6 loop    5 reply      5
    7 loop    6 -          6
"""

ROWS = """(rows) => rows.map((row) => [
    row.dataset.checkpointId, row.dataset.source, row.dataset.step, row.dataset.next || "-", row.dataset.parentId,
]).reverse()"""


class Panel:
    """The time machine of a thread, in the tab of its chat."""

    def __init__(self, chat: Chat) -> None:
        self.chat, self.page, self.url = chat, chat.page, chat.page.url
        self.rows = self.page.locator("table[data-checkpoints] tr[data-checkpoint-id]")

    @classmethod
    async def begin(cls, page: Page) -> Self:
        """Of a thread with two turns."""
        chat = await Chat.begin(page)
        await chat.say("h1", "h2")
        return cls(chat)

    async def open(self, count: int) -> list[list[str]]:
        """The list, once it has so many rows; oldest first."""
        await self.page.goto(f"{self.url}checkpoints/")
        await expect(self.rows).to_have_count(count)
        return await self.rows.evaluate_all(ROWS)

    async def chain(self, count: int) -> list[str]:
        """The list as it is drawn."""
        found = await self.open(count)
        number = {row[0]: str(at) for at, row in enumerate(found)}
        return [" ".join([number[id], *rest, number.get(parent, "-")]) for id, *rest, parent in found]

    async def go(self, number: int, page: str) -> None:
        """A page of the checkpoint with this number, in a list that is open."""
        id, *_ = (await self.rows.evaluate_all(ROWS))[number]
        await self.page.goto(f"{self.url}checkpoints/{id}/{page}/")

    async def look(self, where: str, node: str, messages: str = "") -> None:
        """See what comes of a change, before it is made."""
        await self.page.locator(f"[name=where][value={where}]").check()
        await self.page.locator("[name=node-0]").select_option(node)
        await self.page.locator("[name=set-0-messages]").fill(messages)
        await self.page.locator("[data-action=preview]").click()
        await expect(self.page.locator("[data-looked]")).to_be_visible()

    async def press(self, action: str) -> None:
        """The button that does it; returns when the conversation is on screen."""
        await self.page.locator(f"[data-action={action}]").click()
        await self.chat.connected()


def drawn(table: str) -> list[str]:
    return [" ".join(line.split()) for line in table.strip().splitlines()]


async def test_two_turns_are_eight_rows_and_from_step_1_it_runs_again_with_two_more(page: Page) -> None:
    panel = await Panel.begin(page)
    assert await panel.chain(8) == drawn(TWO_TURNS)
    await panel.go(2, "replay")
    await panel.press("confirm-replay")
    await panel.chat.done()
    assert await panel.chain(10) == drawn(TWO_TURNS + "8 fork 2 reply 2\n 9 loop 3 - 8")


async def test_where_the_graph_had_ended_the_page_says_what_will_be_added_and_that_nothing_runs(page: Page) -> None:
    """And so it is: one more row, source fork, with the same content; and no message has another version."""
    panel = await Panel.begin(page)
    await panel.open(8)
    await panel.go(3, "replay")
    await expect(page.locator("[data-ended=copy]")).to_contain_text("source fork, same content")
    await page.locator("[data-action=confirm-replay]").click()
    await expect(panel.rows).to_have_count(9)
    assert await panel.chain(9) == drawn(TWO_TURNS + "8 fork 3 - 3")
    await expect(panel.rows.first).to_have_attribute("data-head", "")
    ids = [row[0] for row in await panel.open(9)]
    await page.goto(f"{panel.url}checkpoints/{ids[3]}/difference/?with={ids[8]}")
    await expect(page.locator("[data-difference]").first).to_be_visible()
    await expect(page.locator("[data-difference]:not([data-same])")).to_have_count(0)
    await page.goto(panel.url)
    await panel.chat.connected()
    await expect(panel.chat.texts).to_have_text(answered("h1"))
    assert await panel.chat.versions() == ["", ""]
    await panel.chat.undo()
    await expect(panel.chat.texts).to_have_text(answered("h1", "h2"))


async def test_at_the_first_input_as_booking_one_is_added_and_by_running_it_one_more(page: Page) -> None:
    panel = await Panel.begin(page)
    await panel.open(8)
    await panel.go(0, "fork")
    await panel.look("under", "booking", '[{"type": "human", "content": "by hand"}]')
    await expect(page.locator("[data-looked=reply]")).to_be_visible()
    await panel.press("confirm-fork")
    added = ["8 update 0 reply 0"]
    assert await panel.chain(9) == drawn(TWO_TURNS) + added
    await page.goto(panel.url)
    await panel.chat.connected()
    await panel.chat.retry()
    await panel.chat.done()
    assert await panel.chain(10) == drawn(TWO_TURNS) + [*added, "9 loop 1 - 8"]


async def test_as_reply_it_leads_nowhere_and_the_page_says_so_before(page: Page) -> None:
    panel = await Panel.begin(page)
    await panel.open(8)
    await panel.go(2, "fork")
    await expect(page.locator("[name=node-0] option[value=reply]")).to_contain_text("leads nowhere")
    await panel.look("under", "reply", '[{"type": "human", "content": "by hand"}]')
    await expect(page.locator("[data-looked='']")).to_contain_text("leads nowhere")
    await panel.press("confirm-fork")
    assert (await panel.chain(9))[8] == "8 update 2 - 2"


async def test_an_update_goes_under_the_chosen_one_and_a_copy_beside_it(page: Page) -> None:
    """The copy experiment, on the same row: 8 grows from 2, 9 from 1, and 10, written then, from 9."""
    panel = await Panel.begin(page)
    await panel.open(8)
    await panel.go(2, "fork")
    await expect(page.locator("[data-undocumented]")).to_be_visible()
    await panel.look("under", "booking", '[{"type": "human", "content": "under"}]')
    await panel.press("confirm-fork")
    await panel.open(9)
    await panel.go(2, "fork")
    await panel.look("beside", "__start__", '[{"type": "human", "content": "beside"}]')
    await expect(page.locator("[data-looked=booking]")).to_be_visible()
    await panel.press("confirm-fork")
    await expect(panel.chat.texts).to_have_text(["h1", "beside"])
    added = ["8 update 2 reply 2", "9 fork 2 reply 1", "10 update 3 booking 9"]
    assert await panel.chain(11) == drawn(TWO_TURNS) + added
    await page.goto(panel.url)
    await panel.chat.connected()
    await panel.chat.retry()
    await panel.chat.done()
    await expect(panel.chat.texts).to_have_text(["h1", *answered("beside")])


async def test_a_copy_alone_waits_where_the_original_went_on(page: Page) -> None:
    panel = await Panel.begin(page)
    await panel.open(8)
    await panel.go(4, "fork")
    await panel.look("beside", "")
    await panel.press("confirm-fork")
    await expect(panel.chat.texts).to_have_text([*answered("h1"), "h2"])
    await panel.chat.retry()
    await panel.chat.done()
    assert await panel.chat.versions() == ["", "", "", "2/2"]
    added = ["8 fork 4 __start__ 3", "9 loop 5 booking 8", "10 loop 6 reply 9", "11 loop 7 - 10"]
    assert await panel.chain(12) == drawn(TWO_TURNS) + added


async def test_something_new_is_said_from_an_old_checkpoint(page: Page) -> None:
    panel = await Panel.begin(page)
    await panel.open(8)
    await panel.go(3, "state")
    await page.locator("form[data-say] textarea").fill("another way")
    await panel.press("send-from")
    await panel.chat.done()
    await expect(panel.chat.texts).to_have_text(answered("h1", "another way"))
    assert await panel.chat.versions() == ["", "", "2/2", ""]
    added = ["8 input 3 __start__ 3", "9 loop 4 booking 8", "10 loop 5 reply 9", "11 loop 6 - 10"]
    assert await panel.chain(12) == drawn(TWO_TURNS) + added
    await page.goto(panel.url)
    await panel.chat.connected()
    await panel.chat.undo()
    await expect(panel.chat.texts).to_have_text(answered("h1", "h2"))


async def test_a_text_that_came_too_late_is_given_back(
    page: Page, new_page: NewPage, allowed_problems: list[str]
) -> None:
    """On a phone, without JavaScript."""
    allowed_problems.append("status of 409")
    panel = await Panel.begin(page)
    await panel.open(8)
    await panel.go(4, "state")
    session = await page.context.storage_state()
    size = {"width": 390, "height": 800}
    plain = await new_page(storage_state=session, viewport=size, java_script_enabled=False)
    await plain.goto(page.url)
    await expect(plain.locator("[data-replaces]")).to_be_visible()
    await page.goto(panel.url)
    await panel.chat.connected()
    await panel.chat.say("h3")
    text = "<b>kept</b>"
    await plain.locator("form[data-say] textarea").fill(text)
    await plain.locator("[data-action=send-from]").click()
    await expect(plain.locator("[role=alert]")).to_contain_text("moved on")
    await expect(plain.locator("form[data-say] textarea")).to_have_value(text)
    await plain.locator("[data-action=send-from]").click()
    await expect(plain.locator("article[data-role=human] [data-content]").last).to_have_text(text)
    await plain.goto(f"{panel.url}checkpoints/")
    await plain.locator("tr[data-next=__start__] .checkpoint__name a").first.click()
    await plain.locator("[data-action=fork]").click()
    assert not await plain.evaluate(WIDE)
