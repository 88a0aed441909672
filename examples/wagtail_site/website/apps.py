"""
The application, as Django lists it.
"""

from django.apps import AppConfig


class Website(AppConfig):
    """
    The site.
    """

    name = "examples.wagtail_site.website"
    label = "website"
    default_auto_field = "django.db.models.BigAutoField"
