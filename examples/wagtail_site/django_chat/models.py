"""
What the chat keeps in Django's own database. Messages and runs are in the store of the library.
"""

from django.conf import settings
from django.db import models


class Conversation(models.Model):
    """
    An entry in somebody's list of conversations. What was said, and who may see it, the chat knows.
    """

    id = models.CharField(max_length=64, primary_key=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    title = models.CharField(max_length=80)
    begun_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """Newest first; and the two rights that a site gives to its groups."""

        ordering = ("-begun_at",)
        default_permissions = ()
        permissions = (("use_chat", "Can use the assistant"), ("decide", "Can decide on what the assistant proposes"))

    def __str__(self) -> str:
        return self.title


class CarriedOut(models.Model):
    """
    The key of a call, stored in the transaction of its effect; without a record: it will never have one.
    """

    key = models.CharField(max_length=64, primary_key=True)
    record = models.CharField(max_length=200, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        """Nobody edits these."""

        default_permissions = ()

    def __str__(self) -> str:
        return self.record or self.key
