"""What all tests stand on: an environment of their own, and a database file with real locks."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

# Before Django reads its settings: nothing that a developer has set reaches the tests.
OURS = ("DEBUG", "SECRET_KEY", "DATA_DIR", "ALLOWED_HOSTS", "CSRF_TRUSTED_ORIGINS", "PLAIN_HTTP", "TIME_ZONE")
OURS += ("LOG_LEVEL", "QA_SCENARIOS", "WEB_CONCURRENCY", "HOST", "PORT", "DATABASE_URL")
for name in list(os.environ):
    if name in OURS or name.startswith(("CHAT_", "LANGSMITH_", "LANGCHAIN_", "LANGGRAPH_")):
        del os.environ[name]

DATA_DIR = tempfile.mkdtemp(prefix="switchback-tests-")
atexit.register(shutil.rmtree, DATA_DIR, ignore_errors=True)
os.environ.update(
    DEBUG="0",
    SECRET_KEY="test",
    DATA_DIR=DATA_DIR,
    PLAIN_HTTP="1",
    CHAT_GUESTS="0",
    CHAT_TOKEN_DELAY_MS="0",
    DJANGO_SETTINGS_MODULE="chatapp.settings",
    DATABASE_URL=os.environ.get("TEST_DATABASE_URL", ""),  # tests/postgres.py sets it
)

from collections.abc import Iterator  # noqa: E402

import django  # noqa: E402
import pytest  # noqa: E402

django.setup()  # here, not by pytest-django: that reads the settings before any conftest has had its say
del os.environ["DJANGO_SETTINGS_MODULE"]  # else it would do so in the processes that share the tests

from asgiref.sync import SyncToAsync  # noqa: E402
from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.db import connections  # noqa: E402
from django.utils import translation  # noqa: E402

from tests import emptying  # noqa: E402

emptying.install()

# The real one is slow on purpose.
settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Make async tests commit: the ORM works in another thread, which a test's open transaction would lock out.

    The test that takes longest comes first, so that those who share the work are done at the same time.
    """
    items.sort(key=lambda item: item.path.stem != "test_property")
    for item in items:
        if item.get_closest_marker("asyncio") and item.get_closest_marker("django_db"):
            item.add_marker(pytest.mark.django_db(transaction=True), append=False)


@pytest.fixture(autouse=True)
def english() -> None:
    """Begin each test in English: a page that Django's test client gets leaves its language on in the thread."""
    translation.deactivate()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """At the end, let go of the database in the thread that serves async code, or it could not be dropped."""
    yield
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()


@pytest.fixture
def alice(db: None) -> User:
    """Owns what a test makes."""
    return User.objects.create_user("alice", password="a-good-password")


@pytest.fixture
def bob(db: None) -> User:
    """Signed up too, and must not get at what is Alice's."""
    return User.objects.create_user("bob", password="another-good-password")
