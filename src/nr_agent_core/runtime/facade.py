"""
What a host calls about runs.

For a chat window use :class:`~nr_agent_core.chat.Chat` on top of it: a decision or a cancel taken
*here* counts as taken outside the conversation's chat (E2, C4).
"""

import functools
import itertools
import logging
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Unpack

from nr_agent_core.domain.approvals import Decision
from nr_agent_core.domain.errors import RunUnreadableError, StoredFormError
from nr_agent_core.domain.provenance import StoredWrite
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.driver import InPlace, driven
from nr_agent_core.ports.access_policy import Action
from nr_agent_core.ports.run_store import RunRow, StoredEvent
from nr_agent_core.runtime.limits import reader_of, whole_number
from nr_agent_core.runtime.results import InboxItem, RunResult, UpkeepReport, run_result
from nr_agent_core.runtime.segments import Segments
from nr_agent_core.runtime.wiring import Parts, Wiring, checked_parts

if TYPE_CHECKING:
    from nr_agent_core.ports.retention import Retention
    from nr_agent_core.runtime.calls import RunCalls
    from nr_agent_core.runtime.cards import Cards
    from nr_agent_core.runtime.decisions import Decisions
    from nr_agent_core.runtime.housekeeping import Housekeeping
    from nr_agent_core.runtime.recovery import Recovery

_log = logging.getLogger("nr_agent_core")

_AT_ONCE = 50


class Runtime:
    """
    Starts runs, takes decisions, cancels, reads and recovers, over one store.

    Takes the keyword arguments of :class:`~nr_agent_core.runtime.wiring.Wiring`; ``store`` is
    required, and may be None for runs that are kept in memory only (R12).

    >>> from nr_agent_core.testing import ScriptedModel
    >>> Runtime(store=None, model=ScriptedModel("Hello.")).start("Hi", "anna").answer
    'Hello.'
    """

    def __init__(self, **parts: Unpack[Parts]) -> None:
        checked_parts("a runtime", parts)
        self.wiring = Wiring(**parts)
        self.segments = Segments(self.wiring)
        self.in_place = InPlace(self.wiring.executor)

    # Each is loaded by the first call that needs it, because everybody pays for an import.

    @functools.cached_property
    def calls(self) -> "RunCalls":
        """The calls that may drive a run, as work for a driver."""
        from nr_agent_core.runtime.calls import RunCalls

        return RunCalls(self.segments, self.decisions, self.recovery, lambda: self.housekeeping)

    @functools.cached_property
    def decisions(self) -> "Decisions":
        """Takes decisions on waiting runs."""
        from nr_agent_core.runtime.decisions import Decisions

        return Decisions(self.segments)

    @functools.cached_property
    def recovery(self) -> "Recovery":
        """Takes over what nobody drives any more."""
        from nr_agent_core.runtime.recovery import Recovery

        return Recovery(self.segments)

    @functools.cached_property
    def cards(self) -> "Cards":
        """What waits, as one reader may see it."""
        from nr_agent_core.runtime.cards import Cards

        return Cards(self.wiring)

    @functools.cached_property
    def housekeeping(self) -> "Housekeeping":
        """The part of upkeep that needs neither tools nor a model."""
        from nr_agent_core.runtime.housekeeping import Housekeeping

        return Housekeeping(self.segments, self.recovery)

    def start(self, text: str, owner: str | Reader, *, instructions: str = "") -> RunResult:
        """
        Run once on *text* for *owner*, outside any conversation.

        Args:
            text: the user's message, not blank.
            owner: whose run it is; tools act under this identity.
            instructions: the owner's own instructions, placed last and fenced (M3).

        Returns:
            Where the run stands; the answer is returned here and not kept.

        Raises:
            MessageRejectedError: the text is blank. Nothing was stored.
            AccessDeniedError: this owner may not send. Nothing was stored.
            LostRaceError: somebody cancelled the run meanwhile; :meth:`status` says what is so.
        """
        return driven(self.calls.start(text, owner, instructions=instructions), self.in_place)

    def decide(self, run_id: str, decision: Decision | str, *, digest: str, by: Reader | str) -> RunResult:
        """
        Decide on a waiting run from OUTSIDE its conversation's chat: an inbox, a script, a mail.

        With a queue a worker goes on, and the result says ``queued``.

        A chat window must call :meth:`Chat.decide` instead; otherwise its conversation is told
        that the run was decided elsewhere (C4).

        Args:
            run_id: the run; knowing it authorises nothing.
            decision: ``approve`` or ``deny``.
            digest: the digest of the card that the decider saw.
            by: who decides.

        Raises:
            DecisionRefusedError: with the code that says what is so now; nothing was executed (A1).
            NotFoundError: no such run, or not yours to see.
            ToolMissingError: this process does not know a waiting tool. The run waits on.
        """
        return driven(self.calls.decide(run_id, decision, digest=digest, by=by), self.in_place)

    def cancel(self, run_id: str, by: Reader | str) -> RunResult:
        """
        End an unsettled run from outside; a settled one is left as it is (R9).

        A tool in flight is not interrupted; its outcome is recorded late.

        Raises:
            NotFoundError: no such run, or not yours to see.
            AccessDeniedError: *by* may see it, not cancel it. Nothing happened.
        """
        return run_result(self.segments.cancel(run_id, reader_of(by).id, outside=True))

    def status(self, run_id: str, actor: Reader | str) -> RunResult:
        """
        Where the run stands now.

        Raises:
            NotFoundError: no such run, or not *actor*'s to see.
            RunUnreadableError, StoredFormError: its stream cannot be read (E5).
        """
        return run_result(self.segments.load_for(run_id, reader_of(actor).id, Action.SEE))

    def events(self, run_id: str, actor: Reader | str, *, after: int = -1) -> tuple[StoredEvent, ...]:
        """
        The run's stored events with a number above *after*, in order.

        Raises:
            NotFoundError: no such run, or not *actor*'s to see. Never an empty stream (E5).
            RunUnreadableError, StoredFormError: the stream cannot be read.
        """
        after = whole_number("the number after which events are read", after, least=-1)
        self.segments.load_for(run_id, reader_of(actor).id, Action.SEE)
        return self.segments.store.events(run_id, after=after)

    def inbox(self, actor: Reader | str, *, limit: int = 50) -> tuple[InboxItem, ...]:
        """
        What waits for a decision that *actor* may take, oldest first, with the previews *actor* may read (A5).

        A run that cannot be read is left out and logged; upkeep and its conversation look after it.

        Args:
            actor: who decides.
            limit: the most items.

        Raises:
            ContentKeyError: the key of a run that waits is not here; an inbox without it would say that nothing waits.
        """
        reader, limit = reader_of(actor), whole_number("the limit of an inbox", limit, least=1)
        rows = self._decidable(reader, at_once=max(limit, _AT_ONCE))
        items = (item for row in rows if (item := self._inbox_item(row, reader)) is not None)
        return tuple(itertools.islice(items, limit))

    def _decidable(self, reader: Reader, *, at_once: int) -> Iterator[RunRow]:
        """What waits for *reader*. Rights are the host's, so the store cannot filter by them."""
        seen = set[str]()
        while True:
            rows = [row for row in self.segments.store.waiting_runs(limit=at_once) if row.id not in seen]
            if not rows:
                return
            for row in rows:
                seen.add(row.id)
                if self.wiring.access.may(reader.id, Action.DECIDE, self.segments.subject_of(row)):
                    yield row
            at_once *= 2

    def _inbox_item(self, row: RunRow, reader: Reader) -> InboxItem | None:
        try:
            run = self.segments.settle_expired(self.segments.load(row.id))
        except (RunUnreadableError, StoredFormError) as error:
            _log.error("a waiting run is left out of an inbox: %s", sanitised_chain(error))
            return None
        card = self.cards.card(run, reader)
        return None if card is None else InboxItem(row.id, row.conversation, row.owner, card)

    def recover(self, run_id: str) -> RunResult:
        """
        Drive a run on whose process is gone; callable from any process (R7, R8).

        Raises:
            LeaseHeldError: somebody drives it still. Nothing was stored.
            StaleAppendError: somebody else took it over first.
        """
        return driven(self.calls.recover(run_id), self.in_place)

    def upkeep(self, *, limit: int = 100, retention: "Retention | None" = None) -> UpkeepReport:
        """
        Recover what is due, expire what has expired, fail what cannot be recovered or read, delete what is
        past its window (O2).

        Args:
            limit: the most runs that are recovered, and the most damaged ones that are ended.
            retention: the windows; None deletes nothing.

        Raises:
            InvalidValueError: an argument is something else. Nothing happened.
            StoreError: the store could not do it; what was done until then stands.
        """
        return driven(self.calls.upkeep(limit=limit, retention=retention), self.in_place)

    def writes(self, *, after: int = 0, limit: int = 1000) -> tuple[StoredWrite, ...]:
        """
        The durable feed of writes behind position *after*, in commit order; never blocks (W4).

        A call of the host, for no reader. Drop repeats on (correlation id, reference, kind) (W3).
        """
        after = whole_number("the position after which writes are read", after, least=0)
        limit = whole_number("the limit of a page of writes", limit, least=1)
        return self.segments.store.writes(after=after, limit=limit)

    def work(
        self,
        *,
        threads: int = 4,
        name: str = "worker",
        stop: threading.Event | None = None,
        look_every: float = 15.0,
    ) -> None:
        """
        Be a worker of this runtime's queue in the calling thread, until *stop* is set.

        Args:
            threads: how many runs are driven at once, at most.
            name: what threads and log lines are called.
            stop: set by a signal's handler, or by another thread. A run in hand is queued again at its
                next safe point: before the next question or call, never amid one (R6).
            look_every: seconds between two looks for runs whose worker is gone (R8).

        Raises:
            NoQueueError: this runtime has no queue.
            QueueNotInstalledError: the queue is not set up.
        """
        from nr_agent_core.runtime.worker import Worker  # only a worker pays for it

        event = threading.Event() if stop is None else stop
        worker = Worker(
            self.segments,
            self.recovery,
            self.in_place,
            threads=threads,
            name=name,
            stop=event,
            look_every=look_every,
        )
        worker.work()

    def close(self, *, wait: float = 0.0) -> int:
        """
        Wait for writing tools at work behind their deadline, store late outcomes, then let go of the store.

        Args:
            wait: the most seconds to spend on it.

        Returns:
            How many outcomes are not stored, those of tools that are still at work included.
        """
        left = self.wiring.late.close(wait)
        if self.wiring.store is not None:
            self.wiring.store.close()
        return left
