"""The settings of the project, read from the environment. README.md lists the variables."""

from __future__ import annotations

import os
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from chatapp.env import env_bool, env_database, env_int, env_list, env_prices, env_str

# LangGraph reads this once, when it is imported: without it a tampered checkpoint file could run code on reading.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"

ROOT = Path(__file__).resolve().parent.parent

# Core

DEBUG = env_bool("DEBUG", False)

try:
    SECRET_KEY = env_str("SECRET_KEY", "django-insecure-for-development-only" if DEBUG else None)
except ImproperlyConfigured as exc:
    raise ImproperlyConfigured(
        "SECRET_KEY is not set. Give the server a long random text of its own in SECRET_KEY, "
        "or set DEBUG=1 on a developer's machine."
    ) from exc

# The loopback names answer by default in every mode: they reach nobody but this machine.
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", ("localhost", "127.0.0.1", "[::1]"))
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS")

DATA_DIR = Path(env_str("DATA_DIR", str(ROOT / "data"))).expanduser().resolve()
# Other people's accounts on the machine have no business in the conversations.
DATA_DIR.mkdir(mode=0o700, parents=True, exist_ok=True)

INSTALLED_APPS = [
    "daphne",  # first: it makes `manage.py runserver` speak ASGI
    "servestatic",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "csp",
    "django_htmx",
    "branching",
    "chatapp",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "chatapp.comfort.readers_zone",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "chatapp.http.leads_back",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "chatapp.urls"
ASGI_APPLICATION = "chatapp.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.template.context_processors.i18n",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "chatapp.accounts.context",
                "chatapp.comfort.context",
            ],
        },
    }
]

# In a cookie: the session's storage would be read from async views, where Django forbids it.
MESSAGE_STORAGE = "django.contrib.messages.storage.cookie.CookieStorage"

# Database

SQLITE = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": DATA_DIR / "app.sqlite3",
    "OPTIONS": {
        # A writer waits its turn at the start of its transaction; begun as a reader it would fail at once.
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA foreign_keys=ON;",
    },
    # A file like the real one: threads and tasks of a test must meet the same locks.
    "TEST": {"NAME": DATA_DIR / "test.sqlite3"},
}
POSTGRESQL = {
    # A request has a thread, and so a connection, of its own: the pool hands them on, and keeps their number down.
    "OPTIONS": {"pool": {"min_size": 1, "max_size": 20, "timeout": 20}},
    # A connection is looked at before it is used: the server may have been started anew.
    "CONN_HEALTH_CHECKS": True,
}
DATABASES = {"default": env_database("DATABASE_URL", SQLITE, POSTGRESQL) | {"CONN_MAX_AGE": 0}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Channels

# Within one process: `asgi.py` sees to it that there is no second.
CHANNEL_LAYERS = {
    "default": {
        "BACKEND": "channels.layers.InMemoryChannelLayer",
        "CONFIG": {"capacity": 1000, "expiry": 60},
    }
}

# People

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

# Security. HSTS and the redirect to https are the proxy's: it knows whether there is a certificate.

PLAIN_HTTP = env_bool("PLAIN_HTTP", DEBUG)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = not PLAIN_HTTP
LANGUAGE_COOKIE_SAMESITE = "Lax"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "img-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# Languages and times

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [ROOT / "chatapp" / "locale"]
USE_TZ = True
TIME_ZONE = env_str("TIME_ZONE", "UTC")

# Static files, straight from `static/` in every mode: there is nothing to collect before a start.

STATIC_URL = "/static/"
STATICFILES_DIRS = [ROOT / "static"]
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_ALLOW_ALL_ORIGINS = False

# Log

LOG_LEVEL = env_str("LOG_LEVEL", "INFO", choices=("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {"()": "chatapp.logs.IdFormatter", "format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {
        # Django's own handlers go: one line per record, in one form.
        "django": {"handlers": [], "level": "INFO", "propagate": True},
        "branching": {"level": LOG_LEVEL},
        "chatapp": {"level": LOG_LEVEL},
    },
}

# Ours

CHAT_MODEL = env_str("CHAT_MODEL", "")
CHAT_MODELS = env_list("CHAT_MODELS")
CHAT_MODEL_BASE_URL = env_str("CHAT_MODEL_BASE_URL", "")
CHAT_TIMEOUT = env_int("CHAT_TIMEOUT", 120, low=1, high=3_600)
CHAT_RETRIES = env_int("CHAT_RETRIES", 2, high=10)
CHAT_PRICES = env_prices("CHAT_PRICES")
CHAT_CONTEXT_TOKENS = env_int("CHAT_CONTEXT_TOKENS", 0, high=10_000_000)
CHAT_TOKEN_DELAY_MS = env_int("CHAT_TOKEN_DELAY_MS", 15, high=10_000)
CHAT_GUESTS = env_bool("CHAT_GUESTS", DEBUG)

# Threads may be begun with a scenario, whose script then answers in them. Not for people who are to trust the replies.
QA_SCENARIOS = env_bool("QA_SCENARIOS", DEBUG)

# A message that is too long gets the form's own answer, not a bare refusal. (One character: up to 12 bytes in a form.)
DATA_UPLOAD_MAX_MEMORY_SIZE = 16 * 2**20
