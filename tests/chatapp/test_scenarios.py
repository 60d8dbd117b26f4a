"""The pages about scenarios: begin one, play it in the server, take along what one did; and who may not."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient

from branching.models import Play, Thread
from branching.scenarios import plays, reading
from chatapp import engine, stage
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)

SOURCE = """
title = "Mine"
[[model.reply]]
text = "One two."
hold_at_token = 1
[[step]]
do = "send"
text = "q"
[step.expect]
shown = ["q", "One"]
run_state = "running"
[[step]]
do = "release"
[step.expect]
shown = ["q", "One two."]
run_state = "idle"
"""


@pytest.fixture(autouse=True)
def played_here(settings: Any) -> None:
    settings.QA_SCENARIOS = True


async def begun(tab: Tab, **fields: Any) -> Tab:
    """A new thread that plays this scenario."""
    engine.get().plays = True
    response = await tab.client.post("/scenarios/", {"source": SOURCE, "then": "steps", **fields})
    assert response.status_code == 302, response.content.decode()
    thread = await Thread.objects.alatest("created_at")
    assert str(thread.pk) in response["Location"]
    return Tab(tab.client, thread)


async def over(tab: Tab) -> None:
    """Wait until nothing is being played."""
    for _ in range(500):
        if not stage.performances.goes_on(tab.thread.pk):
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it is played for ever")


async def page(tab: Tab) -> str:
    return (await tab.client.get(f"{tab.url}scenario/")).content.decode()


async def test_a_scenario_is_played_step_by_step_with_what_was_expected_beside_what_was_found(tab: Tab) -> None:
    play = await begun(tab)
    assert 'data-play="waiting"' in await page(play)
    await play.post("scenario/play/", steps="1")
    await over(play)
    shown = await page(play)
    assert shown.count('data-outcome="holds"') == 1 and shown.count('data-outcome="next"') == 1
    facts = (await play.client.get(f"{play.url}scenario/facts/")).json()
    assert facts["held"] and facts["running"] and facts["asked"] == ["q"] and len(facts["ids"]) == 2
    await play.post("scenario/play/")
    await over(play)
    shown = await page(play)
    assert 'data-play="held"' in shown and shown.count('data-outcome="holds"') == 3
    assert await play.texts() == ["q", "One two."]


async def test_what_does_not_hold_is_unfolded(tab: Tab) -> None:
    play = await begun(tab, source=SOURCE.replace('"One two."]', '"Two."]'), then="play")
    await over(play)
    shown = await page(play)
    assert 'data-play="failed"' in shown and shown.count('data-verdict="fails"') == 1 and "Two." in shown


async def test_one_of_the_starting_set_is_played_by_its_name(tab: Tab) -> None:
    index = (await tab.client.get("/scenarios/")).content.decode()
    for each in stage.starting_set():
        assert f'data-scenario="{each.name}"' in index
    assert "<b hx-get" not in index and "&lt;b hx-get" in index  # the title of case 87
    play = await begun(tab, name="case-48-retry", then="play")
    await over(play)
    assert 'data-play="held"' in await page(play)


async def test_a_broken_file_is_refused_with_its_place_and_kept_in_the_box(tab: Tab) -> None:
    for fields in ({"source": "title = 1"}, {"source": "", "name": "../../settings"}, {"source": ""}):
        response = await tab.client.post("/scenarios/", fields)
        assert response.status_code == 422
    response = await tab.client.post("/scenarios/", {"source": "title = 'x'\n<b>"})
    assert "This is no TOML" in response.content.decode() and "&lt;b&gt;</textarea>" in response.content.decode()


async def test_what_was_done_comes_as_a_file_that_does_it_again(tab: Tab) -> None:
    await tab.send("a")
    response = await tab.client.get(f"{tab.url}scenario.toml")
    assert response["Content-Disposition"] == 'attachment; filename="a.toml"'
    scenario = reading.read(response.content.decode())
    assert [(step.do, step.text) for step in scenario.steps] == [("send", "a")]
    play = await begun(tab, source=response.content.decode(), then="play")
    await over(play)
    assert 'data-play="held"' in await page(play)


async def test_an_empty_thread_is_no_scenario(tab: Tab) -> None:
    response = await tab.client.get(f"{tab.url}scenario.toml")
    assert response.status_code == 409 and "be told as a scenario" in response.content.decode()


async def test_where_they_are_not_played_there_are_no_such_pages(tab: Tab, settings: Any) -> None:
    play = await begun(tab)
    settings.QA_SCENARIOS = False
    for url in ("/scenarios/", f"{play.url}scenario/", f"{play.url}scenario/facts/"):
        assert (await tab.client.get(url)).status_code == 404, url
    for url in ("/scenarios/", f"{play.url}scenario/play/", f"{play.url}scenario/release/"):
        assert (await tab.client.post(url, {"source": SOURCE})).status_code == 404, url
    assert 'data-action="scenarios"' not in (await tab.client.get(f"{tab.url}checkpoints/")).content.decode()


async def test_a_play_is_missing_for_anybody_else_and_on_a_thread_that_has_none(tab: Tab, bob: User) -> None:
    play, client = await begun(tab), AsyncClient()
    await client.aforce_login(bob)
    for thread, who in ((play, client), (tab, tab.client)):
        for path in ("", "facts/"):
            assert (await who.get(f"{thread.url}scenario/{path}")).status_code == 404
        for path in ("play/", "release/"):
            assert (await who.post(f"{thread.url}scenario/{path}")).status_code == 404
    assert (await client.get(f"{play.url}scenario.toml")).status_code == 404
    assert not (await plays.of(play.thread.pk)).outcomes


INTERRUPTED = (
    SOURCE.replace('do = "release"', 'do = "interrupt"').split('[step.expect]\nshown = ["q", "One two')[0]
    + """
[step.expect]
open = "lost"
run_state = "failed"
[[step]]
do = "retry"
[step.expect]
run_state = "running"
[[step]]
do = "stop"
[step.expect]
states = ["done", "stopped"]
"""
)


async def test_a_reply_is_broken_off_as_by_a_server_that_goes_down_and_resumed(tab: Tab) -> None:
    play = await begun(
        tab, source=INTERRUPTED.replace("hold_at_token = 1", "hold_at_token = 1\ntimes = 2"), then="play"
    )
    await over(play)
    assert 'data-play="held"' in await page(play)


async def test_a_play_whose_file_is_read_no_more_says_so(tab: Tab) -> None:
    """As after an upgrade that has given a key another name."""
    play = await begun(tab)
    await Play.objects.filter(pk=play.thread.pk).aupdate(source="title = 1")
    assert (await tab.client.get(f"{play.url}scenario/")).status_code == 422
    assert (await tab.client.get(play.url)).status_code == 200
