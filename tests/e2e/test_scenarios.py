"""The starting set of scenarios in a browser, by the command that a tester runs against a live server."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

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
    assert "<script" not in page and "://" not in page.replace(playing.url, "").replace("http://www.w3.org", "")


async def test_what_does_not_hold_is_told_and_fails_the_command(playing: Server, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(WRONG)
    done = await run(playing, str(tmp_path / "wrong.toml"), "--report", str(tmp_path / "report"), "--patience", "1")
    assert done.returncode == 1
    assert "step 1: shown: expected q | Two.; found q | One." in done.stdout
    assert "step 2: There is no" in done.stdout
    assert 'data-verdict="fails"' in (tmp_path / "report" / "index.html").read_text()


async def test_a_server_that_plays_none_says_what_to_do(server: Server, tmp_path: Path) -> None:
    (tmp_path / "wrong.toml").write_text(WRONG)
    done = await run(server, str(tmp_path / "wrong.toml"), "--report", str(tmp_path / "report"))
    assert done.returncode == 1 and "start it with QA_SCENARIOS=1" in done.stdout
