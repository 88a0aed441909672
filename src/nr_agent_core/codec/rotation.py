"""
Rotation of keys: the walk through everything that is sealed, the same for every store in SQL (E7).
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from nr_agent_core.codec.sealing import Sealing
from nr_agent_core.domain.errors import ContentDamagedError, ContentKeyError, InvalidValueError
from nr_agent_core.ports.content_cipher import Rotation

_log = logging.getLogger("nr_agent_core")


class RotationSource(Protocol):
    """
    What a rotation asks a store. Ids are as they were given.
    """

    def events(self, after: tuple[str, int], limit: int) -> Sequence[Any]:
        """Run, number and content of events behind *after* that have content, in their order."""
        ...

    def messages(self, after: tuple[str, int], limit: int) -> Sequence[Any]:
        """Conversation, position, text and notices of messages behind *after*, in their order."""
        ...

    def replace_contents(self, changes: Sequence[tuple[str, str, int, str]]) -> int:
        """New content, run, number and the content that must still stand there; how many there were."""
        ...

    def replace_messages(self, column: str, changes: Sequence[tuple[str, str, int, str]]) -> int:
        """The same for a column of messages: new text, conversation, position, old text."""
        ...


class _Walk:
    """
    One rotation at work.
    """

    def __init__(self, source: RotationSource, sealing: Sealing, chunk: int) -> None:
        self._source, self._sealing, self._chunk = source, sealing, chunk
        self.resealed = self.left = 0

    def events(self) -> None:
        """Through the content of all events."""
        after = ("", -1)
        while rows := self._source.events(after, self._chunk):
            changes = []
            for run, number, content in rows:
                reseal = partial(self._sealing.resealed_event, run, number, content)
                sealed = self._tried(f"event {number} of {run!r}", reseal)
                if sealed is not None:
                    changes.append((sealed, run, number, content))
            if changes:
                self.resealed += self._source.replace_contents(changes)
            after = rows[-1][0], rows[-1][1]

    def messages(self) -> None:
        """Through the texts and notices of all messages."""
        after = ("", -1)
        while rows := self._source.messages(after, self._chunk):
            for at, column in enumerate(("text", "notices"), 2):
                changes = []
                for row in rows:
                    reseal = partial(self._sealing.resealed_message, row[0], row[1], column, row[at])
                    sealed = self._tried(f"message {row[1]} of {row[0]!r}", reseal)
                    if sealed is not None:
                        changes.append((sealed, row[0], row[1], row[at]))
                if changes:
                    self.resealed += self._source.replace_messages(column, changes)
            after = rows[-1][0], rows[-1][1]

    def _tried(self, what: str, reseal: Callable[[], str | None]) -> str | None:
        """What cannot be opened is left and named: it must not keep the rest from its new key."""
        try:
            return reseal()
        except (ContentDamagedError, ContentKeyError) as error:
            self.left += 1
            _log.warning("left by the rotation of keys: %s: %s", what, error)
            return None


def rotate(source: RotationSource, sealing: Sealing, chunk: int) -> Rotation:
    """
    Everything that *source* holds, brought under the current key of *sealing*.

    Args:
        source: the store.
        sealing: of the store.
        chunk: the most pieces that one transaction changes.

    Raises:
        InvalidValueError: there is no cipher, or *chunk* is no number from 1.
    """
    if not sealing.seals:
        raise InvalidValueError("the cipher of this store", None, "a cipher, to whose current key is rotated")
    if isinstance(chunk, bool) or not isinstance(chunk, int) or chunk < 1:
        raise InvalidValueError("the pieces of a transaction", chunk, "a number from 1")
    walk = _Walk(source, sealing, chunk)
    walk.events()
    walk.messages()
    return Rotation(walk.resealed, walk.left)
