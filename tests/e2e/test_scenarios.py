"""The starting set of scenarios in a browser, by the command that a tester runs against a live server."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import expect

from tests.e2e.axe import Axe
from tests.e2e.conftest import NewPage
from tests.e2e.pages import Chat
from tests.e2e.server import ROOT, Server

WRONG = """
title = "Not as it should be"
[[model.reply]]
text = "One."
[[step]]
do = "send"
text = "q"
[step.expect]
shown = ["q", "Two."]
[[step]]
do = "previous"
[[step]]
do = "undo"
"""


@pytest.fixture(scope="module")
def playing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that plays scenarios; the one that the other tests share does not."""
    server = Server(tmp_path_factory.mktemp("scenarios"), QA_SCENARIOS="1")
    server.manage("migrate", "--verbosity", "0")
    server.start()
    yield server
    server.stop()


async def run(server: Server, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "manage.py", "run_scenarios", "--url", server.url, *arguments]
    options = {"cwd": ROOT, "env": server.env, "capture_output": True, "text": True, "timeout": 240}
    return await asyncio.to_thread(subprocess.run, command, **options)


async def test_the_starting_set_holds_in_a_browser(playing: Server, tmp_path: Path) -> None:
    done = await run(playing, "--report", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "index.html").read_text()
    pictures = re.findall(r'<img [^>]*src="([^"]+)"', page)
    assert pictures and sorted(pictures) == sorted(path.name for path in tmp_path.glob("*.png"))
    addresses = re.findall(r'<[^>]* (?:src|href)="([^"]*)"', page)
    assert "<script" not in page and all(re.fullmatch(r"[\w.#-]+", each) for each in addresses)
    assert {each for each in addresses if not each.startswith("#")} <= {path.name for path in tmp_path.iterdir()}


async def test_what_does_not_hold_is_told_and_fails_the_command(playing: Server, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(WRONG)
    (tmp_path / "elsewhere.toml").write_text('only = "server"' + WRONG)
    files = [str(tmp_path / name) for name in ("wrong.toml", "elsewhere.toml")]
    done = await run(playing, *files, "--report", str(tmp_path / "report"), "--patience", "1")
    assert done.returncode == 1 and "skipped  elsewhere" in done.stdout
    assert "step 1: shown: expected q | Two.; found q | One." in done.stdout
    assert "step 2: There is no" in done.stdout
    assert 'data-verdict="fails"' in (tmp_path / "report" / "index.html").read_text()


async def test_a_server_that_plays_none_says_what_to_do(server: Server, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(WRONG)
    done = await run(server, str(tmp_path / "wrong.toml"), "--report", str(tmp_path / "report"))
    assert done.returncode == 1 and "start it with QA_SCENARIOS=1" in done.stdout


async def test_what_is_done_on_a_page_is_handed_over_as_a_file_that_does_it_again(
    playing: Server, new_page: NewPage, tmp_path: Path
) -> None:
    """With the demo model: its answers are the script, whatever answers where the file is played."""
    page = await new_page(base_url=playing.url)
    chat = await Chat.begin(page, "chat")
    await chat.say("Why is the sky blue?")
    await chat.regenerate(1)
    await chat.step(1, "previous")
    await chat.send("/long 600")
    await expect(chat.live).not_to_be_empty()
    await chat.stop()
    await chat.edit(0, "And the sea?")
    await chat.undo()
    shown = [row.text for row in await chat.rows()]
    await page.locator(".topbar [data-action=time-machine]").click()
    async with page.expect_download() as coming:
        await page.locator("[data-action=record]").click()
    file = tmp_path / "mine.toml"
    await (await coming.value).save_as(file)
    assert re.findall(r'do = "([a-z]+)"', file.read_text()) == [
        "send",
        "regenerate",
        "previous",
        "send",
        "stop",
        "edit",
        "undo",
    ]
    assert len(shown) == 4
    done = await run(playing, str(file), "--report", str(tmp_path / "report"))
    assert done.returncode == 0, done.stdout + done.stderr + file.read_text()


async def test_one_is_played_in_the_server_step_by_step_and_then_looked_at(playing: Server, new_page: NewPage) -> None:
    page = await new_page(base_url=playing.url)
    await Chat.begin(page)
    await page.locator(".topbar [data-action=time-machine]").click()
    await page.locator("[data-action=scenarios]").click()
    assert not await Axe(page).all_violations()
    await page.locator("[data-scenario=case-47-stop] [data-action=step-scenario]").click()
    await page.locator("[data-action=next-step]").click()
    steps = page.locator(".play__step")
    await expect(steps.first).to_have_attribute("data-outcome", "holds")
    await expect(steps.nth(1)).to_have_attribute("data-outcome", "next")
    session = await page.context.storage_state()
    address = page.url.removesuffix("scenario/")
    other = await Chat.open(await new_page(storage_state=session, base_url=playing.url), address)
    await expect(other.live).to_have_text("One two three four")
    await page.locator("[data-action=play-rest]").click()
    await expect(page.locator("[data-play=held]")).to_be_visible()
    await expect(other.texts).to_have_text(["count", "One two three four", "go on", "On from what was stopped."])
    await expect(page.locator("[data-outcome=holds]")).to_have_count(7)
    assert not await Axe(page).all_violations()
