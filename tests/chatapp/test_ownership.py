"""Case 82: a thread that is someone else's answers every address as one that does not exist."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.contrib.auth.models import User
from django.test import AsyncClient

from chatapp.asgi import application
from tests.chatapp.conftest import Tab

pytestmark = pytest.mark.django_db(transaction=True)

GETS = [
    "",
    "delete/",
    "storage/",
    "export.json",
    "export.md",
    "checkpoints/",
    "checkpoints/check/",
    "checkpoints/find/",
    "lesson/send/",
    "scenario.toml",
    "scenario/",
    "scenario/facts/",
]
GETS += ["messages/{message}/edit/", "checkpoints/{checkpoint}/", "messages/{message}/"]
GETS += [*(f"checkpoints/{{checkpoint}}/{page}/" for page in ("state", "difference", "fork", "replay"))]
GETS += ["map/", "share/", "messages/{message}/label/", "messages/{message}/compare/", "messages/{message}/delete/"]
GETS += ["several/{run}/"]
GETS += ["messages/{message}/earlier/", "messages/{message}/later/?to={message}", "storage/{message}/delete/"]
GETS += ["explain/", "explain/send/", "explain/replay/{message}/", "explain/runs/{run}/"]
GETS += ["explain/replay-from/at/{checkpoint}/"]
POSTS = [
    "checkpoints/{checkpoint}/thread/",
    "scenario/play/",
    "scenario/release/",
    "rename/",
    "share/",
    "messages/{message}/label/",
    "keep/",
    "delete/",
    "storage/{message}/delete/",
    "messages/{message}/delete/",
    "deletions/{message}/restore/",
    "deletions/{message}/remove/",
    "head/",
    "head/undo/",
    "messages/",
    "messages/{message}/edit/",
    "messages/{message}/replay/",
    "messages/{message}/several/",
    "several/{run}/",
    "runs/",
    "runs/{run}/stop/",
    "checkpoints/{checkpoint}/fork/",
    "checkpoints/{checkpoint}/replay/",
    "checkpoints/{checkpoint}/send/",
    "explain/send/",
    "explain/replay/{message}/",
]


async def as_bob(bob: User) -> AsyncClient:
    client = AsyncClient()
    await client.aforce_login(bob)
    return client


async def ids(tab: Tab) -> dict[str, object]:
    await tab.send("secret")
    version = (await tab.view()).versions[0]
    run = await tab.thread.runs.afirst()
    return {"message": version.pk, "checkpoint": version.checkpoint_id, "run": run.pk}


async def test_every_address_of_alices_thread_is_missing_for_bob(tab: Tab, bob: User) -> None:
    client, known, before = await as_bob(bob), await ids(tab), await tab.view()
    fields = {"head_version": before.head_version, "key": "k", "content": "x", "title": "x", **known}
    for path in GETS:
        assert (await client.get(tab.url + path.format(**known))).status_code == 404, path
    for path in POSTS:
        assert (await client.post(tab.url + path.format(**known), fields)).status_code == 404, path
    assert await tab.view() == before


async def test_a_thread_that_does_not_exist_answers_alike(tab: Tab, bob: User) -> None:
    client, known = await as_bob(bob), await ids(tab)
    nowhere = f"/threads/{uuid.uuid4()}/"
    for path in GETS:
        theirs, missing = [await client.get(url + path.format(**known)) for url in (tab.url, nowhere)]
        assert theirs.content.replace(tab.url.encode(), nowhere.encode()) == missing.content, path


async def test_what_belongs_to_another_thread_is_missing_on_ones_own(tab: Tab, bob: User) -> None:
    from branching import threads

    known = await ids(tab)
    own = Tab(await as_bob(bob), await threads.create(bob, assistant="echo"))
    assert (await own.client.get(f"{own.url}checkpoints/{known['checkpoint']}/")).status_code == 404
    for path, fields in {
        f"messages/{known['message']}/replay/": {},
        f"messages/{known['message']}/edit/": {"content": "x"},
        f"runs/{known['run']}/stop/": {},
        f"storage/{known['message']}/delete/": {},
        "head/": {"message": known["message"]},
    }.items():
        assert (await own.post(path, **fields)).status_code == 404, path
    assert (await own.post("head/", checkpoint=known["checkpoint"])).status_code == 404
    for path in (each for each in GETS if "{" in each):
        assert (await own.client.get(own.url + path.format(**known))).status_code == 404, path


async def test_nobody_is_sent_to_the_log_in_page(tab: Tab) -> None:
    response = await AsyncClient().get(tab.url)
    assert response.status_code == 302
    assert response["Location"].startswith("/login/")


async def closes_with(
    path: str, client: AsyncClient | None, origin: str | None = "http://localhost", host: str = "localhost"
) -> int:
    """The code with which the socket is closed, after it was accepted; 0 where it stays open."""
    headers = [(b"host", host.encode())] + ([(b"origin", origin.encode())] if origin else [])
    if client:
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        headers.append((b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode()))
    socket = WebsocketCommunicator(application, path, headers=headers)
    assert (await socket.connect())[0]
    message = await socket.receive_output(timeout=5)
    await socket.disconnect()
    return message.get("code", 0)


async def test_the_socket_opens_for_the_owner_alone(tab: Tab, bob: User) -> None:
    path = f"/ws{tab.url}"
    assert await closes_with(path, tab.client) == 0
    assert await closes_with(path, await as_bob(bob)) == 4404
    several = f"{path}several/{uuid.uuid4()}/"
    assert await closes_with(several, await as_bob(bob)) == 4404
    assert await closes_with(several, None) == 4401
    assert await closes_with(several, tab.client) == 4404, "there are no such replies"
    assert await closes_with(f"/ws/threads/{uuid.uuid4()}/", await as_bob(bob)) == 4404
    assert await closes_with(path, None) == 4401


@pytest.mark.parametrize("origin", ["http://evil.example", "http://localhost:8001", "null", "http://[", None])
async def test_a_page_of_another_origin_gets_no_socket(tab: Tab, origin: str | None) -> None:
    """Another port of the same machine is another origin, though it gets the same cookies."""
    assert await closes_with(f"/ws{tab.url}", tab.client, origin) == 4403


async def test_a_host_that_is_not_ours_gets_no_socket(tab: Tab) -> None:
    """As when a name of an attacker's leads to this machine."""
    assert await closes_with(f"/ws{tab.url}", tab.client, "http://evil.example", host="evil.example") == 4403


async def test_trusted_origins_get_a_socket(tab: Tab, settings: Any) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://chat.example", "https://*.chat.example"]
    for origin in ("https://chat.example", "https://a.chat.example"):
        assert await closes_with(f"/ws{tab.url}", tab.client, origin) == 0
    assert await closes_with(f"/ws{tab.url}", tab.client, "http://chat.example") == 4403
