"""
Content sealed with AES-256 in Galois/Counter Mode. Needs the extra ``crypto``.
"""

import hashlib
import hmac
import os
import re
from collections.abc import Mapping

from nr_agent_core.domain.errors import ContentDamagedError, ContentKeyError, InvalidValueError

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"sealing content needs {missing.name!r}: install nr-agent-core[crypto]", name=missing.name
    ) from missing

_FORM = 1
_KEY, _CHECK, _NONCE, _TAG = 32, 8, 12, 16
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


class AesGcmCipher:
    """
    A ring of keys (:class:`~nr_agent_core.ports.content_cipher.ContentCipher`).

    What is sealed begins with its form, the id of its key and a check value of that key; all of
    them and the place are authenticated with it. The check value tells another key under the same
    id from damage: content whose key is not here is never taken for lost.

    Args:
        keys: 32 random bytes by key id of 1 to 64 ASCII letters, digits, dots, underscores and hyphens. They
            are in no text and no attribute of this object.
        current: the id of the key that seals. The others open what they sealed earlier.

    Raises:
        InvalidValueError: a key or an id is none, or *current* is not among them. No key is shown.
    """

    __slots__ = ("_current", "_keys")

    def __init__(self, keys: Mapping[str, bytes], *, current: str) -> None:
        self._keys: dict[str, tuple[AESGCM, bytes]] = {}
        for key_id, key in keys.items():
            if not isinstance(key_id, str) or not _ID.fullmatch(key_id):
                raise InvalidValueError("the id of a key", key_id, "1 to 64 letters, digits, or any of . _ -")
            if not isinstance(key, bytes) or len(key) != _KEY:
                found = f"{len(key)} bytes" if isinstance(key, bytes) else f"a {type(key).__name__}"
                raise InvalidValueError(f"key {key_id!r}", found, f"{_KEY} random bytes")
            self._keys[key_id] = AESGCM(key), _header(key_id, key)
        if current not in self._keys:
            raise InvalidValueError("the current key", current, "the id of one of the keys")
        self._current = current

    def __repr__(self) -> str:
        return f"{type(self).__name__}(current={self._current!r})"

    def seal(self, content: bytes, place: bytes) -> bytes:
        """*content* sealed for *place* under the current key, with a random nonce."""
        cipher, header = self._keys[self._current]
        nonce = os.urandom(_NONCE)
        return header + nonce + cipher.encrypt(nonce, content, header + place)

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """The content that was sealed for *place* (see the port for errors)."""
        key_id, end = _named(sealed)
        if key_id not in self._keys:
            raise ContentKeyError(f"it names key {key_id!r}, which is not here")
        cipher, header = self._keys[key_id]
        if sealed[:end] != header:
            raise ContentKeyError(f"key {key_id!r} is not the one that sealed it")
        try:
            return cipher.decrypt(sealed[end : end + _NONCE], sealed[end + _NONCE :], header + place)
        except InvalidTag:
            raise ContentDamagedError("content", "it is not what was sealed for this place") from None

    def is_current(self, sealed: bytes) -> bool:
        """Whether *sealed* names the current key."""
        return sealed.startswith(self._keys[self._current][1])


def _header(key_id: str, key: bytes) -> bytes:
    """What content sealed with *key* begins with."""
    check = hmac.digest(key, b"nr_agent_core key check", hashlib.sha256)[:_CHECK]
    return bytes((_FORM, len(key_id))) + key_id.encode() + check


def _named(sealed: bytes) -> tuple[str, int]:
    """The id of the key that *sealed* names, and the length of its header."""
    if not sealed or sealed[0] != _FORM:
        raise ContentDamagedError("content", "it has no form that was ever written")
    length = sealed[1] if len(sealed) > 1 else 0
    end = 2 + length + _CHECK
    key_id = sealed[2 : 2 + length].decode("ascii", "replace")
    if len(sealed) < end + _NONCE + _TAG or not _ID.fullmatch(key_id):
        raise ContentDamagedError("content", "it is cut short or names no key")
    return key_id, end
