"""
Fingerprints of what is done: canonical JSON, digests, and the idempotency key (R5, T13).

Two calls are the same exactly when their canonical JSON is the same text: keys sorted by code
point, ``,`` and ``:`` as separators, UTF-8, no escaping beyond what JSON asks for. 1 and 1.0
differ. ``tests/vectors/digests.json`` fixes all of it.
"""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from nr_agent_core.domain.errors import InvalidValueError

# An encoder that is made once: json.dumps would make one per call.
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_ALLOWED = "a JSON value: text, finite numbers, booleans, null, lists, and objects with text as keys"


def canonical_json(value: object) -> str:
    """
    *value* as the one JSON text that stands for it.

    >>> canonical_json({"b": 1, "a": [1.0, "ä"]})
    '{"a":[1.0,"ä"],"b":1}'

    Raises:
        InvalidValueError: the value is no JSON: NaN, infinity, lone surrogates, other types, keys
            that are no text, or nested beyond what can be walked.
    """
    try:
        _check(value)
        text = _encode(value)
        text.encode("utf-8")
    except RecursionError:
        raise InvalidValueError(
            "a value to fingerprint", type(value).__name__, f"{_ALLOWED}; it nests too deep"
        ) from None
    except UnicodeEncodeError:
        raise InvalidValueError(
            "a value to fingerprint", type(value).__name__, f"{_ALLOWED}; no lone surrogates"
        ) from None
    return text


def call_digest(tool: str, arguments: Mapping[str, Any]) -> str:
    """The call digest: SHA-256 over the canonical JSON of name and arguments, as hexadecimal."""
    return _sha256({"arguments": arguments, "name": tool})


def round_digest(calls: Iterable[tuple[str, str, str | None]]) -> str:
    """
    The digest an approver's card carries: over the waiting calls, in order (R5).

    Args:
        calls: for each its identity (``"round.index"``), its call digest, and the precondition
            token its preview returned, or None.
    """
    return _sha256([list(call) for call in calls])


def call_id(round_: int, index: int) -> str:
    """The identity of a call in its run (T12)."""
    return f"{round_}.{index}"


def idempotency_key(run_id: str, call: str, digest: str) -> str:
    """
    The key of one call: the same for every repeat of it, and for nothing else (T13).

    Args:
        run_id: the run.
        call: the call's identity, ``"round.index"``.
        digest: its call digest.

    Returns:
        64 hexadecimal characters.
    """
    return _sha256([run_id, call, digest])


def _sha256(value: object) -> str:
    import hashlib  # 6 ms, and many processes never fingerprint anything

    return hashlib.sha256(canonical_json(value).encode("utf-8")).hexdigest()


def _check(value: object) -> None:
    # json.dumps would take tuples, and turn numbers and booleans used as keys into text.
    if value is None or isinstance(value, (str, bool, int)):
        return
    if isinstance(value, float) and math.isfinite(value):
        return
    if isinstance(value, list):
        for item in value:
            _check(item)
        return
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        for item in value.values():
            _check(item)
        return
    raise InvalidValueError("a value to fingerprint", value, _ALLOWED)
