"""
Runs for contract tests: legal streams, written down one append at a time.
"""

from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import (
    ApprovalDecided,
    ApprovalRequested,
    Claimed,
    ClaimReason,
    DecisionPlace,
    ModelAnswered,
    RecordedCall,
    Requeued,
    RunCancelled,
    RunCompleted,
    RunEvent,
    Started,
    ToolFinished,
    ToolStarted,
)
from nr_agent_core.domain.run_status import RunReason
from nr_agent_core.domain.tool_result import Outcome, RecordReference, RecordWrite, ToolEffect, WriteKind
from nr_agent_core.ports.unit_of_work import AppendEvents

TOOL = "save_page"
"""The tool that a script's calls name."""
_DIGEST = "0" * 64


class RunScript:
    """
    A run as one process knows it: each method returns the append that stores what happens next.

    >>> script = RunScript("r1")
    >>> script.start().expected, script.answer("Hello.").expected
    (0, 1)

    Args:
        run_id: the run's id.
        owner: whose run it is.
        conversation: the conversation it belongs to; None for a bare run.
        lease_for: seconds that each append keeps others away.
    """

    def __init__(
        self, run_id: str, *, owner: str = "anna", conversation: str | None = None, lease_for: float = 60.0
    ) -> None:
        self.run = Run(run_id)
        self.events: list[RunEvent] = []
        self._owner, self._conversation, self._lease = owner, conversation, lease_for

    def append(self, *events: RunEvent) -> AppendEvents:
        """The append that stores *events* behind what is known so far."""
        expected = self.run.sequence
        for event in events:
            self.run = self.run.after(event)
        self.events.extend(events)
        return AppendEvents(self.run, expected, events, self._lease)

    def copy(self) -> "RunScript":
        """What another process knows that loaded the run now."""
        other = RunScript(self.run.id, owner=self._owner, conversation=self._conversation, lease_for=self._lease)
        other.run, other.events = self.run, list(self.events)
        return other

    def start(
        self, *, queued: bool = False, text: str | None = "Save the page.", message: int | None = None
    ) -> AppendEvents:
        """The run exists: at work, or queued."""
        segment = None if queued else "segment-1"
        return self.append(Started(self._owner, 5, self._conversation, message, segment, text=text, instructions=None))

    def propose(self) -> AppendEvents:
        """The model asks for one call of a writing tool that needs no approval."""
        return self.append(self._proposed(approval=False))

    def request(self, *, expires_at: float | None = None) -> AppendEvents:
        """The model asks for one call that a person has to decide on, at most until *expires_at*."""
        proposed = self._proposed(approval=True)
        return self.append(proposed, ApprovalRequested(self._round_digest(proposed.round), expires_at))

    def decide(self, *, approved: bool = True, queued: bool = False) -> AppendEvents:
        """Somebody decides in the chat."""
        digest = self._round_digest(self.run.rounds[-1].answer.round)
        segment = None if queued else f"segment-{self.run.sequence}"
        return self.append(ApprovalDecided(approved, "berta", DecisionPlace.CHAT, digest, segment))

    def intend(self) -> AppendEvents:
        """The intent to execute the proposed call."""
        number = self.run.rounds[-1].answer.round
        return self.append(ToolStarted(number, 0, TOOL, ToolEffect.NON_IDEMPOTENT_WRITE, f"key-{number}"))

    def outcome(self, *writes: RecordWrite, outcome: Outcome = Outcome.TEXT, late: bool = False) -> AppendEvents:
        """What the proposed call brought."""
        number = self.run.intent.round if self.run.intent else self.run.rounds[-1].answer.round
        return self.append(
            ToolFinished(
                number,
                0,
                TOOL,
                ToolEffect.NON_IDEMPOTENT_WRITE,
                executed=True,
                outcome=outcome,
                length=6,
                late=late,
                writes=writes,
                text="Saved.",
            )
        )

    def answer(self, text: str = "Done.") -> AppendEvents:
        """The model answers in text and the run is complete."""
        return self.append(self._answered(text), RunCompleted(RunReason.COMPLETED))

    def claim(self, why: ClaimReason = ClaimReason.WORKER) -> AppendEvents:
        """A process opens a segment."""
        return self.append(Claimed(f"segment-{self.run.sequence}", why))

    def requeue(self, *, not_before: float) -> AppendEvents:
        """The segment ends in order; a worker goes on, not before the given time."""
        return self.append(Requeued(not_before))

    def cancel(self, reason: RunReason = RunReason.CANCELLED) -> AppendEvents:
        """Somebody ends the run."""
        return self.append(RunCancelled(reason))

    def _proposed(self, *, approval: bool) -> ModelAnswered:
        call = RecordedCall(0, TOOL, ToolEffect.NON_IDEMPOTENT_WRITE, _DIGEST, approval=approval)
        return self._answered("", (call,), arguments=('{"title":"Team"}',))

    def _answered(
        self, text: str, calls: tuple[RecordedCall, ...] = (), arguments: tuple[str, ...] = ()
    ) -> ModelAnswered:
        number = len(self.run.rounds)
        return ModelAnswered(number, "scripted", "m-1", len(text), 1, 0, (TOOL,), calls, text=text, arguments=arguments)

    def _round_digest(self, number: int) -> str:
        return f"{number:064x}"


def wrote(uid: int | str, kind: WriteKind = WriteKind.CREATED, *, table: str = "pages") -> RecordWrite:
    """
    That a record was written.
    """
    return RecordWrite(RecordReference(table, uid), kind)
