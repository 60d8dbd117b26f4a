"""What one does by hand at a checkpoint, by form and without JavaScript: copy, write, say, run again."""

from __future__ import annotations

import html
import re

import pytest

from branching import threads
from branching.limits import MESSAGE_MAX
from branching.models import Booking, StoredCheckpoint
from tests.chatapp.conftest import Tab
from tests.chatapp.test_machine import EVIL, ids, page, rows, send_form

pytestmark = pytest.mark.django_db(transaction=True)

FORMS = {"replay/": {}, "send/": {"content": "x"}, "fork/": {"node-0": "booking"}, "thread/": {}}
FORMS_BESIDE = {"fork/": {"where": "beside", "node-0": ""}}


async def said(tab: Tab) -> list[str]:
    return [version.text for version in (await tab.view()).versions]


async def test_a_missing_checkpoint_is_an_error_in_every_form(tab: Tab) -> None:
    """One that is of another thread is missing as well; and nothing comes of it."""
    await tab.send("h1")
    other = Tab(tab.client, await threads.create(tab.thread.owner, assistant="echo"))
    await other.send("elsewhere")
    [foreign, *_], known = await ids(other), await ids(tab)
    for path, given in [*FORMS.items(), *FORMS_BESIDE.items()]:
        for missing in ("nowhere", foreign):
            assert (await send_form(tab, f"{missing}/{path}", **given)).status_code == 404, path
    assert await ids(tab) == known


async def test_a_checkpoint_whose_state_is_lost_is_an_error_in_every_form(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    await StoredCheckpoint.objects.filter(checkpoint_id=known[2]).adelete()
    for path, given in [*FORMS.items(), *FORMS_BESIDE.items()]:
        response = await send_form(tab, f"{known[2]}/{path}", **given)
        assert response.status_code == 409 and "be found" in response.content.decode(), path
    assert await ids(tab) == known


async def test_unknown_and_runtime_fields_are_refused_field_by_field_beside_as_under(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    given = {"node-0": "booking", "set-0-next": '["reply"]', "set-0-metadata": "{}", "set-0-mood": '"good"'}
    for where in ("under", "beside"):
        for pressed in ({"preview": "1"}, {}):
            response = await send_form(tab, f"{known[2]}/fork/", where=where, **given, **pressed)
            text = html.unescape(response.content.decode())
            assert response.status_code == 422
            assert {"next", "metadata", "mood"} <= set(re.findall(r'data-problem="(\w+)"', text)), text
            assert "only fields of its state can be changed" in text and "no such field" in text
    assert await ids(tab) == known


async def test_a_copy_beside_is_looked_at_and_then_made(tab: Tab) -> None:
    """Its parent is the parent of the one that was chosen; the form says that LangGraph does not document it."""
    await tab.send("h1")
    known = await ids(tab)
    form = await page(tab, f"{known[2]}/fork/")
    assert "a value that its documentation does not mention" in form and "__copy__" in form
    given = {"where": "beside", "node-0": ""}
    looked = (await send_form(tab, f"{known[2]}/fork/", preview="1", **given)).content.decode()
    assert 'data-looked="reply"' in looked and 'data-added="fork"' in looked
    assert "as_node=&#x27;__copy__&#x27;" in looked and "&quot;as_node&quot;: &quot;__copy__&quot;" in looked
    assert await ids(tab) == known
    assert (await send_form(tab, f"{known[2]}/fork/", **given)).status_code == 302
    [copy, *_] = rows(await page(tab))
    assert (copy["source"], copy["parent-id"], copy["step"], copy["next"]) == ("fork", known[1], "2", "reply")
    assert 'data-findings="0"' in await page(tab, "check/")


async def test_written_under_a_copy_both_are_added(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    given = {"where": "beside", "node-0": "__start__", "set-0-messages": '[{"type": "human", "content": "h2"}]'}
    looked = (await send_form(tab, f"{known[3]}/fork/", preview="1", **given)).content.decode()
    assert 'data-looked="booking"' in looked and 'data-added="update"' in looked and 'data-added="fork"' in looked
    await send_form(tab, f"{known[3]}/fork/", **given)
    [update, copy, *_] = rows(await page(tab))
    assert (copy["source"], copy["parent-id"]) == ("fork", known[2])
    assert (update["source"], update["parent-id"]) == ("update", copy["checkpoint-id"])
    assert await said(tab) == ["h1", "回复：h1", "h2"]


async def test_a_copy_of_what_had_ended_says_that_it_leads_nowhere(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    given = {"where": "beside", "node-0": "", "preview": "1"}
    looked = (await send_form(tab, f"{known[3]}/fork/", **given)).content.decode()
    assert "this leads nowhere" in looked and 'data-looked=""' in looked


async def test_nothing_is_written_without_a_node_where_nothing_is_copied(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    response = await send_form(tab, f"{known[2]}/fork/", where="under", **{"node-0": ""})
    assert response.status_code == 422 and "Say as which node to write." in response.content.decode()
    response = await send_form(tab, f"{known[2]}/fork/", where="elsewhere", **{"node-0": "booking"})
    assert response.status_code == 422
    assert await ids(tab) == known


async def test_something_new_is_said_from_a_checkpoint(tab: Tab) -> None:
    await tab.send("h1")
    await tab.send("h2")
    known = await ids(tab)
    form = await page(tab, f"{known[3]}/state/")
    assert "data-say" in form and f"/explain/send-from/at/{known[3]}/" in form
    assert "data-replaces" not in form and "data-closes" not in form
    assert "data-replaces" in await page(tab, f"{known[4]}/state/")
    response = await send_form(tab, f"{known[3]}/send/", content="other")
    assert (response.status_code, response["Location"]) == (302, tab.url)
    await tab.rest()
    assert await said(tab) == ["h1", "回复：h1", "other", "回复：other"]
    assert (await tab.view()).versions[2].position == 2
    assert 'data-findings="0"' in await page(tab, "check/")


async def test_what_can_not_be_said_is_given_back_on_the_page_of_the_checkpoint(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    for content, version, status, told in (
        ("  ", None, 422, "The message is empty"),
        ("x" * (MESSAGE_MAX + 1), None, 422, "too long"),
        ("kept", 0, 409, "moved on"),
    ):
        more = {} if version is None else {"head_version": version}
        response = await send_form(tab, f"{known[2]}/send/", content=content, **more)
        text = response.content.decode()
        assert response.status_code == status and told in text
        assert f'data-checkpoint-id="{known[2]}"' in text and f"\n{content}</textarea>" in text
    assert await ids(tab) == known


async def test_pressed_twice_it_is_said_once(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    version = (await tab.view()).head_version
    for _ in range(2):
        response = await send_form(tab, f"{known[3]}/send/", content="h2", key="k", head_version=version)
        assert response.status_code == 302
        await tab.rest()
    assert len(await ids(tab)) == len(known) + 4


async def test_case_21_saying_something_where_things_were_done_after_it_asks_first(tab: Tab) -> None:
    tab = Tab(tab.client, await threads.create(tab.thread.owner, assistant="concierge"))
    await tab.send("Book the suite in Bell Tower Hotel for 2 nights from 2027-06-05")
    [asked] = (await tab.view()).waiting
    form = await page(tab, f"{asked.checkpoint_id}/state/")
    assert "data-closes" in form
    await tab.post(f"checkpoints/{asked.checkpoint_id}/answer/", question=asked.interrupt_id, decision="approve")
    await tab.rest()
    path, given = f"{asked.checkpoint_id}/send/", {"content": "Hotels from 2027-06-05 for 2 nights"}
    refused = await send_form(tab, path, **given)
    text = refused.content.decode()
    assert refused.status_code == 409 and 'data-done="book_hotel"' in text and given["content"] in text
    assert (await send_form(tab, path, **given, confirmed="on")).status_code == 302
    await tab.rest()
    assert not (await tab.view()).waiting
    assert await Booking.objects.acount() == 1


async def test_case_87_what_is_hostile_stays_text(tab: Tab) -> None:
    await tab.send("h1")
    known = await ids(tab)
    refused = await send_form(tab, f"{known[2]}/send/", content=EVIL, head_version=0)
    looked = await send_form(tab, f"{known[2]}/fork/", preview="1", where="beside", **{
        "node-0": "booking", "set-0-messages": f'[{{"type": "human", "content": {EVIL!r}}}]', "set-1-messages": EVIL,
    })  # fmt: skip
    for response in (refused, looked):
        text = response.content.decode()
        assert "<img src=x" not in text and "&lt;img src=x" in text
    await send_form(tab, f"{known[2]}/send/", content=EVIL)
    await tab.rest()
    assert "<img src=x" not in await page(tab, f"{(await ids(tab))[-1]}/state/")
