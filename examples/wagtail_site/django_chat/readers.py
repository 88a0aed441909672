"""
People: who looks, and who somebody is.
"""

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.http import HttpRequest
from django.utils.translation import get_language

from nr_agent_core import Reader


def reader_of(request: HttpRequest) -> Reader:
    """Who looks: the session says who, Django in which language. Nothing of it comes from a form."""
    return Reader(str(request.user.pk), language=get_language() or "en")


def user_of(actor: str) -> AbstractBaseUser | None:
    """The user behind an id of the chat, read anew; None when there is none, or no longer."""
    model = get_user_model()
    try:
        return model._default_manager.get(pk=actor, is_active=True)
    except (model.DoesNotExist, ValueError):
        return None
