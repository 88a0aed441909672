"""
From one input to its answers: what each value is, is seen from the value itself.
"""

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from nr_agent_core.cli.audit.answer import Answer
from nr_agent_core.cli.audit.answer_lines import identifier, read_answer_line
from nr_agent_core.cli.audit.json_values import json_values
from nr_agent_core.cli.audit.malformed import Malformed, MalformedError, kind_of
from nr_agent_core.cli.audit.transcripts import Conversation

_CONVERSATION_IDS = ("id", "conversation_id", "conversation", "session_id", "thread_id")


def read_answers(stream: BinaryIO, file: str, advance: Callable[[int], None]) -> Iterator[Answer | Malformed]:
    """
    Every completed answer of *stream* in its order, and everything in it that could not be used.

    Messages that stand on lines of their own are one conversation a file.

    Args:
        stream: the bytes.
        file: name of the input, for ids and messages.
        advance: called with the number of bytes that were read.

    Raises:
        OSError: the stream could not be read to its end.
    """
    reader = _Reader(file)
    for located in json_values(stream, file, advance):
        if isinstance(located, Malformed):
            yield located
            yield from reader.skip()
        else:
            yield from reader.read(located.value, located.line)
    yield from reader.finish()


class _Reader:
    """
    Keeps the conversation whose messages stand on lines of their own.
    """

    def __init__(self, file: str) -> None:
        self._file = file
        self._open: Conversation | None = None
        self._gap = False

    def skip(self) -> Iterator[Answer]:
        """
        A line could not be used. It may have been a message of the conversation.
        """
        self._gap = True
        if self._open is not None:
            yield from self._open.skip()

    def finish(self) -> Iterator[Answer]:
        """
        The conversation of single messages ends.
        """
        if self._open is not None:
            yield from self._open.end()
            self._open = None
        self._gap = False

    def read(self, value: Any, line: int) -> Iterator[Answer | Malformed]:
        """
        What one line, or one document, holds.
        """
        if isinstance(value, dict) and "role" in value and "messages" not in value:
            self._open = self._open or Conversation(self._file, gap=self._gap)
            yield from self._open.add(value, label=f"{self._file}:{line}", line=line)
            return
        if isinstance(value, list) and _holds_items(value):
            yield from self.finish()
            for number, item in enumerate(value, 1):
                yield from self._whole(item, line, f"{self._file}:{line}[{number}]", f"item {number}: ")
            return
        if not _is_whole(value):
            yield from self.skip()
        else:
            yield from self.finish()
        yield from self._whole(value, line, f"{self._file}:{line}", "")

    def _whole(self, value: Any, line: int, label: str, where: str) -> Iterator[Answer | Malformed]:
        """
        A value that is a conversation or an answer by itself.
        """
        try:
            if isinstance(value, list):
                if value and not any(isinstance(message, dict) for message in value):
                    raise MalformedError("a list without messages")
                yield from self._conversation(value, line, label, where)
            elif isinstance(value, dict) and "messages" in value:
                messages = value["messages"]
                if not isinstance(messages, list):
                    raise MalformedError(f"its messages are {kind_of(messages)}; a list is expected")
                name = identifier(value, *_CONVERSATION_IDS) or label
                yield from self._conversation(messages, line, name, where)
            elif isinstance(value, dict) and "text" in value:
                yield read_answer_line(value, label=label, file=self._file, line=line)
            else:
                raise MalformedError(f"{kind_of(value)} without messages, a role or a text")
        except MalformedError as error:
            yield Malformed(self._file, line, f"{where}{error}")

    def _conversation(self, messages: list[Any], line: int, name: str, where: str) -> Iterator[Answer | Malformed]:
        conversation = Conversation(self._file)
        for position, message in enumerate(messages, 1):
            yield from conversation.add(
                message, label=f"{name}#{position}", line=line, place=f"{where}message {position}: "
            )
        yield from conversation.end()


def _is_whole(value: Any) -> bool:
    return isinstance(value, list) or (isinstance(value, dict) and ("messages" in value or "text" in value))


def _holds_items(value: list[Any]) -> bool:
    """
    Whether a list holds conversations or answers rather than the messages of one conversation.
    """
    if any(isinstance(item, dict) and "role" in item for item in value):
        return False
    return any(map(_is_whole, value))
