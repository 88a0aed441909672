"""
The chat inside a real content management system: Wagtail, on Django.

``django_chat`` is what any Django application can take as it is; ``website`` is a small Wagtail site
with its tools, its rights and its marks. ``make wagtail`` starts it on this machine alone.
"""
