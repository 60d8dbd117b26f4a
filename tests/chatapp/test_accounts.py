"""People: who gets in as whom, and what becomes of a guest's threads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from unittest.mock import patch

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.test import AsyncClient, Client
from django.urls import path

from branching.models import HeadMove, Thread
from chatapp import urls
from chatapp.accounts import is_guest, person_required
from chatapp.forms.accounts import TRIES, TRIES_FOR_A_NAME

PASSWORD = "correct-horse-battery"
HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/threads/1/"}


@person_required
async def whoami(request: HttpRequest) -> HttpResponse:
    """Answers with what a template of an async view sees."""
    assert await request.auser() == request.user
    page = engines["django"].from_string("{{ user.username }} {% if is_guest %}guest{% else %}real{% endif %}")
    return HttpResponse(page.render({}, request))


urlpatterns = [*urls.urlpatterns, path("whoami/", whoami)]
pytestmark = [pytest.mark.urls(__name__), pytest.mark.django_db]


@pytest.fixture
def guests(settings: object) -> None:
    """The server lets guests in."""
    settings.CHAT_GUESTS = True


@pytest.fixture
def guest(guests: None, client: Client) -> User:
    """The person behind `client`, a guest with one thread."""
    client.get("/whoami/")
    guest = User.objects.get()
    thread = Thread.objects.create(owner=guest, title="Begun as a guest", assistant="echo")
    HeadMove.objects.create(thread=thread, why="send", by=guest)
    return guest


def sign_up(client: Client, name: str, **more: str) -> HttpResponse:
    return client.post("/signup/", {"username": name, "password1": PASSWORD, "password2": PASSWORD, **more})


async def test_a_stranger_is_sent_to_log_in_and_back(async_client: AsyncClient) -> None:
    answer = await async_client.get("/whoami/?a=1")
    assert (answer.status_code, answer.url) == (302, "/login/?next=/whoami/%3Fa%3D1")
    assert not await User.objects.aexists()


async def test_a_strangers_command_leads_back_to_the_start(async_client: AsyncClient) -> None:
    answer = await async_client.post("/whoami/")
    assert answer.url == "/login/?next=/"


async def test_a_strangers_fragment_takes_the_whole_page_to_log_in(async_client: AsyncClient) -> None:
    answer = await async_client.get("/whoami/", headers=HTMX)
    assert answer["HX-Redirect"] == "/login/?next=/threads/1/"


async def test_a_person_is_known_to_async_views_and_their_templates(async_client: AsyncClient, alice: User) -> None:
    await async_client.aforce_login(alice)
    assert (await async_client.get("/whoami/")).content == b"alice real"


@pytest.mark.parametrize("method", ["get", "post"])
async def test_a_guest_gets_an_account_bound_to_the_session(
    async_client: AsyncClient, guests: None, method: str
) -> None:
    first = await getattr(async_client, method)("/whoami/")
    second = await async_client.get("/whoami/")
    assert first.content == second.content
    guest = await User.objects.aget()
    assert is_guest(guest) and first.content.decode() == f"{guest.username} guest"


async def test_two_guests_are_two_people(guests: None) -> None:
    one, two = await AsyncClient().get("/whoami/"), await AsyncClient().get("/whoami/")
    assert one.content != two.content


async def test_fragments_and_probes_make_no_guest(async_client: AsyncClient, guests: None) -> None:
    await async_client.get("/whoami/", headers=HTMX)
    await async_client.head("/whoami/")
    assert not await User.objects.aexists()


async def test_a_guest_cannot_log_in_by_name(async_client: AsyncClient, guests: None) -> None:
    await async_client.get("/whoami/")
    guest = await User.objects.aget()
    for password in ("", guest.password, "!"):
        assert not await async_client.alogin(username=guest.username, password=password)


def test_sign_up_makes_an_account_and_logs_it_in(client: Client) -> None:
    answer = sign_up(client, "carol")
    assert (answer.status_code, answer.url) == (302, "/")
    assert client.get("/whoami/").content == b"carol real"


def test_a_guest_who_signs_up_keeps_account_and_threads(client: Client, guest: User) -> None:
    sign_up(client, "carol")
    assert client.get("/whoami/").content == b"carol real"
    assert User.objects.get().pk == guest.pk
    assert Thread.objects.get().owner_id == guest.pk


def test_the_old_session_of_a_guest_ends_with_sign_up(client: Client, guest: User) -> None:
    other_tab = Client()
    other_tab.cookies["sessionid"] = client.cookies["sessionid"].value
    sign_up(client, "carol")
    assert b"carol" not in other_tab.get("/whoami/").content


def test_a_guests_threads_go_to_the_account_that_logs_in(client: Client, guest: User) -> None:
    dave = User.objects.create_user("dave", password=PASSWORD)
    client.post("/login/", {"username": "dave", "password": PASSWORD})
    assert client.get("/whoami/").content == b"dave real"
    assert Thread.objects.get().owner == dave
    assert HeadMove.objects.get().by == dave
    assert not User.objects.filter(pk=guest.pk).exists()


def test_a_failed_log_in_changes_nothing_for_a_guest(client: Client, guest: User) -> None:
    User.objects.create_user("dave", password=PASSWORD)
    client.post("/login/", {"username": "dave", "password": "wrong"})
    assert Thread.objects.get().owner == guest
    assert client.get("/whoami/").content.decode() == f"{guest.username} guest"


def test_threads_of_an_account_stay_when_another_logs_in(client: Client, alice: User, bob: User) -> None:
    thread = Thread.objects.create(owner=alice, assistant="echo")
    client.force_login(alice)
    client.post("/login/", {"username": "bob", "password": "another-good-password"})
    thread.refresh_from_db()
    assert thread.owner == alice


@pytest.mark.parametrize("page", ["/login/", "/signup/"])
def test_next_leads_back_but_never_to_another_site(client: Client, page: str) -> None:
    for target, landing in {"/threads/": "/threads/", "https://evil.example/": "/", "//evil.example": "/"}.items():
        User.objects.filter(username="erin").delete()
        if page == "/login/":
            User.objects.create_user("erin", password=PASSWORD)
        fields = {"username": "erin", "password": PASSWORD, "password1": PASSWORD, "password2": PASSWORD}
        assert Client().post(page, {**fields, "next": target}).url == landing


@pytest.fixture
def no_cache() -> Iterator[None]:
    """Nothing is counted before, or after."""
    cache.clear()
    yield
    cache.clear()


@pytest.mark.parametrize("page", ["/login/", "/admin/login/"])
def test_passwords_cannot_be_guessed_one_after_another(no_cache: None, client: Client, alice: User, page: str) -> None:
    """Ten wrong ones, and the right one is not looked at either; other people and other addresses go on."""
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    right, wrong = ({"username": "alice", "password": each} for each in ("a-good-password", "wrong"))
    for _ in range(TRIES_FOR_A_NAME):
        assert "Too many" not in client.post(page, wrong).content.decode()
    answer = client.post(page, right)
    assert answer.status_code == 200 and "Too many wrong passwords. Wait five minutes" in answer.content.decode()
    assert client.post(page, right, REMOTE_ADDR="192.0.2.1").status_code == 302
    User.objects.create_user("carol", password=PASSWORD, is_staff=True)
    assert client.post(page, {"username": "carol", "password": PASSWORD}).status_code == 302


def test_nor_can_many_names_from_one_address(no_cache: None, client: Client, alice: User) -> None:
    for number in range(TRIES):
        client.post("/login/", {"username": f"n{number}", "password": "wrong"})
    answer = client.post("/login/", {"username": "alice", "password": "a-good-password"})
    assert "Too many" in answer.content.decode()


def test_after_a_while_one_may_try_again(no_cache: None, client: Client, alice: User) -> None:
    right = {"username": "alice", "password": "a-good-password"}
    with patch("chatapp.forms.accounts.WAIT", 0.5):
        for _ in range(TRIES_FOR_A_NAME):
            client.post("/login/", {**right, "password": "wrong"})
    time.sleep(0.6)
    assert client.post("/login/", right).status_code == 302


def test_log_out_is_a_command(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get("/logout/").url == "/"
    assert client.get("/whoami/").status_code == 200
    assert client.post("/logout/").url == "/login/"
    assert client.get("/whoami/").status_code == 302


@pytest.mark.parametrize("page", ["/login/", "/signup/"])
def test_the_pages_show_their_forms(client: Client, page: str) -> None:
    answer = client.get(page)
    assert answer.status_code == 200
    assert b'name="username"' in answer.content
    policy = answer["Content-Security-Policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy and "unsafe" not in policy


def test_sign_up_does_not_show_the_made_up_name_of_a_guest(client: Client, guest: User) -> None:
    assert client.get("/signup/").context["form"]["username"].value() == ""


def test_a_name_that_is_taken_is_refused_and_the_guest_stays(client: Client, guest: User) -> None:
    User.objects.create_user("Dave")
    answer = sign_up(client, "dave")
    assert answer.status_code == 200 and "username" in answer.context["form"].errors
    guest.refresh_from_db()
    assert is_guest(guest) and answer.context["user"].username == guest.username


def test_the_language_is_a_choice_that_stays(client: Client) -> None:
    client.post("/i18n/setlang/", {"language": "zh-hans", "next": "/login/"})
    assert client.get("/login/")["Content-Language"] == "zh-hans"
