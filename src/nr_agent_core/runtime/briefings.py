"""
What a segment's model is told: the conversation so far, as the store has it now (M1-M5).
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Mapping

from nr_agent_core.domain.bounding import well_formed
from nr_agent_core.domain.conversation import Message, NewMessage
from nr_agent_core.domain.errors import IllegalMoveError, RunUnreadableError, StoredFormError
from nr_agent_core.domain.gate import Gate
from nr_agent_core.domain.model_briefing import (
    Briefing,
    BriefingCache,
    KnownOutcome,
    known_outcomes,
    runs_of_unknown_outcome,
    system_prompt,
)
from nr_agent_core.domain.model_dialogue import OfferedTool
from nr_agent_core.domain.reader import Reader
from nr_agent_core.domain.run import Run, fold
from nr_agent_core.domain.tools import Tool
from nr_agent_core.ports.configuration_resolver import Configuration
from nr_agent_core.ports.conversation_store import History
from nr_agent_core.ports.unit_of_work import UnitOfWork

CACHED_CONVERSATIONS = 256


class Briefings:
    """
    Makes the briefing of each segment; keeps converted messages of the conversations it met last.
    """

    def __init__(self, store: UnitOfWork | None) -> None:
        self._store = store
        self._lock, self._process = threading.Lock(), os.getpid()
        self._caches: OrderedDict[str, BriefingCache] = OrderedDict()
        self._offers: dict[Tool, OfferedTool] = {}

    def briefing(
        self,
        run: Run,
        configuration: Configuration,
        gate: Gate,
        withheld: str,
        *,
        tokens: int,
        reader: Reader | None,
        text: str | None,
        arriving: tuple[NewMessage, ...] = (),
        fresh: bool = False,
    ) -> Briefing:
        """
        The briefing of one segment.

        Args:
            run: the run, its opening included.
            configuration: what is in force.
            gate: decides which tools are offered.
            withheld: the section on withheld tools (G4).
            tokens: the budget of a question (R11).
            reader: the owner as the sender of this message, if it is known.
            text: the user's message, where it is not stored yet.
            arriving: messages that are stored with the opening, before the user's (C6).
            fresh: whether the conversation comes into being with the opening: nothing is stored of it yet.
        """

        def prompt(shortened: bool) -> str:
            context = reader.context if reader else ""
            wishes = reader.instructions if reader else (run.instructions or "")
            said = system_prompt(configuration.prompt, withheld, context, wishes, shortened=shortened)
            # What the host and the reader say may hold anything; no wire takes half a surrogate pair (P3).
            return well_formed(said)

        offered = tuple([self._offer(tool) for tool in gate.offered()])
        if run.conversation is None or self._store is None:
            return Briefing(prompt(False), (), text or run.text or "", tokens=tokens, tools=offered)
        history = History() if fresh else self._store.history(run.conversation, budget=tokens)
        messages = history.messages
        if arriving:
            messages = (*messages, *_arriving(arriving, run, self._store.now()))
        return Briefing(
            prompt(False),
            messages,
            self._text(run, history) if text is None else text,
            tokens=tokens,
            position=run.message,
            tools=offered,
            writes=history.writes,
            declined=history.declined,
            outcomes=self._outcomes(messages),
            cache=self._cache(run.conversation),
            shortened=prompt(True) if messages else None,
        )

    def _text(self, run: Run, history: History) -> str:
        """The user's message that the run answers: the newest one, or an older one that is tried again."""
        assert self._store is not None
        assert run.conversation is not None
        assert run.message is not None
        for message in reversed(history.messages):
            if message.position == run.message:
                return message.text
        found = self._store.messages(run.conversation, before=run.message + 1, limit=1)
        return found[-1].text if found else ""

    def _outcomes(self, messages: tuple[Message, ...]) -> Mapping[str, tuple[KnownOutcome, ...]]:
        """What became of calls of unknown outcome, from the streams as they are now (R7)."""
        assert self._store is not None
        known: dict[str, tuple[KnownOutcome, ...]] = {}
        for run_id in runs_of_unknown_outcome(messages):
            try:
                run = fold(run_id, (stored.event for stored in self._store.events(run_id)))
            except (RunUnreadableError, StoredFormError, IllegalMoveError):
                continue
            known[run_id] = known_outcomes(run)
        return known

    def _offer(self, tool: Tool) -> OfferedTool:
        """*tool* as the model sees it; the tools of an application stay the same."""
        offer = self._offers.get(tool)
        if offer is None:
            offer = self._offers[tool] = OfferedTool(tool.name, tool.description, tool.parameters)
        return offer

    def _cache(self, conversation: str) -> BriefingCache:
        if self._process != os.getpid():
            # The lock of a parent may be held for ever by a thread that is not there.
            self._lock, self._process = threading.Lock(), os.getpid()
        with self._lock:
            cache = self._caches.pop(conversation, None) or BriefingCache()
            self._caches[conversation] = cache
            if len(self._caches) > CACHED_CONVERSATIONS:
                self._caches.popitem(last=False)
        return cache


def _arriving(messages: tuple[NewMessage, ...], run: Run, now: float) -> tuple[Message, ...]:
    """*messages* as they will stand before the run's own one."""
    first = (run.message or 0) - len(messages)
    return tuple(
        Message(position, new.role, new.text, new.run_id, now, new.tokens, new.notices)
        for position, new in enumerate(messages, first)
    )
