"""Dark or light, and one's own time zone: chosen once, and so on every page from its first byte."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.template import engines
from django.test import Client
from django.utils import timezone

from chatapp.comfort import zone_of


@pytest.mark.django_db
def test_the_theme_is_chosen_and_forgotten() -> None:
    client = Client()
    assert b"data-theme" not in client.get("/login/").content
    answer = client.post("/theme/", {"theme": "dark", "next": "/login/"})
    assert answer.status_code == 302 and answer["Location"] == "/login/"
    page = client.get("/login/").content
    assert b'data-theme="dark"' in page and b'name="color-scheme" content="dark"' in page
    client.post("/theme/", {"theme": "system"})
    assert b"data-theme" not in client.get("/login/").content


@pytest.mark.django_db
@pytest.mark.parametrize("where", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", ""])
def test_no_choice_leads_off_our_pages(where: str) -> None:
    assert Client().post("/theme/", {"theme": "light", "next": where})["Location"] == "/"


@pytest.mark.django_db
def test_a_cookie_that_somebody_made_up_is_no_theme() -> None:
    client = Client()
    client.cookies["theme"] = '"><script>'
    page = client.get("/login/").content
    assert b"data-theme" not in page and b"<script>" not in page


@pytest.mark.parametrize("name", ["", "Nowhere/At all", "../../etc/passwd", "/etc/passwd", "Asia", "x" * 5_000, "\0"])
def test_what_is_no_zone_is_none(name: str) -> None:
    assert zone_of({"zone": name}) is None


def test_a_time_is_shown_as_the_readers_clock_shows_it() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
    template = engines["django"].from_string('{{ noon|date:"H:i" }}')
    with timezone.override(zone_of({"zone": "Asia/Shanghai"})):
        assert template.render({"noon": noon}) == "20:00"
