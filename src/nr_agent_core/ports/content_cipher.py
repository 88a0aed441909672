"""
Content encrypted at rest (E7).
"""

from typing import Protocol

import attrs

from nr_agent_core.domain.value import Value


class ContentCipher(Protocol):
    """
    Seals what runs and messages say before it is stored, and opens it again.

    Used by the stores from any thread, inside their transactions: it must not block for long.
    What is sealed is bound to its place, so that nothing can be moved to another one, and names
    the key it was sealed with, so that keys can change.
    :class:`~nr_agent_core.adapters.aes_gcm_cipher.AesGcmCipher` is the adapter that ships.
    """

    def seal(self, content: bytes, place: bytes) -> bytes:
        """
        *content* sealed for *place* under the current key, different each time.

        Raises:
            ContentKeyError: there is no key to be had now. Nothing was sealed.
        """
        ...

    def open(self, sealed: bytes, place: bytes) -> bytes:
        """
        The content that was sealed for *place*.

        Raises:
            ContentKeyError: the key that it names is not here. Nothing is known of the content.
            ContentDamagedError: it is not what was sealed, or was sealed for another place.
        """
        ...

    def is_current(self, sealed: bytes) -> bool:
        """Whether *sealed* names the key that new content is sealed with; False calls for rotation."""
        ...


@attrs.frozen(repr=False, eq=False)
class Rotation(Value):
    """
    What a rotation of keys did.

    Args:
        resealed: pieces of content that were not under the current key, and are now.
        left: pieces that could not be opened, which the log names. Old keys are needed as long as
            there are any.
    """

    resealed: int
    left: int
