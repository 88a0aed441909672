"""
Who may do what, when the host names its administrators and deciders (O4).
"""

from collections.abc import Callable, Collection
from typing import TypeAlias

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.ports.access_policy import Action, Subject

Members: TypeAlias = Collection[str] | Callable[[str], bool]


class RoleAccess:
    """
    Two roles beside the owner, asked at the moment (O4).

    The owner sends, sees and cancels. Administrators see, cancel and decide. Deciders decide. Who
    decides, and the owner, may read the previews. Own runs are no exception in either direction:
    administrators and deciders decide theirs too, and owning alone gives no right to decide.

    >>> access = RoleAccess(deciders={"anna"})
    >>> access.may("anna", Action.DECIDE, Subject("ben")), access.may("ben", Action.DECIDE, Subject("ben"))
    (True, False)

    Args:
        administrators: ids, or a function that answers for one id. A collection is kept as it
            is, not copied: who is taken out of it loses the role at once.
        deciders: likewise.
        owner_decides: whether owners decide on their own runs. It lets everybody release what
            their own prompts brought about, which is why it is off.

    Raises:
        InvalidValueError: ids are one text or no collection; later, when asked: a function
            answers with anything but True or False. Nobody was given a role.
    """

    __slots__ = ("_administrators", "_deciders", "_owner_decides")

    def __init__(self, administrators: Members = (), deciders: Members = (), *, owner_decides: bool = False) -> None:
        self._administrators = _checked("administrators", administrators)
        self._deciders = _checked("deciders", deciders)
        self._owner_decides = owner_decides is True

    @property
    def nobody_decides(self) -> bool:
        """Whether it is certain that no approval can ever be given: worth a warning at start-up."""
        return not self._owner_decides and _empty(self._administrators) and _empty(self._deciders)

    def may(self, actor: str, action: Action, subject: Subject) -> bool:
        """Whether *actor* may do *action* to *subject* now (O4)."""
        owns = actor == subject.owner
        match action:
            case Action.SEND:
                return owns
            case Action.SEE | Action.CANCEL:
                return owns or self.is_administrator(actor)
            case Action.DECIDE:
                return (owns and self._owner_decides) or self._decides(actor)
            case Action.READ_PREVIEW:
                return owns or self._decides(actor)

    def is_administrator(self, actor: str) -> bool:
        """Whether *actor* is an administrator now (G1, F2)."""
        return _belongs("administrators", self._administrators, actor)

    def _decides(self, actor: str) -> bool:
        return self.is_administrator(actor) or _belongs("deciders", self._deciders, actor)


def _checked(role: str, members: Members) -> Members:
    # One text is a collection too, of its characters; an iterator would be empty after one question.
    if isinstance(members, str) or not (callable(members) or isinstance(members, Collection)):
        raise InvalidValueError(f"the {role}", members, "a collection of ids, or a function of one id")
    if isinstance(members, Collection) and not all(isinstance(member, str) for member in members):
        raise InvalidValueError(f"the {role}", members, "ids, which are texts")
    return members


def _empty(members: Members) -> bool:
    return isinstance(members, Collection) and not members


def _belongs(role: str, members: Members, actor: str) -> bool:
    if isinstance(members, Collection):
        return actor in members
    answer = members(actor)
    # A coroutine or an object is true as well; neither says that somebody has the role.
    if not isinstance(answer, bool):
        raise InvalidValueError(f"the answer of the {role} function", answer, "True or False")
    return answer
