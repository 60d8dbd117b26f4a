"""What becomes of replies when the server is stopped, killed or started twice. No browser: see `tests/person.py`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from tests.e2e.server import Server
from tests.page import Screen
from tests.person import Person, Tab

LONG = "/long 400"


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that is there to be killed."""
    server = Server(tmp_path_factory.mktemp("mortal"))
    server.manage("migrate", "--verbosity", "0")
    yield server
    server.stop()


@pytest_asyncio.fixture(loop_scope="session")
async def person(mortal: Server) -> AsyncIterator[Person]:
    if mortal.process is None:
        mortal.start()
    person = Person(mortal.url)
    yield person
    await person.leave()


def has_begun(screen: Screen) -> bool:
    return len(screen.rows) == 2 and screen.rows[1].state == "streaming" and len(screen.rows[1].text) > 50


async def under_way(person: Person) -> Tab:
    """A thread whose reply is being written."""
    tab = await person.begin("chat")
    async with tab.socket() as socket:
        await tab.send(LONG)
        await tab.see(socket, until=has_begun)
    return tab


async def is_whole_after_resuming(tab: Tab) -> None:
    """The page offers to resume at once, and one message has one reply afterwards."""
    await tab.load()
    assert tab.screen.run_state == "failed"
    assert [row.state for row in tab.screen.rows] == ["done", "failed"]
    [resume] = tab.screen.forms("retry")
    assert (await tab.press(resume)).status_code == 200
    await tab.rest()
    assert [(row.role, row.state) for row in tab.screen.rows] == [("human", "done"), ("ai", "done")]
    assert tab.screen.texts[0] == LONG
    assert len(tab.screen.texts[1].split()) > 300
    assert not tab.screen.transcript.with_("data-versions")


async def test_case_76_a_server_that_is_told_to_stop_ends_soon_and_hands_its_runs_over(
    mortal: Server, person: Person
) -> None:
    tabs = [await under_way(person) for _ in range(3)]
    async with tabs[0].socket():
        start = time.monotonic()
        await asyncio.to_thread(mortal.stop)
        assert time.monotonic() - start < 8
    assert not list(Path(mortal.env["DATA_DIR"]).glob("*-wal")), "the databases were not closed"
    mortal.start()
    await asyncio.gather(*(is_whole_after_resuming(tab) for tab in tabs))
    assert "Traceback" not in mortal.log()


async def test_a_question_that_waits_outlives_its_server(mortal: Server, person: Person) -> None:
    """It is answered in the next one, and what was approved is done once."""
    tab = await person.begin("concierge")
    day = (date.today() + timedelta(days=20)).isoformat()
    await tab.send(f"Book the standard room in Bell Tower Hotel for 2 nights from {day}")
    await tab.rest()
    await asyncio.to_thread(mortal.restart, kill=True)
    await tab.load()
    assert tab.screen.run_state == "waiting"
    [approve] = tab.screen.forms("approve")
    assert (await tab.press(approve)).status_code == 200
    await tab.rest()
    assert tab.screen.texts[-1].startswith("Booked:")
    assert "All threads agree" in mortal.manage("check_threads")


async def test_case_57_a_server_that_is_killed_loses_no_message(mortal: Server, person: Person) -> None:
    tabs = [await under_way(person) for _ in range(3)]
    said = await person.begin("echo")
    assert (await said.send("acknowledged in the last moment")).status_code == 200
    await asyncio.to_thread(mortal.restart, kill=True)
    await asyncio.gather(*(is_whole_after_resuming(tab) for tab in tabs))
    await said.load()
    assert said.screen.texts[0] == "acknowledged in the last moment"
    assert "agree" in mortal.manage("check_threads")


async def test_case_85_a_page_hears_that_the_server_goes_and_gets_everything_when_it_is_back(
    mortal: Server, person: Person
) -> None:
    tab = await under_way(person)
    async with tab.socket() as socket:
        await asyncio.to_thread(mortal.restart)
        await socket.wait_closed()
        assert socket.close_code in (1001, 1006, 1012), "the page would not connect again"
    async with tab.socket() as socket:
        await tab.see(socket, until=lambda screen: screen.run_state == "failed")
    await is_whole_after_resuming(tab)


class Second(Server):
    """A server of another make, without a start-up hook, on the data of a first."""

    def __init__(self, first: Server) -> None:
        super().__init__(first.log_path.parent)
        self.log_path = self.log_path.with_name("second.log")

    def command(self) -> list[str]:
        return ["daphne", "--port", str(self.port), "chatapp.asgi:application"]


async def test_case_76_a_server_of_another_make_ends_soon_too(mortal: Server, person: Person) -> None:
    """With a page open and a reply under way; it has no start-up hook to end them with."""
    await asyncio.to_thread(mortal.stop)
    second = Second(mortal)
    second.start()
    other = Person(second.url)
    try:
        tab = await under_way(other)
        async with tab.socket() as socket:
            start = time.monotonic()
            await asyncio.to_thread(second.stop)
            assert time.monotonic() - start < 8
            await socket.wait_closed()
        assert "took too long" not in second.log()
    finally:
        await other.leave()
        second.stop()
        mortal.start()


async def test_case_74_two_processes_write_at_once_and_lose_no_turn(mortal: Server, person: Person) -> None:
    second = Second(mortal)
    second.start()
    others = Person(second.url)
    try:
        tabs = [await (person if number % 2 else others).begin("chat") for number in range(10)]
        for _ in range(2):
            answers = await asyncio.gather(*(tab.send("/long 40") for tab in tabs))
            assert [answer.status_code for answer in answers] == [200] * 10
            await asyncio.gather(*(tab.rest() for tab in tabs))
        assert [len(tab.screen.rows) for tab in tabs] == [4] * 10
    finally:
        await others.leave()
        second.stop()
    assert "agree" in mortal.manage("check_threads")


async def test_case_79_a_second_process_on_the_same_data_is_refused(
    mortal: Server, person: Person, tmp_path: Path
) -> None:
    tab = await under_way(person)
    surplus = Server(tmp_path, DATA_DIR=mortal.env["DATA_DIR"])
    assert await asyncio.to_thread(surplus.launch().wait, 30) != 0
    assert "Another process already serves the data" in surplus.log()
    assert (await tab.rest()).rows[1].state == "done"


async def test_case_79_several_workers_are_refused(tmp_path: Path) -> None:
    by_option, by_variable = Server(tmp_path), Server(tmp_path, WEB_CONCURRENCY="2")
    by_option.manage("migrate", "--verbosity", "0")
    for server, options in ((by_option, ("--workers", "2")), (by_variable, ())):
        await asyncio.to_thread(server.launch(*options).wait, 30)
        assert "Another process already serves the data" in server.log()
        assert "stopping the parent process" in server.log()
        server.log_path.unlink()
