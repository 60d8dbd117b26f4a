"""Every text that a person reads exists in Chinese, and pages, errors and sockets use it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser

import polib
import pytest
from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path
from django.utils import translation

from branching import assistants, failures, llm
from chatapp import urls
from chatapp.asgi import application
from tests.chatapp.conftest import Tab
from tests.messages import CATALOGUE, ROOT, kinds_of_error, texts_in, texts_in_template, update

CHINESE = {"accept-language": "zh-CN,zh;q=0.9,en;q=0.8"}
PLACEHOLDER = re.compile(r"%\(\w+\)s|%d|%%|{\w+}")
HAN = r"[\u3400-\u9fff]"
NAMES = {"Switchback", "English", "alice", "HEAD", "JSON", "LangGraph", "UTC", "Enter", "Shift", "Ctrl", "Alt", "Esc"}
"""What stays as it is in every language, and who asks."""


def forbidden(request: HttpRequest) -> HttpResponse:
    raise PermissionDenied


def broken(request: HttpRequest) -> HttpResponse:
    raise RuntimeError("broken on purpose")


urlpatterns = [*urls.urlpatterns, path("forbidden/", forbidden), path("broken/", broken)]
pytestmark = pytest.mark.urls(__name__)


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Begin and end in English: a request leaves its language behind in the thread of a test."""
    with translation.override("en"):
        yield


@pytest.fixture(scope="module")
def catalogue() -> polib.POFile:
    return polib.pofile(str(CATALOGUE))


def left_in_english(page: str) -> set[str]:
    """The Latin words in what a page shows, names aside."""
    shown = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    attributes = re.findall(r'\s(?:aria-label|title|placeholder|alt)="([^"]*)"', shown)
    text = " ".join([re.sub(r"<[^>]*>", " ", shown), *attributes])
    return set(re.findall(r"[A-Za-z]{3,}", html.unescape(text))) - NAMES


# The catalogue


def said(entries: Iterable[polib.POEntry]) -> dict[str, list[str]]:
    """What each text is in Chinese, in all its plural forms."""
    return {entry.msgid: list(entry.msgstr_plural.values()) or [entry.msgstr] for entry in entries}


def test_every_text_of_the_sources_has_its_chinese() -> None:
    """If not: `make messages` adds what is new, empty; translate it and run that again."""
    wanted = update()
    assert not [entry.msgid for entry in wanted.untranslated_entries() + wanted.fuzzy_entries()]


def test_the_compiled_catalogue_is_the_written_one(catalogue: polib.POFile) -> None:
    """Django reads the compiled one. If they differ: `make messages`."""
    compiled = polib.mofile(str(CATALOGUE.with_suffix(".mo")))
    assert said(compiled) == said(catalogue.translated_entries())
    assert compiled.metadata == catalogue.metadata


def test_chinese_has_one_plural_form(catalogue: polib.POFile) -> None:
    assert catalogue.metadata["Plural-Forms"] == "nplurals=1; plural=0;"
    assert not [entry.msgid for entry in catalogue if entry.msgid_plural and set(entry.msgstr_plural) != {0}]


def test_translations_keep_the_placeholders(catalogue: polib.POFile) -> None:
    for english, forms in said(catalogue.translated_entries()).items():
        for chinese in forms:
            assert sorted(PLACEHOLDER.findall(chinese)) == sorted(PLACEHOLDER.findall(english)), chinese


def test_chinese_has_chinese_punctuation_and_room_beside_latin_words(catalogue: polib.POFile) -> None:
    half_width = rf"{HAN}\s*[,.;:!?()\"']|[,;:!?()\"']\s*{HAN}|[，。；：！？]\s"
    crowded = rf"{HAN}[A-Za-z0-9%{{`]|[A-Za-z0-9}}`]{HAN}"
    marks = re.compile(f"{half_width}|{crowded}")
    assert not [text for forms in said(catalogue.translated_entries()).values() for text in forms if marks.search(text)]


def test_the_collector_finds_what_python_and_templates_translate() -> None:
    python = 'def f(n):\n    return gettext("a"), _("b" "c"), ngettext("one", "many", n), gettext(str(n)), other("d")'
    assert sorted(texts_in(python)) == [("a", ""), ("bc", ""), ("one", "many")]
    template = """{% load i18n %}{# _("no") #}
        {% translate "it's" as x %}{% with t=y|default:_("a (b)") %}{{ z|default:_("c") }}{% endwith %}
        {% blocktranslate trimmed count n=n %}
          one {{ x }}
        {% plural %}
          many
        {% endblocktranslate %}"""
    found = set(texts_in_template(template))
    assert {("it's", ""), ("a (b)", ""), ("c", ""), ("one %(x)s", "many")} <= found
    assert ("no", "") not in found


class Plain(HTMLParser):
    """Collects the text and the labels that a template has of its own, outside its tags and variables."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        self.found += re.findall(r"[^\W\d_]{2,}", data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        labels = ("aria-label", "aria-description", "title", "placeholder", "alt")
        labelled = [value.strip() for name, value in attrs if value and (name in labels or name.startswith("data-"))]
        self.found += [value for value in labelled if value and (" " in value or value[0].isupper())]


def untranslatable(source: str) -> list[str]:
    plain = Plain()
    source = re.sub(r"{% (comment|blocktranslate)\b.*?{% end\1 %}", "", source, flags=re.DOTALL)
    source = re.sub(r"{% block (body_attributes|attributes|width) %}.*?{% endblock %}", "", source)
    plain.feed(re.sub(r"{#.*?#}|{%.*?%}|{{.*?}}", "", source))
    return [text for text in plain.found if text not in NAMES]


def test_templates_hold_no_text_that_is_not_for_translation() -> None:
    templates = (ROOT / "templates").rglob("*.html")
    assert not {str(each): found for each in templates if (found := untranslatable(each.read_text()))}


@pytest.mark.parametrize(
    "source", ["<p>Hello</p>", '<b title="Hello">', "{% if x %}Hello{% endif %}", "<p data-said='Hello'>"]
)
def test_texts_that_are_not_for_translation_are_found(source: str) -> None:
    assert untranslatable(source)


# What is said outside of templates


@pytest.mark.parametrize("kind", list(kinds_of_error()), ids=lambda kind: kind.__name__)
def test_each_domain_error_speaks_chinese(kind: type[Exception]) -> None:
    with translation.override("zh-hans"):
        assert re.search(HAN, translation.gettext(str(kind())))


@pytest.mark.parametrize("code", failures.SENTENCES)
def test_each_failure_of_a_run_speaks_chinese(code: str) -> None:
    english = failures.message(code)
    with translation.override("zh-hans"):
        chinese = failures.message(code)
    assert re.search(HAN, chinese)
    assert not re.search(HAN, english)


@pytest.mark.parametrize("chat_model", ["openai:gpt-5", "nothing", "no_such:model"])
def test_what_is_wrong_with_the_model_is_said_in_the_readers_language(
    chat_model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    problem = llm.open_models(chat_model=chat_model, base_url="", token_delay=0).problem
    assert not re.search(HAN, str(problem))
    with translation.override("zh-hans"):
        assert re.search(HAN, str(problem))
        assert chat_model in str(problem)


def test_the_assistants_present_themselves_in_chinese() -> None:
    with translation.override("zh-hans"):
        shown = [str(text) for each in assistants.ASSISTANTS.values() for text in (each.title, each.description)]
    assert all(re.search(HAN, text) for text in shown)


# Pages


@pytest.mark.django_db
@pytest.mark.parametrize("address", ["/login/", "/signup/"])
def test_the_browsers_language_is_the_pages(client: Client, address: str) -> None:
    english = client.get(address).content.decode()
    chinese = client.get(address, headers=CHINESE).content.decode()
    assert '<html lang="en">' in english
    assert '<html lang="zh-hans">' in chinese
    assert not left_in_english(chinese)


@pytest.mark.django_db
def test_the_chosen_language_goes_before_the_browsers(client: Client) -> None:
    answer = client.post("/i18n/setlang/", {"language": "zh-hans", "next": "/signup/"})
    assert (answer.status_code, answer.url) == (302, "/signup/")
    assert '<html lang="zh-hans">' in client.get("/login/", headers={"accept-language": "en"}).content.decode()
    client.post("/i18n/setlang/", {"language": "en"})
    assert '<html lang="en">' in client.get("/login/", headers=CHINESE).content.decode()


@pytest.mark.django_db
def test_djangos_own_sentences_come_in_chinese(client: Client, alice: object) -> None:
    signup = {"username": "alice", "password1": "1234", "password2": "1234"}
    wrong = client.post("/login/", {"username": "alice", "password": "wrong"}, headers=CHINESE).content.decode()
    taken = client.post("/signup/", signup, headers=CHINESE).content.decode()
    unequal = client.post("/signup/", {**signup, "password2": "x"}, headers=CHINESE).content.decode()
    assert 'role="alert"' in wrong and 'role="alert"' in taken and 'role="alert"' in unequal
    assert not left_in_english(wrong + taken + unequal)


@pytest.mark.django_db
@pytest.mark.parametrize(("address", "status"), [("/nowhere/", 404), ("/forbidden/", 403), ("/broken/", 500)])
def test_error_pages_are_in_the_readers_language(address: str, status: int) -> None:
    answer = Client(raise_request_exception=False).get(address, headers=CHINESE)
    page = answer.content.decode()
    assert answer.status_code == status
    assert '<html lang="zh-hans">' in page
    assert not left_in_english(page)


@pytest.mark.django_db
def test_a_form_that_is_too_old_says_so_in_chinese() -> None:
    answer = Client(enforce_csrf_checks=True).post("/login/", headers=CHINESE)
    assert answer.status_code == 403
    assert not left_in_english(answer.content.decode())


@pytest.mark.django_db(transaction=True)
async def test_what_is_refused_is_explained_in_chinese(tab: Tab) -> None:
    tab.client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    stale = (await tab.view()).head_version
    await tab.send("你好")
    for answer in (
        await tab.post("messages/", content="晚了", head_version=stale),
        await tab.post("messages/", content="晚了", head_version=stale, htmx=False),
        await tab.post(f"messages/{(await tab.view()).versions[0].pk}/edit/", content=" "),
        await tab.client.post("/threads/", {"assistant": "nobody"}),
    ):
        assert answer.status_code in (409, 422)
        assert 'role="alert"' in answer.content.decode()
        assert not left_in_english(answer.content.decode())


# The socket


async def connected(tab: Tab, *, wish: str, cookie: str = "") -> WebsocketCommunicator:
    """The socket of Alice's page in a browser that wishes for one language and may have chosen another."""
    cookies = {settings.SESSION_COOKIE_NAME: tab.client.cookies[settings.SESSION_COOKIE_NAME].value}
    cookies |= {settings.LANGUAGE_COOKIE_NAME: cookie} if cookie else {}
    headers = {
        "origin": "http://localhost",
        "host": "localhost",
        "accept-language": wish,
        "cookie": "; ".join(f"{name}={value}" for name, value in cookies.items()),
    }
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    socket = WebsocketCommunicator(application, f"/ws{tab.url}", headers=pairs)
    assert (await socket.connect())[0]
    return socket


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("cookie", "wish", "language"),
    [("", "zh-CN", "zh-hans"), ("zh-hans", "en", "zh-hans"), ("en", "zh-CN", "en"), ("", "fr", "en")],
)
async def test_the_socket_speaks_the_language_of_the_page(tab: Tab, cookie: str, wish: str, language: str) -> None:
    await tab.send("你好")
    socket = await connected(tab, cookie=cookie, wish=wish)
    sent = await socket.receive_from()
    await socket.disconnect()
    assert ('title="重新生成"' in sent) == (language == "zh-hans")
    assert bool(left_in_english(sent)) == (language == "en")


@pytest.mark.django_db(transaction=True)
async def test_tabs_in_two_languages_hear_of_the_same_change_each_in_its_own(tab: Tab) -> None:
    sockets = [await connected(tab, wish=wish) for wish in ("zh-CN", "en", "zh-CN")]
    for socket in sockets:
        await socket.receive_from()
    await tab.send("你好")
    answered = [await frame_with(socket, "回复：你好") for socket in sockets]
    assert [bool(left_in_english(frame)) for frame in answered] == [False, True, False]
    await tab.client.post(f"{tab.url}delete/")
    farewells = [await last_words(socket) for socket in sockets]
    assert [bool(left_in_english(frame)) for frame in farewells] == [False, True, False]


async def frame_with(socket: WebsocketCommunicator, text: str) -> str:
    """The first frame that holds a finished transcript with this text."""
    while text not in (frame := await socket.receive_from(timeout=5)) or 'data-run-state="idle"' not in frame:
        pass
    return frame


async def last_words(socket: WebsocketCommunicator) -> str:
    """The last frame that the tab is sent before its socket is closed."""
    last = ""
    while (message := await socket.receive_output(timeout=5))["type"] == "websocket.send":
        last = message["text"]
    return last
