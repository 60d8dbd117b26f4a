"""The pages and answers of a long thread: case 65 and 67 of the field log, as the server sees them."""

from __future__ import annotations

import re
import time

import pytest
from django.http import HttpResponse

from branching import heads
from branching.database import on_database
from branching.models import IndexedCheckpoint
from tests.chatapp.conftest import Tab, texts_of
from tests.long import Line, plant
from tests.page import Element, parse

pytestmark = pytest.mark.django_db(transaction=True)

LENGTH = 320
FORKS = [1, 60, 60, 160, 320]


@pytest.fixture
async def line(tab: Tab) -> Line:
    return await on_database(plant)(tab.thread, LENGTH, FORKS)


def shown(response: HttpResponse) -> list[int]:
    """The places of the messages in an answer."""
    return [int(each["data-slot"]) for each in parse(response.content.decode()).with_("data-slot")]


def element(response: HttpResponse, **attributes: str) -> Element:
    names = {name.replace("_", "-"): value for name, value in attributes.items()}
    page = parse(response.content.decode())
    return next(page.all(lambda each: names.items() <= each.attributes.items()))


async def test_a_page_is_the_end_and_says_where_the_rest_is(tab: Tab, line: Line) -> None:
    response = await tab.client.get(tab.url)
    assert shown(response) == list(range(271, LENGTH + 1))
    more = element(response, data_action="earlier")
    assert more["hx-get"] == f"{tab.url}messages/{line.path[269]}/earlier/"
    stretch = await tab.client.get(more["hx-get"])
    assert shown(stretch) == list(range(221, 271))
    assert element(stretch, data_action="earlier")["href"] == f"{tab.url}messages/{line.path[219]}/"


async def test_a_page_of_one_message_has_it_and_what_stands_around(tab: Tab, line: Line) -> None:
    response = await tab.client.get(f"{tab.url}messages/{line.path[99]}/")
    assert shown(response) == [*range(75, 126), *range(271, LENGTH + 1)]
    landed = element(response, data_landed="")
    assert (landed["data-pk"], "autofocus" in landed.attributes) == (str(line.path[99]), True)
    later = element(response, data_action="later")
    assert shown(await tab.client.get(later["hx-get"])) == list(range(126, 176))


async def test_a_message_in_the_window_is_shown_there(tab: Tab, line: Line) -> None:
    response = await tab.client.get(f"{tab.url}messages/{line.path[-1]}/")
    assert shown(response) == list(range(271, LENGTH + 1))
    assert element(response, data_landed="")["data-pk"] == str(line.path[-1])


async def test_a_message_of_another_version_leads_to_that(tab: Tab, line: Line) -> None:
    there = line.forks[1]
    response = await tab.client.get(f"{tab.url}messages/{there}/", follow=True)
    assert response.redirect_chain == [(f"{tab.url}checkpoints/{there}/?message={there}", 302)]
    assert shown(response) == list(range(11, 61))
    assert texts_of(response.content.decode())[-1].startswith("ai 60 again")


async def test_a_version_to_look_at_is_a_window_too(tab: Tab, line: Line) -> None:
    response = await tab.client.get(f"{tab.url}checkpoints/{line.path[-1]}/")
    assert shown(response) == list(range(271, LENGTH + 1))
    stretch = await tab.client.get(element(response, data_action="earlier")["hx-get"])
    assert shown(stretch) == list(range(221, 271))
    assert not re.search(r"<form|data-action=\"(edit|regenerate|next-version)\"", stretch.content.decode())
    assert "checkpoint=" in element(stretch, data_action="earlier")["hx-get"]


async def test_the_answer_to_an_arrow_far_up_shows_that_place(tab: Tab, line: Line) -> None:
    await tab.post("head/", message=line.forks[1])
    response = await tab.post("head/", message=line.path[59])
    assert shown(response) == [*range(35, 86), *range(271, LENGTH + 1)]
    assert (await tab.view()).head == f"{line.path[-1]}"


async def test_without_htmx_one_is_sent_to_the_place(tab: Tab, line: Line) -> None:
    response = await tab.post("head/", htmx=False, message=line.forks[1])
    assert (response.status_code, response["Location"]) == (302, f"{tab.url}messages/{line.forks[1]}/")


async def test_a_message_far_up_gets_its_edit_box(tab: Tab, line: Line) -> None:
    path = f"{tab.url}messages/{line.path[10]}/edit/"
    box = await tab.client.get(path, headers={"HX-Request": "true"})
    assert "human 11. " in element(box, name="content").text
    page = await tab.client.get(path)
    assert 11 in shown(page) and "human 11. " in element(page, id=f"edit-text-m{line.path[10]}").text


@pytest.mark.parametrize("to", ["", "?to=", "?to=x"])
async def test_the_way_on_needs_an_end(tab: Tab, line: Line, to: str) -> None:
    assert (await tab.client.get(f"{tab.url}messages/{line.path[9]}/later/{to}")).status_code == 422


@pytest.mark.parametrize("end", ["?checkpoint=x", "?checkpoint=a/b", "?checkpoint=%00"])
async def test_a_stretch_of_a_version_that_is_not_there_is_missing(tab: Tab, line: Line, end: str) -> None:
    assert (await tab.client.get(f"{tab.url}messages/{line.path[9]}/earlier/{end}")).status_code == 404


async def test_a_stretch_that_is_not_on_the_way_is_missing(tab: Tab, line: Line) -> None:
    assert (await tab.client.get(f"{tab.url}messages/{10**30}/earlier/")).status_code == 404
    assert (await tab.client.get(f"{tab.url}messages/{10**30}/")).status_code == 404
    assert (await tab.client.get(f"{tab.url}messages/{line.path[9]}/later/?to={10**30}")).status_code == 404
    assert (await tab.client.get(f"{tab.url}messages/{line.forks[1]}/later/?to={line.path[-1]}")).status_code == 404
    assert (await tab.client.get(f"{tab.url}messages/{line.path[9]}/later/?to=999999")).status_code == 404


async def test_a_thread_of_200_turns_with_four_versions_of_each_reply_opens_at_once(tab: Tab) -> None:
    """Case 65: 4 kB a reply."""
    forks = [depth for depth in range(2, 401, 2) for _ in range(3)]
    await on_database(plant)(tab.thread, 400, forks, "A word. " * 500)
    await tab.client.get(tab.url)
    start = time.perf_counter()
    response = await tab.client.get(tab.url)
    assert time.perf_counter() - start < 1
    assert len(shown(response)) == 50


async def test_the_arrow_at_the_top_of_a_thousand_checkpoints_leads_there_and_back(tab: Tab) -> None:
    """Case 67: what is right never depends on what is on the page."""
    line = await on_database(plant)(tab.thread, 1_000, [1])
    top = parse((await tab.client.get(f"{tab.url}messages/{line.path[0]}/")).content.decode())
    arrow = next(each for each in top.with_("data-total") if each["data-position"] == "1")
    assert arrow["data-total"] == "2"
    await tab.post("head/", message=line.forks[0])
    assert await tab.texts() == [(await tab.view()).versions[0].text] and (await tab.view()).length == 1
    await tab.post("head/", message=line.path[0])
    assert ((await tab.view()).length, (await tab.view()).head) == (1_000, f"{line.path[-1]}")
    assert await heads.landing(tab.thread.pk, line.path[0]) == f"{line.path[-1]}"


async def test_messages_that_came_in_one_step_are_shown_though_only_the_last_has_a_checkpoint(
    tab: Tab, line: Line
) -> None:
    """As the results of several tools that ran at once."""
    middle, last = line.path[-2:]
    await IndexedCheckpoint.objects.filter(message=middle).adelete()
    response = await tab.client.get(tab.url)
    assert shown(response) == list(range(271, LENGTH + 1))
    there = await heads.landing(tab.thread.pk, middle)
    assert there == f"{last}"
