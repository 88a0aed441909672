"""
What this site brings to the chat: who may do what, which model, which tools, and who hears of writes.
"""

import os
from functools import cache

from django.conf import settings
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ImproperlyConfigured
from django.urls import reverse
from django.utils.translation import gettext as _
from wagtail.models import Site as WagtailSite

from examples.wagtail_site.django_chat.access import USE
from examples.wagtail_site.django_chat.connections import cleaned_up
from examples.wagtail_site.django_chat.host import SeenRecord, Site
from examples.wagtail_site.django_chat.readers import user_of
from examples.wagtail_site.website.labels import heard
from examples.wagtail_site.website.rights import TABLE, PageAccess, may_edit, page_of
from examples.wagtail_site.website.tools import TOOLS
from nr_agent_core import Configuration, RecordReference
from nr_agent_core.adapters.blinker_event_bus import BlinkerEventBus
from nr_agent_core.ports.model_provider import AnyModel

KEYS = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}


def assistant() -> Site:
    """What ``CHAT_SITE`` names."""
    bus = BlinkerEventBus()
    bus.subscribe(heard)
    parts = {"configuration": InForce(), "tools": TOOLS, "access": PageAccess(), "bus": bus}
    return Site(parts, seen=seen, facts=_facts)


def model() -> AnyModel:
    """
    The model that ``CHAT_MODEL`` names. Its key comes from the environment, and may be missing: readers are told.

    One with a script keeps what it was asked, so each turn has its own.
    """
    if settings.CHAT_MODEL == "scripted":
        from examples.wagtail_site.website.script import scripted_model

        return scripted_model()
    return _model_of(settings.CHAT_MODEL)


@cache
def _model_of(named: str) -> AnyModel:
    provider, _colon, name = named.partition(":")
    match provider:
        case "openai":
            from nr_agent_core.adapters.openai import OpenAIModel

            return OpenAIModel(name)
        case "anthropic":
            from nr_agent_core.adapters.anthropic import AnthropicModel

            return AnthropicModel(name)
        case _:
            raise ImproperlyConfigured(f"CHAT_MODEL is {named!r}; allowed is openai:NAME, anthropic:NAME")


class InForce:
    """
    The same for everybody who has the right to the chat; nobody else has one.
    """

    @cleaned_up
    def resolve(self, conversation: str | None, owner: str) -> Configuration | None:
        """What is in force for *owner* now (G0)."""
        user = user_of(owner)
        if user is None or not user.has_perm(USE):
            return None
        local = settings.CHAT_MODEL == "scripted"
        return Configuration(
            model=model(),
            prompt=_prompt(),
            trust_zone="local" if local else "externalGlobal",
            four_eyes=settings.CHAT_FOUR_EYES,
        )


def seen(record: RecordReference, user: AbstractBaseUser) -> SeenRecord:
    """A page by its title, for those who may edit it; by its reference for all others."""
    page = page_of(record.uid) if record.table == TABLE and isinstance(record.uid, int) else None
    if page is None or not may_edit(user, page):
        return SeenRecord(str(record))
    return SeenRecord(str(page.draft_title or page.title), reverse("wagtailadmin_pages:edit", args=[page.pk]))


def _prompt() -> str:
    home = WagtailSite.objects.filter(is_default_site=True).values_list("root_page", flat=True).first()
    return f"You help the editors of a website made with Wagtail. Its home page is {TABLE}:{home}."


def _facts() -> dict[str, str]:
    provider = settings.CHAT_MODEL.partition(":")[0]
    facts = {_("Model"): settings.CHAT_MODEL}
    if provider in KEYS:
        facts[KEYS[provider]] = _("is set") if os.environ.get(KEYS[provider]) else _("is missing")
    facts[_("Workers")] = str(_("drive the runs") if settings.CHAT_QUEUED else _("none: requests drive their runs"))
    return facts
