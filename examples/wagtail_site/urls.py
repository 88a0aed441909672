"""
The addresses of the site. The chat's own stand below the admin; see ``website.wagtail_hooks``.
"""

from django.urls import include, path
from wagtail import urls as wagtail_urls
from wagtail.admin import urls as admin_urls

urlpatterns = [
    path("admin/", include(admin_urls)),
    path("", include(wagtail_urls)),
]
