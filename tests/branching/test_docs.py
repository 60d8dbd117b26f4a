"""docs/assistants.md: the assistant that one writes along with it works as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from django.contrib.auth.models import User

from branching import assistants, threads
from branching.assistants import Assistant
from branching.engine import Engine
from tests.branching.conftest import Story

pytestmark = pytest.mark.django_db(transaction=True)

DOC = Path(__file__).resolve().parents[2] / "docs" / "assistants.md"


async def test_the_assistant_of_the_document_talks_branches_and_remembers(
    alice: User, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, entry = re.findall(r"```python\n(.*?)```", DOC.read_text(), re.DOTALL)[:2]
    counter = ModuleType("counter")
    exec(code, counter.__dict__)
    made = eval(entry, {"Assistant": Assistant, "_": str, "counter": counter})
    monkeypatch.setitem(assistants.ASSISTANTS, "counter", made)
    story = Story(engine, await threads.create(alice, assistant="counter"))
    await story.send("one two three")
    await story.edit(await story.version(0), "one two")
    await story.replay(await story.version(1))
    assert await story.screen() == ["one two 2/2", "2 words. 2/2"]
    names = {"thread_id": str(story.thread.pk), "checkpoint_ns": "", "checkpoint_id": (await story.view()).head}
    assert (await engine.graph("counter").aget_state({"configurable": names})).values["words"] == 2
    assert not await story.findings()
