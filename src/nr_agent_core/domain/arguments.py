"""
The arguments of a call as the model wrote them: one JSON object, read strictly (T12).
"""

import json
import math
from collections.abc import Mapping
from typing import Any, Final

from nr_agent_core.domain.errors import InvalidValueError

MAX_DEPTH: Final = 32
_OBJECT = "one JSON object"


def parse_arguments(raw: str) -> dict[str, Any]:
    """
    The arguments that *raw* holds (T12).

    >>> parse_arguments('{"title": "Team"}')
    {'title': 'Team'}

    Args:
        raw: what the model wrote; blank counts as ``{}``.

    Raises:
        InvalidValueError: it is no JSON, no object, has a key twice, NaN, infinity (also a number
            too large for one), a lone surrogate, or nests deeper than 32. ``allowed`` says which.
    """
    if not isinstance(raw, str):
        raise InvalidValueError("the arguments of a call", raw, f"{_OBJECT} as text")
    if not raw.strip():
        return {}
    try:
        value = _decode(raw)
    except _RefusedError as error:
        raise InvalidValueError("the arguments of a call", raw, f"{_OBJECT}; {error}") from None
    except RecursionError:
        raise InvalidValueError("the arguments of a call", raw, f"{_OBJECT} at most {MAX_DEPTH} deep") from None
    except ValueError:
        raise InvalidValueError("the arguments of a call", raw, f"{_OBJECT}; this is no JSON") from None
    return accepted_arguments(value)


def accepted_arguments(value: object) -> dict[str, Any]:
    """
    Arguments that came decoded already, held against the same rules as far as they still can be.

    Raises:
        InvalidValueError: as for :func:`parse_arguments`.
    """
    if not isinstance(value, Mapping):
        raise InvalidValueError("the arguments of a call", value, _OBJECT)
    try:
        return {_text(key): _accepted(item, 1) for key, item in value.items()}
    except _RefusedError as error:
        raise InvalidValueError("the arguments of a call", value, f"{_OBJECT}; {error}") from None


class _RefusedError(ValueError):
    """
    Why arguments are refused, in words.
    """


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _RefusedError("no key may stand twice in an object")
    return found


def _refuse_constant(name: str) -> None:
    raise _RefusedError(f"{name} is no JSON number")


# A decoder that is made once: json.loads would make one per call.
_decode = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_refuse_constant).decode


def _accepted(value: object, depth: int) -> Any:
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        # 1e999 is fine JSON, and becomes infinity.
        if not math.isfinite(value):
            raise _RefusedError("its numbers are finite")
        return value
    if depth >= MAX_DEPTH:
        raise _RefusedError(f"it nests at most {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        return {_text(key): _accepted(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_accepted(item, depth + 1) for item in value]
    raise _RefusedError(f"it holds no {type(value).__name__}")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise _RefusedError("its keys are texts")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _RefusedError("its texts hold no lone surrogates") from None
    return value
