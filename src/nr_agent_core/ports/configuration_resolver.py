"""
What is in force for a conversation and its owner (G0).
"""

from collections.abc import Collection
from typing import Protocol

import attrs

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.value import Value
from nr_agent_core.ports.model_provider import AnyModel

MOST_ROUNDS = 20
"""The most rounds of a run that a configuration may allow."""


@attrs.frozen(kw_only=True, repr=False, eq=False)
class Configuration(Value):
    """
    The model, the tools and the rules of one conversation.

    Args:
        model: whom to ask; without one the chat is not configured.
        tool_groups: the groups whose tools may be used; None means every group.
        tools_on: names of tools switched on beyond their own default.
        tools_off: names of tools switched off; outranks *tools_on*.
        unattended: names of declared writes that need no approval here (T3).
        trust_zone: how far away the model is; an unknown zone counts as the furthest. The default
            withholds nothing: name the real zone to have data classes enforced (G2).
        enforcement: only the literal ``observe`` offers and flags instead of refusing by zone.
        prompt: the host's own part of the system prompt.
        four_eyes: whether an owner's own approval of an own run is refused (A3).
        approval_expiry: seconds a card may wait; None means for ever (A4).
        privacy: what is kept of a run's content once it has settled: ``metadata`` (facts only),
            ``redacted`` (content without secrets) or ``full``; anything else is ``metadata`` (E4).
        max_rounds: rounds with tools of one run, 1 to 20 (R4).
    """

    model: AnyModel | None
    tool_groups: Collection[str] | None = None
    tools_on: Collection[str] = ()
    tools_off: Collection[str] = ()
    unattended: Collection[str] = ()
    trust_zone: str = "local"
    enforcement: str = "enforce"
    prompt: str = ""
    four_eyes: bool = False
    approval_expiry: float | None = None
    privacy: str = "metadata"
    max_rounds: int = 5

    def __attrs_post_init__(self) -> None:
        for setting in ("tool_groups", "tools_on", "tools_off", "unattended"):
            names = getattr(self, setting)
            if not (names is None and setting == "tool_groups") and not _are_names(names):
                raise InvalidValueError(f"{setting} of a configuration", names, "a collection of names")
        if isinstance(self.max_rounds, bool) or not 1 <= self.max_rounds <= MOST_ROUNDS:
            raise InvalidValueError("the round cap of a configuration", self.max_rounds, f"1 to {MOST_ROUNDS}")
        expiry: object = self.approval_expiry
        if expiry is not None and (isinstance(expiry, bool) or not isinstance(expiry, int | float) or not expiry > 0):
            raise InvalidValueError("the approval expiry", expiry, "seconds above 0, or None")


def _are_names(value: object) -> bool:
    # One text is a collection too, of its characters.
    return isinstance(value, Collection) and not isinstance(value, str) and all(isinstance(name, str) for name in value)


class ConfigurationResolver(Protocol):
    """
    Asked whenever a segment opens, and when a run is ended without one, for what is kept of it (E4).
    """

    def resolve(self, conversation: str | None, owner: str) -> Configuration | None:
        """
        What is in force for *conversation* (None: a bare run) and *owner*.

        None means: none, switched off, or not for this owner; the chat then answers
        ``chatNotConfigured``. A resolver that raises: a new turn fails ``internal``, a waiting run
        waits on.
        """
        ...
