"""
How far data may travel: each trust zone caps the data class a tool may carry (G2).

Whatever is not declared, or not known, counts as the worst: an unknown zone is the last one,
an unknown or missing data class the last one too.
"""

from collections.abc import Iterable
from typing import Any

import attrs

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.value import Value


def _names(value: Iterable[str]) -> tuple[str, ...]:
    # A lone string would silently become a list of its letters.
    if isinstance(value, str):
        raise InvalidValueError("a list of trust zones or data classes", value, "a list of names")
    return tuple(value)


@attrs.frozen(repr=False, eq=False)
class TrustZones(Value):
    """
    Ordered zones, ordered data classes, and one ceiling per zone (G2).

    >>> TrustZones().allows("externalEu", "sourceCode")
    True
    >>> TrustZones().allows("externalGlobal", "sourceCode")
    False

    Args:
        zones: from the most trusted to the least.
        classes: from the most harmless to the most delicate.
        ceilings: for each zone, in order, the most delicate class it may carry; never rising.

    Raises:
        InvalidValueError: a list is empty, repeats a name, or the ceilings do not fit the zones.
    """

    zones: tuple[str, ...] = attrs.field(
        default=("local", "privateHosted", "externalEu", "externalGlobal"), converter=_names
    )
    classes: tuple[str, ...] = attrs.field(
        default=(
            "public",
            "editorContent",
            "sourceCode",
            "internalConfiguration",
            "systemDiagnostics",
            "secretAdjacent",
        ),
        converter=_names,
    )
    ceilings: tuple[str, ...] = attrs.field(
        default=("secretAdjacent", "systemDiagnostics", "internalConfiguration", "editorContent"), converter=_names
    )

    def __attrs_post_init__(self) -> None:
        _check_names("the trust zones", self.zones)
        _check_names("the data classes", self.classes)
        if len(self.ceilings) != len(self.zones) or not set(self.ceilings) <= set(self.classes):
            raise InvalidValueError("the ceilings", self.ceilings, "one of the data classes for each trust zone")
        ranks = [self.classes.index(ceiling) for ceiling in self.ceilings]
        # "Unknown is the last" is only safe while the last zone is also the strictest.
        if ranks != sorted(ranks, reverse=True):
            raise InvalidValueError("the ceilings", self.ceilings, "ceilings that never rise from zone to zone")

    def zone(self, name: str | None) -> str:
        """The zone *name* stands for: itself, or the last one when it is not known."""
        return name if name is not None and name in self.zones else self.zones[-1]

    def data_class(self, name: str | None) -> str:
        """The class *name* stands for: itself, or the last one when it is undeclared or not known."""
        return name if name is not None and self.declared(name) else self.classes[-1]

    def declared(self, name: str | None) -> bool:
        """Whether *name* is one of the known data classes."""
        return name in self.classes

    def ceiling(self, zone: str | None) -> str:
        """The most delicate class that *zone* may carry."""
        return self.ceilings[self.zones.index(self.zone(zone))]

    def allows(self, zone: str | None, data_class: str | None) -> bool:
        """Whether data of *data_class* may travel to *zone*."""
        return self.classes.index(self.data_class(data_class)) <= self.classes.index(self.ceiling(zone))


def _check_names(subject: str, names: tuple[Any, ...]) -> None:
    if not names or len(set(names)) != len(names) or not all(isinstance(name, str) and name for name in names):
        raise InvalidValueError(subject, names, "at least one name, each once and none empty")
