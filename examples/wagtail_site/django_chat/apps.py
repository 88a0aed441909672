"""
The application, as Django lists it.
"""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DjangoChat(AppConfig):
    """
    The chat.
    """

    name = "examples.wagtail_site.django_chat"
    label = "django_chat"
    verbose_name = _("Assistant")
