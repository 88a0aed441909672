"""
Django's permissions as the access policy of the chat.
"""

from django.contrib.auth.models import AbstractBaseUser

from examples.wagtail_site.django_chat.connections import cleaned_up
from examples.wagtail_site.django_chat.readers import user_of
from nr_agent_core.ports.access_policy import Action, Subject

USE, DECIDE = "django_chat.use_chat", "django_chat.decide"


class PermissionAccess:
    """
    Everybody with the right to the chat has one; superusers see all; who decides, :meth:`decides` says.
    """

    @cleaned_up
    def may(self, actor: str, action: Action, subject: Subject) -> bool:
        """Whether *actor* may do *action* to *subject* now. Users are read anew each time."""
        user, owns = user_of(actor), actor == subject.owner
        if user is None or not user.has_perm(USE):
            return False
        match action:
            case Action.SEND:
                return owns
            case Action.SEE | Action.CANCEL:
                return owns or user.is_superuser
            case Action.DECIDE:
                return self.decides(user, subject)
            case Action.READ_PREVIEW:
                return owns or self.decides(user, subject)

    @cleaned_up
    def is_administrator(self, actor: str) -> bool:
        """Whether *actor* is a superuser now."""
        user = user_of(actor)
        return user is not None and user.is_superuser

    def decides(self, user: AbstractBaseUser, subject: Subject) -> bool:
        """Whether *user* may decide on the run of *subject*. Here a right decides; a site may look closer."""
        return user.has_perm(DECIDE)
