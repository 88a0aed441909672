"""
The site in threads: a request lasts as long as its turn, and pages ask again while others work.
"""

import os

from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "examples.wagtail_site.settings")

application = StaticFilesHandler(get_wsgi_application())
