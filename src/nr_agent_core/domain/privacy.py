"""
How much of a run's content is kept once the run has settled (E4).

Facts are kept at every level. A run that has not settled keeps its content whatever the level: it
is needed to go on.
"""

import enum


class Privacy(enum.Enum):
    """
    The levels, from the strictest to the widest.
    """

    METADATA = "metadata"
    """Facts only: content is forgotten."""
    REDACTED = "redacted"
    """Content stays without the secrets in it (:mod:`nr_agent_core.domain.redaction`)."""
    FULL = "full"
    """Content stays as it is."""


def privacy_level(setting: object) -> Privacy:
    """
    The level that a *setting* names; whatever names none is the strictest (E4).

    >>> privacy_level("full"), privacy_level("Full")
    (<Privacy.FULL: 'full'>, <Privacy.METADATA: 'metadata'>)
    """
    if isinstance(setting, Privacy):
        return setting
    levels = {level.value: level for level in Privacy}
    return levels.get(setting, Privacy.METADATA) if isinstance(setting, str) else Privacy.METADATA
