"""
What an endpoint needs of a chat; :class:`nr_agent_core.Chat` and :class:`nr_agent_core.AsyncChat` are such.

Adapters do not know the facades, so the little that is used of them is written down here.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Protocol

from nr_agent_core.domain.approvals import Card, Decision
from nr_agent_core.domain.conversation import ConversationStatus, MessageRole
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.notices import NoticeCode
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.turn_events import TurnEvent


class ShownNotice(Protocol):
    """
    A notice with its label for one reader.
    """

    @property
    def code(self) -> NoticeCode:
        """Which notice."""
        ...

    @property
    def label(self) -> str:
        """What it says to this reader."""
        ...


class ShownMessage(Protocol):
    """
    A message as one reader sees it.
    """

    @property
    def position(self) -> int:
        """Its place in the conversation."""
        ...

    @property
    def role(self) -> MessageRole:
        """Whose message it is."""
        ...

    @property
    def text(self) -> str:
        """As it was given."""
        ...

    @property
    def run_id(self) -> str | None:
        """Of which run it is."""
        ...

    @property
    def notices(self) -> Sequence[ShownNotice]:
        """What stands beside it."""
        ...


class ShownError(Protocol):
    """
    Why the last run failed, for one reader.
    """

    @property
    def code(self) -> FailureCode:
        """Which failure."""
        ...

    @property
    def text(self) -> str:
        """A sentence; for administrators what is stored."""
        ...

    @property
    def link(self) -> str | None:
        """Where administrators find more."""
        ...


class ShownConversation(Protocol):
    """
    A conversation as one reader sees it.
    """

    @property
    def id(self) -> str:
        """Which conversation."""
        ...

    @property
    def status(self) -> ConversationStatus:
        """How it stands."""
        ...

    @property
    def messages(self) -> Sequence[ShownMessage]:
        """Its newest messages."""
        ...

    @property
    def error(self) -> ShownError | None:
        """Why its last run failed."""
        ...

    @property
    def card(self) -> Card | None:
        """What waits, if this reader may decide."""
        ...


class Turn(Iterator[TurnEvent], Protocol):
    """
    A turn that is told while it happens.
    """

    def ready(self, seconds: float) -> bool:
        """Whether the next event is there after so many seconds."""
        ...

    def close(self) -> None:
        """Read no more of it."""
        ...


class AsyncTurn(Protocol):
    """
    The same in an event loop.
    """

    def __aiter__(self) -> AsyncIterator[TurnEvent]: ...

    async def __anext__(self) -> TurnEvent: ...

    async def aclose(self) -> None:
        """Read no more of it."""
        ...


class PlainChat(Protocol):
    """
    What is used of a :class:`nr_agent_core.Chat`.
    """

    def stream(self, text: str, reader: Reader, *, conversation: str | None = None) -> Turn:
        """Send."""
        ...

    def stream_decide(
        self, conversation: str, decision: Decision | str, *, card: Card | str | None, by: Reader
    ) -> Turn:
        """Decide."""
        ...

    def view(self, conversation: str, reader: Reader, *, limit: int = 50) -> ShownConversation:
        """Look."""
        ...


class LoopChat(Protocol):
    """
    What is used of a :class:`nr_agent_core.AsyncChat`.
    """

    def stream(self, text: str, reader: Reader, *, conversation: str | None = None) -> AsyncTurn:
        """Send."""
        ...

    def stream_decide(
        self, conversation: str, decision: Decision | str, *, card: Card | str | None, by: Reader
    ) -> AsyncTurn:
        """Decide."""
        ...

    async def view(self, conversation: str, reader: Reader, *, limit: int = 50) -> ShownConversation:
        """Look."""
        ...
