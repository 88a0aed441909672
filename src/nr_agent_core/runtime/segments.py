"""
Opening segments: everything one needs is asked now, then it is driven to where it ends.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import attrs

from nr_agent_core.domain.bounding import well_formed
from nr_agent_core.domain.context_window import budget
from nr_agent_core.domain.conversation import MessageRole, NewMessage
from nr_agent_core.domain.errors import (
    LostRaceError,
    NoQueueError,
    RunUnreadableError,
    StaleAppendError,
    StoredFormError,
)
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.gate import Gate
from nr_agent_core.domain.privacy import Privacy, privacy_level
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import RunCancelled, RunEvent, RunFailed, Started
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.sanitiser import failure_text, sanitised_chain
from nr_agent_core.domain.unavailable_tools import prompt_section
from nr_agent_core.domain.verdict import ended_notices
from nr_agent_core.driver import Performer, Work, drive
from nr_agent_core.ports.access_policy import Action
from nr_agent_core.ports.configuration_resolver import Configuration
from nr_agent_core.ports.model_provider import AnyModel
from nr_agent_core.ports.run_store import RunRow, UnreadableRun
from nr_agent_core.ports.unit_of_work import AddMessages, AppendEvents, Change, LetGo, OpenConversation
from nr_agent_core.runtime.briefings import Briefings
from nr_agent_core.runtime.stored_runs import StoredRuns
from nr_agent_core.runtime.verdicts import Verdicts
from nr_agent_core.runtime.wiring import Wiring
from nr_agent_core.steps import Segment, SegmentEnd, Setting, assistant_message

_log = logging.getLogger("nr_agent_core")

INTERRUPTED = RunFailed(RunReason.INTERNAL, FailureCode.INTERRUPTED, outside=True)
"""How upkeep ends what cannot be read."""

DEFAULT_ROUNDS = 5


class Segments(StoredRuns):
    """
    Opens the segments of runs, and settles those that need no segment.
    """

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(wiring)
        self._briefings = Briefings(wiring.store)

    # -- driving ------------------------------------------------------------------------------

    def start(
        self,
        run_id: str,
        reader: Reader,
        *,
        text: str,
        owner: str | None = None,
        conversation: str | None = None,
        message: int | None = None,
        opening_changes: tuple[Change, ...] = (),
        queued: bool = False,
        connection: Any | None = None,
    ) -> Work[SegmentEnd]:
        """
        Start a run; without a configuration it fails at once, in the same transaction (G0).

        Args:
            run_id: the new run's id.
            reader: who sends the message.
            owner: whose run it is, the owner of its conversation; by default *reader*. A sender lends
                nobody's tools their own rights (A2, T13).
            text: the user's message. A conversation holds it; a bare run keeps it as content.
            conversation: the conversation, or None for a bare run.
            message: the position of the message in its conversation.
            opening_changes: what is stored before ``started`` in its transaction.
            queued: whether a worker drives it (R6).
            connection: the host's, whose transaction the beginning of a queued run becomes part of.

        Raises:
            NoQueueError: it was to be queued, and there is no queue. Nothing was stored.
        """
        if queued and self.wiring.queue is None:
            raise NoQueueError("queued=True")
        run = Run(run_id)
        owner = reader.id if owner is None else owner
        configuration, failed = self._configured(conversation, owner)
        bare = conversation is None
        started = Started(
            owner,
            DEFAULT_ROUNDS if configuration is None else configuration.max_rounds,
            conversation,
            message,
            None if queued else self.wiring.ids.segment_token(),
            text=text if bare else None,
            # A worker has no reader: what this one wishes goes with the run.
            instructions=(well_formed(reader.instructions) or None) if bare or self.wiring.queue else None,
        )
        if configuration is None or configuration.model is None:
            ended = failed or not_configured(configuration)
            kept = privacy_level(configuration and configuration.privacy)
            changes, settled = self.settling(run, (started, ended), privacy=kept)
            self.wiring.commit((*opening_changes, *changes), connection)
            return SegmentEnd(settled, None, ended_notices(settled))
        if queued:
            waiting = run.after(started)
            self.wiring.commit((*opening_changes, AppendEvents(waiting, 0, (started,))), connection)
            return SegmentEnd(waiting)
        told = self.perform(run, (started,), configuration, reader=reader, text=text, opening_changes=opening_changes)
        return (yield from told)

    def _configured(self, conversation: str | None, owner: str) -> tuple[Configuration | None, RunFailed | None]:
        """What is in force; with a resolver that fails, the end of the run: the turn fails, the chat works on (G0)."""
        try:
            return self.wiring.configuration(conversation, owner), None
        except Exception as error:  # noqa: BLE001 - whatever a host's resolver raises
            _log.error("no configuration could be resolved: %s", sanitised_chain(error))
            return None, RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL, failure_text(error))

    def perform(
        self,
        run: Run,
        opening: tuple[RunEvent, ...],
        configuration: Configuration,
        *,
        reader: Reader | None = None,
        text: str | None = None,
        on_worker: bool = False,
        stopping: Callable[[], bool] = bool,
        opening_changes: tuple[Change, ...] = (),
    ) -> Work[SegmentEnd]:
        """
        Open a segment of *run* by *opening* and drive it to where it ends.

        Raises:
            LostRaceError: somebody else moved the run on; nothing more was stored.
            StoreError: the store is gone; the run is left to its lease.
        """
        wiring, model = self.wiring, configuration.model
        assert model is not None
        first = opening[0]
        owner = first.owner if isinstance(first, Started) else run.owner
        gate = self._gate(owner, configuration)
        opened = run
        for event in opening:
            opened = opened.after(event)
        briefing = self._briefings.briefing(
            opened,
            configuration,
            gate,
            self._withheld(owner, gate),
            tokens=budget(getattr(model, "context_window", None), getattr(model, "output_limit", None)),
            reader=reader if reader is not None and reader.id == owner else None,
            text=text,
            arriving=_answers_in(opening_changes),
            fresh=any(isinstance(change, OpenConversation) for change in opening_changes),
        )
        with wiring.late.driving(run.id) as late:
            setting = Setting(
                gate=gate,
                briefing=briefing,
                verdict=Verdicts(wiring.detector, briefing, rounds_before=len(opened.rounds)),
                now=wiring.now,
                lease_margin=wiring.lease_margin,
                approval_expiry=configuration.approval_expiry,
                stored=wiring.store is not None,
                on_worker=on_worker,
                privacy=privacy_level(configuration.privacy),
                stopping=stopping,
                late=late.take,
                opening_changes=opening_changes,
            )
            segment = Segment(run, setting)
            try:
                return (yield from drive(segment, opening, self._performer(model)))
            except Exception:
                # Whatever stopped it: what a writing call brought stays a fact (R7).
                wiring.late.keep_unstored(run.id, segment.unstored)
                raise

    def _performer(self, model: AnyModel) -> Performer:
        wiring = self.wiring
        return Performer(
            wiring.commits,
            model,
            bus=wiring.bus,
            late=wiring.late,
            around_tool=wiring.around_tool,
        )

    # -- settling without a segment -----------------------------------------------------------

    def settle(
        self,
        run: Run,
        events: tuple[RunEvent, ...],
        before: tuple[Change, ...] = (),
        *,
        privacy: Privacy | None = None,
    ) -> Run:
        """
        Append *events*, the last of which settles the run, with the message that it leaves (F5).

        Without *privacy* what is in force now decides what is kept of its content (E4).

        Raises:
            LostRaceError: the run moved on meanwhile. Nothing was stored.
        """
        changes, settled = self.settling(run, events, privacy=privacy)
        if self.wiring.store is not None:
            self.wiring.store.commit((*before, *changes))
        return settled

    def settling(
        self, run: Run, events: tuple[RunEvent, ...], *, privacy: Privacy | None = None
    ) -> tuple[tuple[Change, ...], Run]:
        """The changes that settle *run* by *events*, to be committed by the caller, and the run after them."""
        settled = run
        for event in events:
            settled = settled.after(event)
        if privacy is None:
            # Nothing in force is no reason to keep more.
            configuration = self.wiring.configuration_if_any(settled.conversation, settled.owner)
            privacy = privacy_level(configuration and configuration.privacy)
        append = AppendEvents(settled, run.sequence, events, privacy=privacy)
        if settled.conversation is None:
            return (append,), settled
        message = assistant_message(run.id, "", ended_notices(settled))
        return (append, AddMessages(settled.conversation, (message,))), settled

    def settle_expired(self, run: Run) -> Run:
        """*run*, ended ``cancelled``/``approval_expired`` if its approval has expired (A4)."""
        request = run.request
        if request is None or request.expires_at is None or request.expires_at > self.wiring.now():
            return run
        try:
            return self.settle(run, (RunCancelled(RunReason.APPROVAL_EXPIRED, outside=True),))
        except LostRaceError:
            return self.load(run.id)

    def cancel(self, run_id: str, by: str, *, outside: bool) -> Run:
        """Cancel until it lands or the run has settled (R9); one that cannot be read is let go of."""
        event = RunCancelled(RunReason.CANCELLED, by, outside)
        while True:
            row = self.row_for(run_id, by, Action.CANCEL)
            try:
                run = self.load(run_id)
                return run if run.settled else self.settle(run, (event,))
            except LostRaceError:
                continue
            except (RunUnreadableError, StoredFormError):
                if row.status.settled:
                    raise
                with suppress(LostRaceError):
                    return self.end_unreadable(row, event)

    def end_unreadable(self, row: RunRow | UnreadableRun, event: RunCancelled | RunFailed = INTERRUPTED) -> Run:
        """
        End a run whose stream or row cannot be read, without a fold, and tell its conversation, once (O2).

        Raises:
            LostRaceError: somebody else ended it meanwhile, or the conversation went on. Nothing was stored.
        """
        held = None if row.conversation is None else self.store.conversation_row(row.conversation)
        sequence = row.sequence if isinstance(row, RunRow) else 0
        self._require_unsettled(row.id, sequence)
        ended = attrs.evolve(Run(row.id, RunStatus.RUNNING, owner=row.owner).after(event), sequence=sequence + 1)
        changes: tuple[Change, ...] = (LetGo(row.id, event),)
        if row.conversation is not None:
            message = assistant_message(row.id, "", ended_notices(ended))
            # Whoever ends a run tells its conversation: nothing was added, so nobody has ended it since the look.
            length = None if held is None else held.last_position + 1
            changes = (*changes, AddMessages(row.conversation, (message,), length))
        self.store.commit(changes)
        return ended

    def _require_unsettled(self, run_id: str, sequence: int) -> None:
        try:
            now = self.store.run_row(run_id)
        except StoredFormError:
            return  # a row that is damaged itself does not say that the run is over
        if now is not None and now.status.settled:
            raise StaleAppendError(run_id, sequence, now.sequence)

    # -- what a segment works with ------------------------------------------------------------

    def _gate(self, owner: str, configuration: Configuration) -> Gate:
        wiring = self.wiring
        return Gate(
            wiring.registry,
            configuration,
            administrator=wiring.access.is_administrator(owner),
            stored=wiring.store is not None,
            zones=wiring.zones,
        )

    def _withheld(self, owner: str, gate: Gate) -> str:
        """G3: a missing resolver, or one that fails, lists nothing; the chat works on."""
        resolver = self.wiring.unavailable_tools
        if resolver is None:
            return ""
        try:
            return prompt_section(resolver.unavailable(owner, gate, owner_is_administrator=gate.administrator))
        except Exception as error:  # noqa: BLE001 - it lists nothing then (G3)
            _log.error("the withheld tools could not be resolved: %s", sanitised_chain(error))
            return ""


def not_configured(configuration: Configuration | None, *, outside: bool = False) -> RunFailed:
    """
    The end of a run without anything to ask (G0); its text tells an administrator what is missing (F2).
    """
    what = "no configuration is in force for this owner" if configuration is None else "the configuration has no model"
    return RunFailed(RunReason.NOT_CONFIGURED, FailureCode.CHAT_NOT_CONFIGURED, what, outside)


def _answers_in(changes: tuple[Change, ...]) -> tuple[NewMessage, ...]:
    """The messages that a superseded run leaves in these changes."""
    added = (message for change in changes if isinstance(change, AddMessages) for message in change.messages)
    return tuple(message for message in added if message.role is MessageRole.ASSISTANT)
