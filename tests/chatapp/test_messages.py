"""Commands by POST: what they do, what they answer, and what they refuse."""

from __future__ import annotations

import pytest

from tests.chatapp.conftest import Tab, texts_of

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_message_is_on_the_page_that_answers_it(tab: Tab) -> None:
    response = await tab.post("messages/", content="h1")
    assert response.status_code == 200
    assert texts_of(response.content.decode())[0] == "h1"
    await tab.rest()
    assert await tab.texts() == ["h1", "回复：h1"]


async def test_without_javascript_a_command_leads_back_to_the_page(tab: Tab) -> None:
    response = await tab.post("messages/", htmx=False, content="h1")
    assert (response.status_code, response["Location"]) == (302, tab.url)
    await tab.rest()
    page = await tab.client.get(tab.url)
    assert texts_of(page.content.decode()) == ["h1", "回复：h1"]


async def test_the_address_of_a_command_opened_as_a_page_leads_to_the_page_it_belongs_to(tab: Tab) -> None:
    """From a bookmark, the browser's history, or by logging in after a command that came too late."""
    for path in ("messages/", "head/", "head/undo/", "runs/"):
        response = await tab.client.get(tab.url + path)
        assert (response.status_code, response["Location"]) == (302, tab.url)
    for address in ("/threads/", "/lesson/", "/logout/"):
        response = await tab.client.get(address)
        assert (response.status_code, response["Location"]) == (302, "/")
    assert (await tab.client.get(tab.url + "head/", headers={"HX-Request": "true"})).status_code == 405
    assert (await tab.client.put(tab.url)).status_code == 405


async def test_case_44_the_same_request_twice_makes_one_version(tab: Tab) -> None:
    await tab.send("h1")
    reply = (await tab.view()).versions[1]
    for _ in range(2):
        response = await tab.post(f"messages/{reply.pk}/replay/", key="pressed-twice")
        assert response.status_code == 200
        await tab.rest()
    assert (await tab.view()).versions[1].total == 2


async def test_a_stale_command_gets_the_current_page_and_changes_nothing(tab: Tab) -> None:
    """Two tabs: the first has sent since the second was drawn."""
    stale = (await tab.view()).head_version
    await tab.send("from the first tab")
    response = await tab.post("messages/", content="from the second tab", head_version=stale)
    assert response.status_code == 409
    html = response.content.decode()
    assert texts_of(html)[:2] == ["from the first tab", "回复：from the first tab"]
    assert "moved on elsewhere" in html
    assert await tab.texts() == ["from the first tab", "回复：from the first tab"]


async def test_without_javascript_a_stale_text_comes_back_in_the_composer(tab: Tab) -> None:
    stale = (await tab.view()).head_version
    await tab.send("h1")
    response = await tab.post("messages/", htmx=False, content="typed with care", head_version=stale)
    assert response.status_code == 409
    assert "typed with care</textarea>" in response.content.decode()


async def test_an_edit_is_two_requests_and_the_first_shows_the_message_unanswered(tab: Tab) -> None:
    """Case 53: where the second request never comes, the page offers to generate the reply."""
    await tab.send("h1")
    await tab.send("h2")
    first = (await tab.view()).versions[0]
    response = await tab.post(f"messages/{first.pk}/edit/", content="h1'")
    html = response.content.decode()
    assert texts_of(html) == ["h1'"]
    assert 'hx-trigger="load"' in html
    page = (await tab.client.get(tab.url)).content.decode()
    assert texts_of(page) == ["h1'"]
    assert 'data-action="retry"' in page
    await tab.post("runs/")
    await tab.rest()
    assert await tab.texts() == ["h1'", "回复：h1'"]


@pytest.mark.parametrize("text", ["", "  \n "])
async def test_case_26_an_empty_edit_is_refused_in_its_box(tab: Tab, text: str) -> None:
    await tab.send("h1")
    first = (await tab.view()).versions[0]
    response = await tab.post(f"messages/{first.pk}/edit/", content=text)
    assert response.status_code == 422
    assert "data-edit" in response.content.decode()
    assert (await tab.view()).versions[0].total == 1


async def test_case_26_an_edit_without_a_change_makes_no_version(tab: Tab) -> None:
    await tab.send("h1")
    first = (await tab.view()).versions[0]
    response = await tab.post(f"messages/{first.pk}/edit/", content=" h1 ")
    assert response.status_code == 200
    assert "hx-trigger" not in response.content.decode()
    assert (await tab.view()).versions[0].total == 1


async def test_a_stale_edit_comes_back_in_its_box(tab: Tab) -> None:
    await tab.send("h1")
    stale = (await tab.view()).head_version
    await tab.send("h2")
    first = (await tab.view()).versions[0]
    response = await tab.post(f"messages/{first.pk}/edit/", content="typed with care", head_version=stale)
    assert response.status_code == 409
    assert "typed with care</textarea>" in response.content.decode()


async def test_the_arrows_move_head_and_undo_takes_it_back(tab: Tab) -> None:
    await tab.send("h1")
    await tab.post(f"messages/{(await tab.view()).versions[1].pk}/replay/")
    await tab.rest()
    shown = (await tab.view()).versions[1]
    await tab.post("head/", message=shown.previous)
    assert (await tab.view()).versions[1].position == 1
    await tab.post("head/undo/")
    assert (await tab.view()).versions[1].pk == shown.pk


async def test_case_40_a_link_shows_its_checkpoint_wherever_head_is(tab: Tab) -> None:
    await tab.send("h1")
    link = (await tab.view()).versions[0].checkpoint_id
    old = (await tab.view()).versions[1].checkpoint_id
    await tab.post(f"messages/{(await tab.view()).versions[0].pk}/edit/", content="h1'")
    for checkpoint, texts in ((link, ["h1"]), (old, ["h1", "回复：h1"])):
        page = await tab.client.get(f"{tab.url}checkpoints/{checkpoint}/")
        assert texts_of(page.content.decode()) == texts
    assert await tab.texts() == ["h1'"]


async def test_a_message_that_is_too_long_is_refused_with_its_reason(tab: Tab) -> None:
    response = await tab.post("messages/", content="x" * 100_001)
    assert response.status_code == 422
    assert "too long" in response.content.decode()


async def test_bad_fields_are_refused_and_change_nothing(tab: Tab) -> None:
    for fields in ({"head_version": "x"}, {"head_version": ""}, {"key": ""}):
        assert (await tab.post("messages/", content="h1", **fields)).status_code == 422
    assert (await tab.post("head/")).status_code == 422
    assert await tab.texts() == []


async def test_case_17_an_edit_says_that_pictures_and_files_stay_behind(tab: Tab) -> None:
    await tab.send("Look:")
    pk = (await tab.view()).versions[0].pk
    path = f"{tab.url}messages/{pk}/edit/"
    assert "data-left-behind" not in (await tab.client.get(path)).content.decode()
    await tab.thread.messages.filter(pk=pk).aupdate(data={"parts": [{"kind": "image", "name": "cat.png"}]})
    page = (await tab.client.get(path)).content.decode()
    assert "data-left-behind" in page and "cat.png" in page
