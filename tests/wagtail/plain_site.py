"""
A Django application with the chat and without Wagtail; run as a program, in an empty folder.
"""

import re
import sys
import types

import django
from django.conf import settings

settings.configure(
    SECRET_KEY="of the tests",
    ALLOWED_HOSTS=["testserver"],
    INSTALLED_APPS=[
        "examples.wagtail_site.django_chat",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.staticfiles",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": "site.db",
            "ATOMIC_REQUESTS": True,
            "OPTIONS": {"transaction_mode": "IMMEDIATE"},
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    ROOT_URLCONF="plain_urls",
    STATIC_URL="/static/",
    USE_TZ=True,
    CHAT_SITE="plain_urls.brings",
    CHAT_FILE="chat.db",
    CHAT_QUEUED=False,
)
django.setup()

from django.contrib.auth.models import Permission, User  # noqa: E402 - Django has to be set up first
from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402
from django.urls import include, path  # noqa: E402

from examples.wagtail_site.django_chat.access import PermissionAccess  # noqa: E402
from examples.wagtail_site.django_chat.host import Site  # noqa: E402
from examples.wagtail_site.django_chat.models import Conversation  # noqa: E402
from nr_agent_core import ToolResult, WriteKind, tool  # noqa: E402
from nr_agent_core.testing import ScriptedModel, call  # noqa: E402


@tool(effect="non_idempotent_write")
def write_note(text: str) -> ToolResult:
    """Write a note; in this application, another entry of a list."""
    made = Conversation.objects.create(id=f"note-{text}", owner=User.objects.get(), title=text)
    return ToolResult.text("Written.").with_write_target(("notes", made.id), WriteKind.CREATED)


def brings() -> Site:
    """What this site brings."""
    model = ScriptedModel(call("write_note", text="milk"), "Written.")
    return Site({"model": model, "tools": [write_note], "access": PermissionAccess()})


urls = types.ModuleType("plain_urls")
urls.urlpatterns = [path("chat/", include("examples.wagtail_site.django_chat.urls"))]
urls.brings = brings
sys.modules["plain_urls"] = urls

call_command("migrate", verbosity=0)
anna = User.objects.create_user("anna")
anna.user_permissions.set(Permission.objects.filter(content_type__app_label="django_chat"))
client = Client()
client.force_login(anna)
assert "Nothing waits" in client.get("/chat/inbox/").content.decode()
answer = client.post("/chat/new/", {"text": "A note about milk, please."}, follow=True)
at, page = answer.redirect_chain[-1][0], answer.content.decode()
card = re.search(r'name="card" value="([\w:]+)"', page)[1]
page = client.post(f"{at}send/", {"text": "go on"}, follow=True).content.decode()
assert "a message does not decide" in page
for _ in range(2):
    page = client.post(f"{at}decide/", {"decision": "approve", "card": card}, follow=True).content.decode()
assert "notes:note-milk (created)" in page, page
assert client.post(f"{at}stream/", {"text": "x"}).status_code == 400  # no event loop here
assert Conversation.objects.filter(title="milk").count() == 1
print("a note was written, once")
