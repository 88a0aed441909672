"""
One kind of page, and the marks on what an AI wrote.
"""

from typing import ClassVar

from django.db import models
from wagtail.admin.panels import FieldPanel
from wagtail.fields import RichTextField
from wagtail.models import Page


class TextPage(Page):
    """
    A page of text.
    """

    body = RichTextField(blank=True)
    content_panels: ClassVar = [*Page.content_panels, FieldPanel("body")]
    template = "website/text_page.html"


class AiMark(models.Model):
    """
    That an AI wrote a page: the three values of the event, each combination once.
    """

    run = models.CharField(max_length=64)
    page = models.PositiveBigIntegerField(db_index=True)
    kind = models.CharField(max_length=10)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """Bus and feed may tell the same thing twice."""

        default_permissions = ()
        constraints = (models.UniqueConstraint(fields=("run", "page", "kind"), name="one_mark_a_write"),)

    def __str__(self) -> str:
        return f"pages:{self.page} {self.kind} in {self.run}"


class FeedPosition(models.Model):
    """
    Up to where the feed of writes was read.
    """

    position = models.PositiveBigIntegerField(default=0)

    class Meta:
        """One row."""

        default_permissions = ()

    def __str__(self) -> str:
        return str(self.position)
