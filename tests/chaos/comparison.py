"""
What a chaos left, compared one by one: the host's rows, the streams, the feed, the messages, the announcements.
"""

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from nr_agent_core import ConversationStatus, Message, MessageRole, NoticeCode, RunStatus, ToolEffect
from nr_agent_core.domain.errors import AgentCoreError, IllegalMoveError
from nr_agent_core.domain.run import fold
from nr_agent_core.ports.unit_of_work import UnitOfWork
from tests.chaos.clock import LeapingClock
from tests.chaos.host_database import Attempt, HostDatabase, Written
from tests.chaos.life import Life, lines, store_of
from tests.chaos.plan import Plan, shares_hands
from tests.chaos.store_rows import has_expired, names_of
from tests.chaos.streams import Entry, Tale
from tests.chaos.tickets import tickets
from tests.chaos.toolbox import CLAIM, UNATTENDED
from tests.chaos.workers import ANNA, FOLLOWED, SEEN, chat_of, fingerprint

HARMFUL = ToolEffect.NON_IDEMPOTENT_WRITE.value
READING = ToolEffect.READ_ONLY.value
_EXPECTED = {"AccessDeniedError", "DecisionRefusedError", "LeaseHeldError", "StaleAppendError", "StoreUnavailableError"}
"""What a caller may be told under chaos; anything else is a matter of its own."""
_ALL = 10**9
# Seconds after which a worker that was taken for gone may still say what it took; it is stopped for 3 at most.
_SAID_LATE = 4.0


class Violation(tuple[str, str]):
    """
    What does not hold, and the run that it is about ("" for none).
    """

    __slots__ = ()


class Comparison:
    """
    Compares when made. ``violations`` holds what does not fit, ``figures`` what was there.

    Args:
        folder: where the chaos took place.
        plan: its plan.
        dead: the lives that ended by a kill.
    """

    def __init__(self, folder: Path, plan: Plan, dead: set[str]) -> None:
        self._folder, self._plan, self._dead = folder, plan, dead
        self.violations, self.figures = list[Violation](), Counter[str]()
        store = store_of(folder, plan, LeapingClock(folder / "clock"), patience=30.0)
        try:
            self._read(store)
        finally:
            store.close()
        self._compare()

    def _read(self, store: UnitOfWork) -> None:
        self.tales = dict[str, Tale]()
        for run_id in names_of(self._folder, self._plan, "run"):
            row = store.run_row(run_id)
            assert row is not None
            try:
                tale = Tale(row, store.events(run_id))
                run = fold(run_id, (stored.event for stored in tale.events))
            except (AgentCoreError, IllegalMoveError) as error:
                self._violated(f"the stream cannot be read: {error}", run_id)
                continue
            self.tales[run_id] = tale
            self._require(run.status is row.status, f"the row says {row.status}, the stream {run.status}", run_id)
            self._require(run.sequence == row.sequence, "row and stream differ in their length", run_id)
        self._messages = {
            name: store.messages(name, limit=_ALL) for name in names_of(self._folder, self._plan, "conversation")
        }
        self._feed = store.writes(after=0, limit=_ALL)
        host = HostDatabase(self._folder, "comparison")
        self.attempts, self.written = host.attempts(), host.written()
        self._acts, self._heard = lines(self._folder, "acts"), lines(self._folder, "heard")

    def _compare(self) -> None:
        self._streams()
        self._conversations()
        self._feeds()
        self._at_most_once()
        self._nothing_lost()
        self._announcements()
        self._decisions()
        self._what_was_told()
        self._hands()
        self._tickets()

    def _violated(self, what: str, run_id: str = "") -> None:
        self.violations.append(Violation((what, run_id)))

    def _require(self, holds: object, otherwise: str, run_id: str = "") -> None:
        if not holds:
            self._violated(otherwise, run_id)

    # -- runs and their messages --------------------------------------------------------------

    def _streams(self) -> None:
        """Every run is settled or waits; it ended once; its numbers have no gap (R1, R3)."""
        for tale in self.tales.values():
            status = tale.row.status
            waits = status is RunStatus.WAITING_FOR_APPROVAL
            self._require(status.settled or waits, f"a run was left {status.value}", tale.id)
            self._require(tale.ends == status.settled, f"a run that is {status.value} ended {tale.ends} times", tale.id)
            numbers = [stored.number for stored in tale.events]
            self._require(numbers == list(range(len(numbers))), f"a stream has gaps: {numbers}", tale.id)
            for call_id, call in tale.calls.items():
                self._require(call.intents <= 1, f"call {call_id} has {call.intents} intents", tale.id)
            self.figures.update((f"runs {status.value}", "runs"))
            self.figures["recoveries"] += tale.takeovers
            self.figures["begun by workers"] += tale.handovers
            self.figures["queued again"] += tale.requeues
            self.figures["late outcomes"] += tale.late
            self.figures["unknown outcomes"] += len(tale.unknown_at_end)

    def _conversations(self) -> None:
        """At most one run at a time, one end told for each, unknown outcomes said, no wrong notice (O1, C7, V6)."""
        unsettled = Counter(tale.row.conversation for tale in self.tales.values() if not tale.row.status.settled)
        unsettled.pop(None, None)
        for name, count in unsettled.items():
            self._require(count == 1, f"conversation {name} has {count} unsettled runs")
        told = defaultdict[str, list[Message]](list)
        for name, messages in self._messages.items():
            positions = [message.position for message in messages]
            self._require(positions == list(range(len(positions))), f"conversation {name} has gaps: {positions}")
            for message in messages:
                if message.role is MessageRole.ASSISTANT and message.run_id is not None and not _told_later(message):
                    told[message.run_id].append(message)
            self._in_turn(name, messages)
        self._require(told.keys() <= self.tales.keys(), "a message is of a run that is not there")
        for tale in self.tales.values():
            self._told_end(tale, told.get(tale.id, []))
        self._retries(told)
        self._views()

    def _views(self) -> None:
        """A reader sees every conversation, all of it, with a card exactly where its last run waits (O1, O3)."""
        chat = chat_of(Life(self._folder, len(self._plan.kinds), 1, harried=False))
        waits = {tale.row.conversation for tale in self.tales.values() if not tale.row.status.settled}
        for name, messages in self._messages.items():
            try:
                view = chat.view(name, ANNA, limit=_ALL)
            except AgentCoreError as error:
                self._violated(f"conversation {name} cannot be viewed: {error}")
                continue
            # Time goes on, and whoever sees an expired approval first ends its run (A4): a look does.
            expired = name in waits and has_expired(chat, name)
            self._require(len(view.messages) == len(messages) + expired, f"conversation {name} is not shown whole")
            awaiting = view.status is ConversationStatus.AWAITING_APPROVAL
            self._require(
                awaiting == (name in waits and not expired), f"conversation {name} is shown as {view.status.value}"
            )
            self._require((view.card is not None) == awaiting, f"a card of conversation {name} is missing, or too much")
        chat.close()

    def _retries(self, told: dict[str, list[Message]]) -> None:
        """Only what wrote nothing, and left nothing open, is tried again (F5)."""
        tries = defaultdict[tuple[str, int], list[Tale]](list)
        for tale in self.tales.values():
            if tale.row.conversation is not None and tale.row.message is not None:
                tries[tale.row.conversation, tale.row.message].append(tale)
        for again in tries.values():
            self.figures["retries"] += len(again) - 1
            ends = {tale.id: told[tale.id][0].position if told.get(tale.id) else _ALL for tale in again}
            *before, _ = sorted(again, key=lambda tale: ends[tale.id])
            for tale in before:
                self._require(not tale.wrote, "a message was tried again although its run wrote, or may have", tale.id)

    def _in_turn(self, name: str, messages: tuple[Message, ...]) -> None:
        """A turn begins when the one before is over."""
        open_run: str | None = None
        for message in messages:
            if message.role is MessageRole.USER and message.run_id is not None:
                begun = message.run_id in self.tales
                self._require(begun, f"a message of {name} is of a run that is not there", message.run_id)
                self._require(open_run is None, f"a turn of {name} began before run {open_run} ended", message.run_id)
                open_run = message.run_id
            elif message.run_id == open_run:
                open_run = None

    def _told_end(self, tale: Tale, messages: list[Message]) -> None:
        settled = tale.row.status.settled and tale.row.conversation is not None
        self._require(len(messages) == settled, f"the end of a run was told {len(messages)} times", tale.id)
        if not settled or len(messages) != 1:
            return
        (message,) = messages
        notices = {notice.code: notice.arguments for notice in message.notices}
        said = notices.get(NoticeCode.WRITE_OUTCOME_UNKNOWN, {}).get("calls", [])
        self._require(
            said == list(tale.unknown_at_end), f"unknown were {tale.unknown_at_end}, the message says {said}", tale.id
        )
        ended = tale.row.status is not RunStatus.COMPLETED
        self._require((NoticeCode.RUN_ENDED in notices) == ended, "how the run ended is told wrongly", tale.id)
        nothing = NoticeCode.NOTHING_SAVED in notices
        self.figures["nothingSaved"] += nothing
        self._require(not (nothing and tale.wrote), "nothingSaved beside a run that wrote, or may have", tale.id)
        wanting = not ended and message.text == CLAIM and not tale.wrote and not tale.unknown_at_end
        self._require(nothing or not wanting, "a claim beside a run that wrote nothing has no notice", tale.id)

    # -- the feed and the announcements -------------------------------------------------------

    def _feeds(self) -> None:
        """Positions without a gap, in order, the streams' writes and nothing else; a follower saw just that (W4)."""
        positions = [entry.position for entry in self._feed]
        self._require(positions == list(range(1, len(positions) + 1)), "the positions of the feed have gaps")
        feed = [_entry(stored.written) for stored in self._feed]
        self.feed = set(feed)
        self.figures["writes in the feed"] = len(feed)
        by_run = defaultdict[str, list[Entry]](list)
        for entry in feed:
            by_run[entry[0]].append(entry)
        for tale in self.tales.values():
            self._require(by_run.pop(tale.id, []) == tale.writes, "feed and stream differ in their writes", tale.id)
        self._require(not by_run, f"the feed holds runs that are not there: {list(by_run)}")
        last = 0
        for position, *entry in _rows(self._folder / FOLLOWED):
            self._require(position == last + 1, f"a follower saw {position} after {last}")
            last = position
            known = feed[position - 1] if position <= len(feed) else None
            self._require(tuple(entry) == known, f"a follower saw {entry} at {position}, where {known} is", entry[0])
        self.figures["followed"] = last

    def _announcements(self) -> None:
        """What is stored was announced; what was announced is stored, unless its process died (W3)."""
        heard = {tuple(entry) for _, entry in self._heard}
        self.figures["announcements"] = len(self._heard)
        for entry in self.feed - heard:
            self._violated(f"{entry} was stored and never announced", entry[0])
        for life, entry in self._heard:
            known = tuple(entry) in self.feed or life in self._dead
            self._require(known, f"{entry} was announced by life {life}, which lived, and is not stored", entry[0])

    # -- the host's rows ----------------------------------------------------------------------

    def _at_most_once(self) -> None:
        """No harmful call was executed twice, whatever came of it; none without its approval (P5, P6, A2)."""
        times = Counter(attempt.key for attempt in self.attempts)
        self.figures["executions"], self.figures["repeats"] = len(self.attempts), len(self.attempts) - len(times)
        first = dict[str, Attempt]()
        for attempt in self.attempts:
            first.setdefault(attempt.key, attempt)
        for key, attempt in first.items():
            if attempt.effect == HARMFUL:
                told = f"{attempt.tool}, call {attempt.call}, was executed {times[key]} times"
                self._require(times[key] == 1, told, attempt.run)
            tale = self.tales.get(attempt.run)
            if tale is None:
                self._violated(f"{attempt.tool} was executed for a run that is not there", attempt.run)
            elif attempt.effect != READING:
                self._released(attempt, times[key], tale)
        same = Counter((row.key, row.attempt) for row in self.written if row.effect == HARMFUL)
        self._require(len({key for key, _ in same}) == len(same), "a harmful write happened twice under one key")

    def _released(self, attempt: Attempt, times: int, tale: Tale) -> None:
        """A writing call was executed after its intent, once a segment, and after its approval (R6, R7, A2)."""
        call, what = tale.calls.get(attempt.call), f"{attempt.tool}, call {attempt.call},"
        self._require(call is not None and call.intents, f"{what} was executed without an intent", tale.id)
        self._require(times <= 1 + tale.takeovers, f"{what} was executed {times} times without a takeover", tale.id)
        released = attempt.tool in UNATTENDED or int(attempt.call.partition(".")[0]) in tale.released
        self._require(released, f"{what} was executed unapproved", tale.id)

    def _nothing_lost(self) -> None:
        """What happened is in the stream, or its outcome is unknown there; what is in the stream happened (P4, V1)."""
        self.figures["writes"] = len(self.written)
        happened = set[tuple[str, str | None]]()
        for row in self.written:
            happened.add((row.run, row.record))
            tale = self.tales.get(row.run)
            if tale is not None and not self._excused(row):
                self._require(_known(row, tale), f"lost: {row}", row.run)
        for run_id, record, _ in self.feed:
            self._require((run_id, record) in happened, f"{record} is stored and never happened", run_id)

    def _excused(self, row: Written) -> bool:
        """A tool that is declared as reading and writes: no intent was stored, so nobody knows once it is gone."""
        return row.effect == READING and row.life in self._dead

    # -- what was told to callers and seen by readers -----------------------------------------

    def _decisions(self) -> None:
        """A decision that was accepted is in the stream, as it was taken, and was accepted once (P7)."""
        accepted = Counter[str]()
        for _, act in self._acts:
            if act["act"] != "decide":
                continue
            self.figures["decisions"] += 1
            if act["outcome"] != "accepted":
                self.figures["decisions refused"] += 1
                continue
            accepted[act["digest"]] += 1
            self.figures["decisions handed over"] += act.get("status") == RunStatus.QUEUED.value
            tale = self.tales.get(act["run"])
            stored = None if tale is None else tale.decisions.get(act["digest"])
            fits = stored is not None and stored.approved == (act["choice"] == "approve")
            fits = fits and stored is not None and stored.where.value == act["where"]
            self._require(fits, f"a decision was accepted and the stream says {stored}: {act}", act["run"])
        for digest, count in accepted.items():
            self._require(count == 1, f"the decision on {digest} was accepted {count} times")

    def _what_was_told(self) -> None:
        """An accepted message has its run; messages that were seen stay as they are; only known errors rose (R3)."""
        for life, act in self._acts:
            if act["act"] == "send" and act["outcome"] == "accepted":
                self.figures["turns"] += 1
                self.figures["turns queued"] += act.get("status") == RunStatus.QUEUED.value
                self._require(act["run"] in self.tales, f"life {life} was told of a run that is not there", act["run"])
            elif act["act"] == "refused":
                self.figures[f"refused: {act['error']}"] += 1
                if act["error"] == "DecisionRefusedError":
                    self.figures.update(("decisions", "decisions refused"))
                self._require(act["error"] in _EXPECTED, f"life {life}: {act['error']}: {act['text']}")
            elif act["act"] == "raised":
                self._violated(f"life {life}: {act['error']}")
            elif act["act"] == "ended":
                self._require(not act["left"], f"life {life} ended with {act['left']} outcomes that are not stored")
            elif act["act"] == "doubt":
                self.figures["answers lost"] += 1
        prints = {
            (name, message.position): fingerprint(message)
            for name, messages in self._messages.items()
            for message in messages
        }
        for name, position, seen in _rows(self._folder / SEEN):
            self.figures["messages seen"] += 1
            self._require(prints.get((name, position)) == seen, f"message {position} of {name} changed")

    # -- the queue and the host's transactions ------------------------------------------------

    def _hands(self) -> None:
        """
        One run of a conversation in hand at a time: in a worker always, between workers on the engine.

        There another worker takes one only after somebody took the first one's for gone, and said so before. Whoever
        had taken it then may say so a little later: a worker that is taken for gone is often just slow.
        """
        in_hand = defaultdict[str, list[tuple[float, str, str]]](list)
        freed = defaultdict[str, float](lambda: -_SAID_LATE)
        for at, what, run_id, life in sorted((*line, life) for life, line in lines(self._folder, "hands")):
            tale = self.tales.get(run_id)
            place = run_id if tale is None else tale.row.conversation or run_id
            if what == "freed":
                freed[place] = at
                self.figures["jobs freed"] += 1
                continue
            self._require(tale is not None, "a worker was brought a run that is not there", run_id)
            holders = in_hand[place]
            if what == "left":
                holders[:] = [each for each in holders if each[1:] != (run_id, life)]
                continue
            self.figures["brought to workers"] += 1
            for since, other, holder in holders:
                given_up = since <= freed[place] or at - freed[place] < _SAID_LATE
                apart = holder != life and (shares_hands(self._plan) or given_up)
                self._require(apart, f"life {life} was brought it while {holder} had {other} in hand", run_id)
            holders.append((at, run_id, life))

    def _tickets(self) -> None:
        """What the host stored in its transaction and what the library stored there: both, or neither."""
        there = tickets(self._plan)
        known = {run_id for run_id in there if run_id is not None}
        tried = [act["run"] for _, act in self._acts if act["act"] == "ticket"]
        self.figures["in the host's transaction"] = len(tried)
        self.figures["rolled back there"] = len(set(tried) - known)
        for run_id in known:
            self._require(run_id in self.tales, "the host has a ticket for a run that is not there", run_id)
        for run_id in tried:
            both = run_id in known or run_id not in self.tales
            self._require(both, "a run is there although its transaction was rolled back", run_id)


def _known(row: Written, tale: Tale) -> bool:
    call = tale.calls.get(row.call)
    if call is not None and call.unknown:
        return True
    if row.record is None:
        return call is not None and call.succeeded
    return any(record == row.record for _, record, _ in tale.writes)


def _told_later(message: Message) -> bool:
    """Whether it is the line that answers a message after the run was ended outside (C4)."""
    codes = [notice.code for notice in message.notices]
    return not message.text and codes == [NoticeCode.RUN_FINISHED_OUTSIDE]


def _entry(written: Any) -> Entry:
    return written.correlation_id, str(written.reference), written.kind.value


def _rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
