"""
What all frozen values have in common: they are told, compared and hashed by their fields.

attrs could make these three methods for each class. Compiling them is half of what a class costs,
and that is most of what importing this package costs; so they are written once, here.
"""

from typing import Any

import attrs


class Value:
    """
    The base of ``@attrs.frozen(repr=False, eq=False)`` classes.

    >>> from nr_agent_core.domain.tool_result import RecordReference
    >>> RecordReference("pages", 42), RecordReference("pages", 42) == RecordReference("pages", 42)
    (RecordReference(table='pages', uid=42), True)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        names = _names(type(self))
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in _names(type(self)))

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in _names(type(self)))))


def _names(value_type: Any) -> tuple[str, ...]:
    return tuple(field.name for field in attrs.fields(value_type))
