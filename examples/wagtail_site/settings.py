"""
The settings of the site, for one machine. What differs from place to place comes from the environment.

``WAGTAIL_SITE_FOLDER``: where its files are. ``WAGTAIL_SITE_POSTGRES``: a connection string of libpq;
without one, SQLite. ``CHAT_MODEL``: ``openai:NAME`` or ``anthropic:NAME``; without one, a script that
needs no key. ``CHAT_FOUR_EYES``: ``1`` lets nobody release what they asked for themselves. ``CHAT_QUEUED``: ``1`` has
workers drive the runs, which is so on PostgreSQL anyway unless it is ``0``.
"""

import os
import secrets
import tempfile
from contextlib import suppress
from pathlib import Path

from django.utils.translation import gettext_lazy as _

HERE = Path(__file__).resolve().parent
FOLDER = Path(os.environ.get("WAGTAIL_SITE_FOLDER") or HERE / "var")
POSTGRES = os.environ.get("WAGTAIL_SITE_POSTGRES", "")


def kept_secret(path: Path) -> str:
    """The key of this site, made when it is first asked for. It is there as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        descriptor, beside = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(50))
        with suppress(FileExistsError):  # another process was first
            os.link(beside, path)
        Path(beside).unlink()
    return path.read_text()


def postgres(dsn: str) -> dict[str, object]:
    """Django's words for the connection string *dsn*."""
    from psycopg.conninfo import conninfo_to_dict

    words = dict(conninfo_to_dict(dsn))
    names = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}
    found = {name: words.pop(word, "") for name, word in names.items()}
    return {"ENGINE": "django.db.backends.postgresql", "OPTIONS": words, **found}


SECRET_KEY = os.environ.get("WAGTAIL_SITE_SECRET") or kept_secret(FOLDER / "secret")
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", "testserver"]

INSTALLED_APPS = [
    # The site before the chat: its templates go first.
    "examples.wagtail_site.website",
    "examples.wagtail_site.django_chat",
    "wagtail.users",
    "wagtail.sites",
    "wagtail.snippets",
    "wagtail.embeds",
    "wagtail.documents",
    "wagtail.images",
    "wagtail.search",
    "wagtail.admin",
    "wagtail",
    "modelcluster",
    "taggit",
    "django_filters",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    *(["django.contrib.postgres"] if POSTGRES else []),
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]
ROOT_URLCONF = "examples.wagtail_site.urls"
ASGI_APPLICATION = "examples.wagtail_site.asgi.application"
WSGI_APPLICATION = "examples.wagtail_site.wsgi.application"

DATABASES: dict[str, dict[str, object]] = {
    "default": postgres(POSTGRES)
    if POSTGRES
    else {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": FOLDER / "site.db",
        # A transaction that reads before it writes waits for its turn, instead of failing in the middle.
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 10},
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("de", _("German")), ("fr", _("French"))]
TIME_ZONE = "UTC"
USE_I18N = USE_TZ = True

STATIC_URL = "/static/"
MEDIA_URL = "/media/"
MEDIA_ROOT = FOLDER / "media"
LOGIN_URL = "wagtailadmin_login"

WAGTAIL_SITE_NAME = "Example site"
WAGTAILADMIN_BASE_URL = "http://127.0.0.1:8000"
WAGTAILADMIN_PERMITTED_LANGUAGES = LANGUAGES
WAGTAILSEARCH_BACKENDS = {"default": {"BACKEND": "wagtail.search.backends.database"}}
WAGTAIL_ENABLE_UPDATE_CHECK = False

# -- the chat ---------------------------------------------------------------------------------------

CHAT_SITE = "examples.wagtail_site.website.assistant.assistant"
CHAT_FILE = FOLDER / "chat.db"
"""On SQLite: a file of the chat's own, beside the site's."""
CHAT_QUEUED = (os.environ.get("CHAT_QUEUED") or ("1" if POSTGRES else "0")) == "1"
"""Whether workers drive the runs, started by the command ``chat_worker``."""
CHAT_MODEL = os.environ.get("CHAT_MODEL") or "scripted"
CHAT_FOUR_EYES = os.environ.get("CHAT_FOUR_EYES") == "1"
