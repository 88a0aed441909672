"""
The site under an event loop: answers are streamed.
"""

import os

from django.contrib.staticfiles.handlers import ASGIStaticFilesHandler
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "examples.wagtail_site.settings")

# A real site has its web server give out static files; this one needs nothing beside it.
application = ASGIStaticFilesHandler(get_asgi_application())
