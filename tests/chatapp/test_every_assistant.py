"""Every page of a thread, with every assistant."""

from __future__ import annotations

from typing import Any

import pytest

from branching import assistants, threads
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)

PAGES = ["", "storage/", "actions/", "export.json", "export.md", "checkpoints/", "checkpoints/check/"]
OF_A_CHECKPOINT = ["", "state/", "state/?raw", "fork/", "replay/", "difference/?with={other}"]


@pytest.mark.parametrize("name", assistants.ASSISTANTS)
async def test_all_pages_answer_for_all_of_its_checkpoints(tab: Tab, name: str) -> None:
    talk = Tab(tab.client, await threads.create(tab.thread.owner, assistant=name))
    await talk.send("What is a branch? And hotels from 2099-12-05 for 1 night")
    await talk.send("again")
    known = [row.checkpoint_id async for row in talk.thread.checkpoints.order_by("id")]
    paths = [*PAGES, *(f"checkpoints/{each}/{page}" for each in known for page in OF_A_CHECKPOINT)]
    answers: dict[str, Any] = {}
    for path in paths:
        answers[path] = (await talk.client.get(talk.url + path.format(other=known[-1]))).status_code
    refused = {path for path, status in answers.items() if status == 409}
    whole_turns = assistants.get(name).is_functional
    assert refused == ({path for path in paths if path.endswith("fork/")} if whole_turns else set())
    assert {status for path, status in answers.items() if path not in refused} == {200}
