"""
What is past its window goes.
"""

import sys

from nr_agent_core.adapters.memory.draft import State, StoredConversation
from nr_agent_core.ports.retention import Purged, Retention


class Purge:
    """
    One look at all that is stored, at the time *now*.
    """

    def __init__(self, state: State, retention: Retention, now: float) -> None:
        self._state, self._retention = state, retention
        self._runs_until, self._conversations_until = retention.runs_until(now), retention.conversations_until(now)

    def everything(self) -> Purged:
        """Delete all that is past its window."""
        return self.portion(sys.maxsize)

    def portion(self, limit: int) -> Purged:
        """Delete about *limit* things, at least one."""
        limit = max(limit, 1)
        done = self._entries_up_to(limit)
        for run_id in self._old_runs():
            if _size(done) >= limit:
                break
            done += self._delete_run(run_id)
        for name in [name for name, stored in self._state.conversations.items() if self._is_dead(stored)]:
            done = self._delete_conversation(name, limit, done)
            if _size(done) >= limit:
                break
        return done + Purged(more=_size(done) >= limit)

    def _old_runs(self) -> list[str]:
        last = {stored.runs[-1] for stored in self._state.conversations.values() if stored.runs}
        return [
            run_id
            for run_id, stored in self._state.runs.items()
            if run_id not in last and stored.row.status.settled and stored.events[-1].at <= self._runs_until
        ]

    def _is_dead(self, stored: StoredConversation) -> bool:
        runs = [self._state.runs[run_id] for run_id in stored.runs]
        if not all(run.row.status.settled for run in runs):
            return False
        said = stored.messages[-1][1] if stored.messages else stored.created_at
        ended = runs[-1].events[-1].at if runs else stored.created_at
        return max(said, ended) <= self._conversations_until

    def _delete_run(self, run_id: str) -> Purged:
        run = self._state.runs.pop(run_id)
        name = run.row.conversation
        writes = self._delete_entries(run_id, None) if name is None else 0
        if name is not None:
            held = self._state.conversations[name]
            left = self._state.conversations[name] = StoredConversation(held.owner, held.created_at)
            left.messages, left.runs = held.messages, tuple(each for each in held.runs if each != run_id)
        return Purged(runs=1, events=len(run.events), writes=writes)

    def _delete_conversation(self, name: str, limit: int, done: Purged) -> Purged:
        *earlier, last = self._state.conversations[name].runs or (None,)
        for run_id in earlier:
            if run_id is None or _size(done) >= limit:
                return done
            done += self._delete_run(run_id)
        if _size(done) >= limit:
            return done
        if last is not None:
            done += self._delete_run(last)
        messages = len(self._state.conversations.pop(name).messages)
        return done + Purged(conversations=1, messages=messages, writes=self._delete_entries(None, name))

    def _delete_entries(self, run_id: str | None, conversation: str | None) -> int:
        """The entries of a bare run, or of a conversation, that the host needs no more."""
        before = len(self._state.writes)
        self._state.writes = [
            (entry, where)
            for entry, where in self._state.writes
            if not (
                (run_id is None or entry.written.correlation_id == run_id)
                and where == conversation
                and (self._retention.write_days is not None or entry.position <= self._retention.writes_up_to)
            )
        ]
        return before - len(self._state.writes)

    def _entries_up_to(self, limit: int) -> Purged:
        going = [
            entry.position
            for entry, where in self._state.writes
            if entry.position <= self._retention.writes_up_to
            and entry.written.correlation_id not in self._state.runs
            and where not in self._state.conversations
        ][:limit]
        gone = set(going)
        self._state.writes = [each for each in self._state.writes if each[0].position not in gone]
        return Purged(writes=len(going))


def _size(done: Purged) -> int:
    """How much that was, for the limit of a portion."""
    return done.runs + done.conversations + done.messages // 10 + done.writes
