"""
What the contract suites of the stores share: the fixtures an adapter overrides, and the clock.
"""

from collections.abc import Iterator, Sequence
from typing import NoReturn

import attrs
import pytest

from nr_agent_core.domain.conversation import MessageRole, NewMessage
from nr_agent_core.domain.notices import Notice
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.ports.unit_of_work import AddMessages, AppendEvents, OpenConversation, UnitOfWork
from nr_agent_core.testing.manual_clock import ManualClock


class StoreContract:
    """
    Base of the contract suites: an adapter overrides :meth:`store`, and :meth:`plant` if it can.
    """

    @pytest.fixture
    def clock(self) -> ManualClock:
        """The clock that the store under test must be made with."""
        return ManualClock()

    @pytest.fixture
    def store(self, clock: ManualClock) -> Iterator[UnitOfWork]:
        """An empty store that tells the time of *clock*. To be overridden."""
        raise NotImplementedError(f"{type(self).__name__} must override the fixture 'store' ({clock!r})")

    def plant(self, store: UnitOfWork, run_id: str, number: int, **columns: str | None) -> None:
        """
        Overwrite columns (``kind``, ``facts``, ``content``) of a stored event behind the store's back.

        A store in which nothing can be planted leaves this as it is: those tests are skipped.
        """
        _cannot(store, run_id, number, columns)

    def plant_row(self, store: UnitOfWork, run_id: str, **columns: str | None) -> None:
        """Overwrite columns (``status``, ``code``) of a run's row behind the store's back; see :meth:`plant`."""
        _cannot(store, run_id, columns)

    def remove(self, store: UnitOfWork, run_id: str, number: int) -> None:
        """Take a stored event away behind the store's back; see :meth:`plant`."""
        _cannot(store, run_id, number)


def _cannot(*_: object) -> NoReturn:
    pytest.skip("nothing can be planted in this store")


def opened(store: UnitOfWork, *conversations: str, owner: str = "anna") -> None:
    """Conversations come into being, each in a commit of its own."""
    for conversation in conversations:
        store.commit([OpenConversation(conversation, owner)])


def said(
    conversation: str,
    *texts: str,
    role: MessageRole = MessageRole.USER,
    run_id: str | None = None,
    tokens: int = 10,
    position: int | None = None,
    notices: tuple[Notice, ...] = (),
) -> AddMessages:
    """Messages of one role at the end of *conversation*; *position* is expected of the first one."""
    expected = [position] + [None] * (len(texts) - 1)
    return AddMessages(
        conversation,
        tuple(NewMessage(role, text, run_id, tokens, notices, at) for text, at in zip(texts, expected, strict=True)),
    )


def joined(*appends: AppendEvents) -> AppendEvents:
    """Appends of one run that follow each other, as one."""
    events = tuple(event for append in appends for event in append.events)
    return attrs.evolve(appends[-1], expected=appends[0].expected, events=events)


def status_of(store: UnitOfWork, run_id: str) -> RunStatus:
    """Where a run stands that is stored."""
    row = store.run_row(run_id)
    assert row is not None
    return row.status


def read_out(
    store: UnitOfWork, runs: Sequence[str] = ("standing", "r1", "r2"), conversations: Sequence[str] = ("c1", "c2")
) -> list[object]:
    """Everything that can be read about some runs and conversations."""
    known = [run_id for run_id in runs if store.run_row(run_id) is not None]
    return [
        *((store.run_row(run_id), store.events(run_id), store.writes_of(run_id)) for run_id in known),
        *((store.conversation_row(each), store.messages(each)) for each in conversations),
        *(store.history(each, budget=1_000_000) for each in conversations),
        store.writes(after=0, limit=1000),
        store.waiting_runs(limit=1000),
        store.due_runs(queued_grace=0.0, limit=1000),
    ]
