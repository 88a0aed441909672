"""
The host's access policy, its answers taken at their word only (O4).
"""

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.ports.access_policy import AccessPolicy, Action, Subject


class Rights:
    """
    Asks the host's policy and takes nothing but True for a yes and False for a no.

    A coroutine that nobody awaits, a text or a number would all count as yes; they are refused
    with an error that rises to the host, and no right is assumed.
    """

    def __init__(self, policy: AccessPolicy) -> None:
        self._policy = policy

    @property
    def nobody_decides(self) -> bool:
        """Whether the policy says of itself that nobody may ever decide."""
        return getattr(self._policy, "nobody_decides", False) is True

    def may(self, actor: str, action: Action, subject: Subject) -> bool:
        """
        Whether *actor* may do *action* to *subject* now.

        Raises:
            InvalidValueError: the policy answered anything but True or False.
        """
        return _answer("may", self._policy.may(actor, action, subject))

    def is_administrator(self, actor: str) -> bool:
        """
        Whether *actor* is an administrator now.

        Raises:
            InvalidValueError: the policy answered anything but True or False.
        """
        return _answer("is_administrator", self._policy.is_administrator(actor))


def _answer(method: str, found: object) -> bool:
    if isinstance(found, bool):
        return found
    close = getattr(found, "close", None)
    if callable(close):
        close()  # a coroutine: it will never be awaited
    raise InvalidValueError(f"the answer of {method}() of the access policy", type(found).__name__, "True or False")
