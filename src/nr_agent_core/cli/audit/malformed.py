"""
Input that could not be used: always named, never a reason to stop.
"""

import attrs


@attrs.frozen
class Malformed:
    """
    A line, or a message in it, that was left out of the audit.

    Attributes:
        file: name of the input, as it was given.

        line: number of the line, from 1; of a document over several lines, where it begins or breaks.

        why: one sentence fragment without anything of the content.
    """

    file: str
    line: int
    why: str


class MalformedError(ValueError):
    """
    A value has not the shape that a transcript would have. Its text says why and quotes nothing.
    """


def kind_of(value: object) -> str:
    """
    What JSON calls *value*, with its article: for messages about wrong types.
    """
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return "a list"
        case _:
            return "an object"
