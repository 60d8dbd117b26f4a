"""Export and import as the browser asks for them."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import HttpResponse
from django.test import AsyncClient

from branching import threads
from chatapp.views import carrying
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)


async def upload(client: AsyncClient, content: bytes) -> HttpResponse:
    return await client.post("/import/", {"file": SimpleUploadedFile("a.json", content)})


async def test_a_conversation_goes_to_somebody_else_and_back(tab: Tab, bob: User) -> None:
    await tab.send("h1")
    await tab.post(f"messages/{(await tab.view()).versions[0].pk}/edit/", content="h2")
    file = (await tab.client.get(f"{tab.url}export.json")).content
    bobs = AsyncClient()
    await bobs.aforce_login(bob)
    response = await upload(bobs, file)
    assert response.status_code == 302
    assert (await bobs.get(f"{response['Location']}export.json")).content == file


async def test_the_shown_version_is_markdown(tab: Tab) -> None:
    await tab.send("# h1")
    response = await tab.client.get(f"{tab.url}export.md")
    assert response.content.decode() == "# # h1\n\n**You**\n\n# h1\n\n**Reply**\n\n回复：# h1\n"
    assert response["Content-Disposition"] == 'attachment; filename="h1.md"'


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{}", b"[" * 90_000, b'[{"mapping": {"a": {"parent": "a"}}}]'])
async def test_a_broken_file_is_refused_and_nothing_is_there(tab: Tab, content: bytes) -> None:
    before = await threads.of(tab.thread.owner)
    response = await upload(tab.client, content)
    assert response.status_code == 422 and b'role="alert"' in response.content
    assert await threads.of(tab.thread.owner) == before


async def test_a_file_that_is_too_large_is_refused_before_it_is_read(tab: Tab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(carrying, "FILE_MAX", 10)
    response = await upload(tab.client, json.dumps({"a": "x" * 100}).encode())
    assert response.status_code == 422 and b"larger than" in response.content


async def test_without_a_file_one_is_asked_for(tab: Tab) -> None:
    assert b"Choose a file first" in (await tab.client.post("/import/")).content
