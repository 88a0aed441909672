"""
Content and messages as they stand in a column when they are encrypted (E7).

A sealed text begins with an escape that no plain text is ever stored with, so that the two are
never taken for each other. Each is sealed for its place: the event of a run, or a column of a
message. Plain texts of earlier times are read as they are, until they are resealed.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from nr_agent_core.codec.columns import AddColumns, AppendColumns, ChangeColumns, MessageColumns
from nr_agent_core.domain.errors import ContentDamagedError, ContentKeyError

if TYPE_CHECKING:
    from nr_agent_core.ports.content_cipher import ContentCipher

SEALED: Final = "\x10E"
"""What every sealed text begins with."""


class Sealing:
    """
    Seals what a store writes and opens what it reads.

    Args:
        cipher: None leaves what is written plain, and refuses what is sealed.
    """

    __slots__ = ("_cipher",)

    def __init__(self, cipher: "ContentCipher | None") -> None:
        self._cipher = cipher

    @property
    def seals(self) -> bool:
        """Whether there is a cipher."""
        return self._cipher is not None

    def positions(self, stored: Iterable[ChangeColumns]) -> list[str]:
        """The conversations whose next position must be known before *stored* can be sealed."""
        if self._cipher is None:
            return []
        added = (columns for columns in stored if isinstance(columns, AddColumns) and columns.messages)
        return list(dict.fromkeys(columns.conversation for columns in added))

    def seal(self, stored: Sequence[ChangeColumns], next_position: Callable[[str], int]) -> Sequence[ChangeColumns]:
        """
        *stored*, with all content and messages sealed for the places that they get.

        Args:
            stored: what one commit stores, in order.
            next_position: the position of the next message of a conversation; asked once for each.
        """
        if self._cipher is None:
            return stored
        following: dict[str, int] = {}
        return [self._sealed(columns, following, next_position) for columns in stored]

    def _sealed(
        self, columns: ChangeColumns, following: dict[str, int], next_position: Callable[[str], int]
    ) -> ChangeColumns:
        if isinstance(columns, AppendColumns):
            run = columns.run.id
            events = tuple(
                [event._replace(content=self._event(run, event.number, event.content)) for event in columns.events]
            )
            redacted = tuple([(number, self._event(run, number, content)) for number, content in columns.redacted])
            return columns._replace(events=events, redacted=redacted)
        if isinstance(columns, AddColumns) and columns.messages:
            conversation = columns.conversation
            first = following.get(conversation)
            if first is None:
                first = next_position(conversation)
            following[conversation] = first + len(columns.messages)
            messages = [self._message(conversation, first + at, each) for at, each in enumerate(columns.messages)]
            return columns._replace(messages=tuple(messages))
        return columns

    def _event(self, run_id: str, number: int, content: str | None) -> str | None:
        return None if content is None else self._shut(content, _event_place(run_id, number))

    def _message(self, conversation: str, position: int, message: MessageColumns) -> MessageColumns:
        text, notices = message.text, message.notices
        if text:
            text = self._shut(text, _message_place(conversation, position, "text"))
        if notices is not None:
            notices = self._shut(notices, _message_place(conversation, position, "notices"))
        return message._replace(text=text, notices=notices)

    # -- reading ------------------------------------------------------------------------------

    def events(self, run_id: str, rows: Iterable[Sequence[Any]]) -> list[Sequence[Any]]:
        """
        Rows that begin with number, kind, facts and content of events, opened.

        Raises:
            ContentKeyError: the key is not here.
            ContentDamagedError: it is not what was stored there.
        """
        return [
            (*row[:3], self._open(row[3], *_event_place(run_id, row[0])), *row[4:]) if _is_sealed(row[3]) else row
            for row in rows
        ]

    def for_redaction(self, run_id: str, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        """
        The same one by one; what is damaged is shown as content that nothing can be read from.

        Raises:
            ContentKeyError: the key is not here.
        """
        for row in rows:
            try:
                yield from self.events(run_id, (row,))
            except ContentDamagedError:
                yield (*row[:3], "")

    def message(self, conversation: str, row: Sequence[Any]) -> Sequence[Any]:
        """
        A row that :func:`.rows.read_message` reads, opened.

        Raises:
            ContentKeyError, ContentDamagedError: see :meth:`events`.
        """
        position, role, text, run, at, tokens, notices, *more = row
        if not (_is_sealed(text) or _is_sealed(notices)):
            return row
        if _is_sealed(text):
            text = self._open(text, *_message_place(conversation, position, "text"))
        if _is_sealed(notices):
            notices = self._open(notices, *_message_place(conversation, position, "notices"))
        return (position, role, text, run, at, tokens, notices, *more)

    def messages(self, conversation: str, rows: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
        """Rows of messages, opened one by one as they are asked for."""
        return (self.message(conversation, row) for row in rows)

    # -- rotation -----------------------------------------------------------------------------

    def resealed_event(self, run_id: str, number: int, content: str) -> str | None:
        """
        *content* of an event under the current key, or None if it is so already.

        Raises:
            ContentKeyError, ContentDamagedError: see :meth:`events`.
        """
        return self._resealed(content, _event_place(run_id, number))

    def resealed_message(self, conversation: str, position: int, column: str, text: str | None) -> str | None:
        """A *column* of a message under the current key, or None if it is so already; see :meth:`resealed_event`."""
        return self._resealed(text, _message_place(conversation, position, column)) if text else None

    def _resealed(self, text: str, place: tuple[str, bytes]) -> str | None:
        if not _is_sealed(text):
            return self._shut(text, place)
        if self._known().is_current(_decoded(text, place[0])):
            return None
        return self._shut(self._open(text, *place), place)

    # -- one text -----------------------------------------------------------------------------

    def _shut(self, text: str, place: tuple[str, bytes]) -> str:
        from base64 import b64encode  # only a store with a cipher pays for it

        return SEALED + b64encode(self._known().seal(text.encode(), place[1])).decode("ascii")

    def _open(self, text: str, subject: str, place: bytes) -> str:
        sealed = _decoded(text, subject)
        try:
            return self._known().open(sealed, place).decode()
        except ContentDamagedError as error:
            raise ContentDamagedError(subject, error.why) from None
        except UnicodeDecodeError:
            raise ContentDamagedError(subject, "it is no text") from None

    def _known(self) -> "ContentCipher":
        if self._cipher is None:
            raise ContentKeyError("it is encrypted, and this store has no cipher")
        return self._cipher


def _is_sealed(text: object) -> bool:
    return isinstance(text, str) and text.startswith(SEALED)


def _decoded(text: str, subject: str) -> bytes:
    from base64 import b64decode

    try:
        return b64decode(text[len(SEALED) :], validate=True)
    except ValueError:  # and with it binascii.Error
        raise ContentDamagedError(subject, "it is not what was stored there") from None


def _event_place(run_id: str, number: int) -> tuple[str, bytes]:
    return f"event {number} of run {run_id!r}", _place("event", run_id, number)


def _message_place(conversation: str, position: int, column: str) -> tuple[str, bytes]:
    return f"message {position} of conversation {conversation!r}", _place("message", conversation, position, column)


def _place(*names: str | int) -> bytes:
    """No two places are written alike."""
    return json.dumps(names, separators=(",", ":")).encode("ascii")
