"""
Several stores, one story: whatever happens, in whatever order, all give the same answers and the same refusals.

Memory is the measure; SQLite takes part, plain and encrypted, and PostgreSQL where a server can start. Beside each of
them another store, on the same file or schema, is opened anew for each look back, so that what a
process remembers is compared with what it would read.
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import psycopg
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from nr_agent_core.adapters.aes_gcm_cipher import AesGcmCipher
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.conversation import MessageRole
from nr_agent_core.domain.errors import AgentCoreError
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.notices import Notice, NoticeCode
from nr_agent_core.domain.privacy import Privacy
from nr_agent_core.domain.run_events import ClaimReason, RunFailed
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.tool_result import RecordWrite
from nr_agent_core.ports.retention import Purged, Retention
from nr_agent_core.ports.unit_of_work import AppendEvents, Change, LetGo, OpenConversation, UnitOfWork
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.contracts.store_contract import said
from nr_agent_core.testing.manual_clock import ManualClock
from tests.postgres_server import Server
from tests.stateful.next_steps import (
    SETTLED_OR_RESTING,
    UNSETTLED,
    Step,
    at_rest,
    final_answer,
    has_intent,
    next_step,
    writes,
)

CONVERSATIONS = ("c1", "c2")
TEXTS = ("", "Save it.", "a\0b\x10", "ü😀")
NOTICES = ((), (Notice(NoticeCode.NOTHING_SAVED),), (Notice(NoticeCode.CALL_NOT_MADE, {"tools": ["x\0", 1, None]}),))

CIPHER = AesGcmCipher({"k1": bytes(32)}, current="k1")

LEVELS = tuple(Privacy)

conversations = st.sampled_from(CONVERSATIONS)
budgets = st.sampled_from((0, 1, 5, 12, 40, 10_000))


class StoresAgree(RuleBasedStateMachine):
    """
    The same story told to every store. The scripts are what processes believe; some of them are behind.
    """

    server: Server | None = None

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.directory = Path(tempfile.mkdtemp(prefix="stores-agree-"))
        self.path, self.sealed_path = self.directory / "chat.db", self.directory / "sealed.db"
        self.memory: UnitOfWork = MemoryStore(clock=self.clock)
        self.makers: list[Callable[[], UnitOfWork]] = [
            lambda: SqliteStore(self.path, synchronous="NORMAL", clock=self.clock),
            lambda: SqliteStore(self.sealed_path, synchronous="NORMAL", clock=self.clock, cipher=CIPHER),
        ]
        if self.server is not None:
            dsn, self.schema = self.server.dsn(), self.server.schema()
            self.makers.append(lambda: PostgresStore(dsn, schema=self.schema, synchronous="NORMAL", clock=self.clock))
        self.others = [make() for make in self.makers]
        self.scripts: list[RunScript] = []
        self.left_behind: list[RunScript] = []
        self.number = 0

    def teardown(self) -> None:
        """Nothing of the story stays."""
        for store in self.others:
            store.close()
        shutil.rmtree(self.directory)
        if self.server is not None:
            with psycopg.connect(self.server.dsn()) as db:
                db.execute(f"DROP SCHEMA IF EXISTS {self.schema} CASCADE".encode())

    # ------------------------------------------------------------------------------- the story

    def commit(self, *changes: Change) -> bool:
        """Tell all stores the same; whether they took it."""
        first, *others = [self._answer(store, changes) for store in (self.memory, *self.others)]
        assert all(answer == first for answer in others), [first, *others]
        return first is None

    def _answer(self, store: UnitOfWork, changes: tuple[Change, ...]) -> object:
        try:
            store.commit(changes)
        except AgentCoreError as refused:
            fields = {name: value for name, value in vars(refused).items() if not name.startswith("_")}
            return type(refused), str(refused), fields
        return None

    def tell(self, script: RunScript, step: Callable[[RunScript], AppendEvents], *others: Change) -> None:
        """One more append of a script; it goes on only when the stores took it."""
        after = script.copy()
        change = attrs.evolve(step(after), privacy=LEVELS[len(self.left_behind) % 3])
        if self.commit(change, *others):
            self.left_behind.append(script.copy())
            script.run, script.events = after.run, after.events

    def fitting(self, *statuses: RunStatus, **conditions: Any) -> list[RunScript]:
        """The scripts of runs that stand at one of *statuses*."""
        return [
            script
            for script in self.scripts
            if script.run.status in statuses and all(cond(script) for cond in conditions.values())
        ]

    @initialize(runs=st.integers(0, 3))
    def begin(self, runs: int) -> None:
        """Conversations are there, and a few runs are at work."""
        self.commit(OpenConversation("c1", "anna"), OpenConversation("c2", "b\0erta"))
        for conversation in ("c1", "c2", None)[:runs]:
            self.start(conversation, queued=False, together=True, lease=60.0)

    @rule(
        conversation=conversations,
        text=st.sampled_from(TEXTS),
        role=st.sampled_from(MessageRole),
        tokens=st.integers(0, 20),
        position=st.sampled_from((None, None, None, 0, 1, 3)),
        notices=st.sampled_from(NOTICES),
        of=st.integers(0, 9),
    )
    def say(
        self, conversation: str, text: str, role: MessageRole, tokens: int, position: int | None, notices: Any, of: int
    ) -> None:
        """A message, of any run or none, often at a position that is taken."""
        script = self.scripts[-1 - of] if of < len(self.scripts) else None
        # An answer is stored with the end of its run: while one is unsettled, only its user's words stand.
        told = script is not None and (role is MessageRole.USER or script.run.settled)
        run_id = script.run.id if script and told else None
        self.commit(
            said(conversation, text, role=role, run_id=run_id, tokens=tokens, position=position, notices=notices)
        )

    @rule(
        conversation=st.none() | conversations,
        queued=st.booleans(),
        together=st.booleans(),
        lease=st.sampled_from((0.0, 10.0, 60.0)),
    )
    def start(self, conversation: str | None, queued: bool, together: bool, lease: float) -> None:
        """A run begins, with its message or alone, often while another one is unsettled."""
        self.number += 1
        script = RunScript(f"r{self.number}", conversation=conversation, lease_for=lease)
        change = script.start(queued=queued, message=self.number, text="The password is tulip7.")
        message = [said(conversation, "Please.", run_id=script.run.id)] if conversation and together else []
        if self.commit(*message, change):
            self.scripts.append(script)

    @rule(conversation=conversations, data=st.data())
    def supersede(self, conversation: str, data: st.DataObject) -> None:
        """A new run takes the place of one that waits, in one commit (C6)."""
        self.number += 1
        new = RunScript(f"r{self.number}", conversation=conversation)
        waiting = self.fitting(RunStatus.WAITING_FOR_APPROVAL, here=lambda s: s.run.conversation == conversation)
        if not waiting:
            return
        old = data.draw(st.sampled_from(waiting))
        ended = old.copy()
        change = ended.cancel(RunReason.SUPERSEDED)
        if self.commit(change, said(conversation, "", run_id=old.run.id), new.start()):
            old.run, old.events = ended.run, ended.events
            self.scripts.append(new)

    @precondition(lambda self: self.fitting(*UNSETTLED))
    @rule(data=st.data(), steps=st.integers(1, 5))
    def go_on(self, data: st.DataObject, steps: int) -> None:
        """Whoever is at work on a run takes its next steps."""
        script = data.draw(st.sampled_from(self.fitting(*UNSETTLED)))
        for _ in range(steps):
            step = next_step(script, data, self.clock.now())
            if step is None:
                return
            said_with_it = []
            if step is final_answer and script.run.conversation:
                done = said(script.run.conversation, "Done.", role=MessageRole.ASSISTANT, run_id=script.run.id)
                said_with_it.append(done)
            self.tell(script, step, *said_with_it)

    @precondition(lambda self: self.fitting(RunStatus.RUNNING))
    @rule(
        data=st.data(),
        way=st.sampled_from(("cancel", "fail", "requeue", "claim")),
        delay=st.integers(0, 90),
        amid=st.booleans(),
    )
    def interrupt(self, data: st.DataObject, way: str, delay: int, amid: bool) -> None:
        """A run is cancelled, fails, is put back or taken over; often while a call is in flight."""
        script = data.draw(st.sampled_from(self.fitting(RunStatus.RUNNING)))
        if amid and at_rest(script):
            self.tell(script, lambda s: s.propose())
            self.tell(script, lambda s: s.intend())
        steps: dict[str, Step] = {
            "cancel": lambda s: s.cancel(),
            "fail": lambda s: s.append(RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL, "no\0 luck", outside=True)),
            "requeue": lambda s: s.requeue(not_before=self.clock.now() + delay),
            "claim": lambda s: s.claim(ClaimReason.RECOVERY),
        }
        self.tell(script, steps[way])

    @precondition(lambda self: self.fitting(*SETTLED_OR_RESTING, at=has_intent))
    @rule(data=st.data(), found=st.lists(writes, max_size=3))
    def late_outcome(self, data: st.DataObject, found: list[RecordWrite]) -> None:
        """An outcome comes after its run went on without it (R7)."""
        script = data.draw(st.sampled_from(self.fitting(*SETTLED_OR_RESTING, at=has_intent)))
        self.tell(script, lambda s: s.outcome(*found, late=True))

    @precondition(lambda self: self.left_behind)
    @rule(data=st.data(), way=st.sampled_from(("answer", "cancel", "claim", "request")))
    def act_on_old_news(self, data: st.DataObject, way: str) -> None:
        """A process that is behind tries to go on and is refused the same way everywhere (R3)."""
        script = data.draw(st.sampled_from(self.left_behind)).copy()
        try:
            change = getattr(script, way)()
        except AgentCoreError:
            return
        self.commit(change)

    @precondition(lambda self: self.scripts)
    @rule(number=st.integers(0, 4))
    def let_go(self, number: int) -> None:
        """A run is let go of, settled, unsettled or unknown (C5)."""
        script = self.scripts[-1 - number] if number < len(self.scripts) else None
        run_id = script.run.id if script else "nobody"
        before = self.memory.run_row(run_id)
        assert self.commit(LetGo(run_id))
        if script and before and not before.status.settled:
            script.cancel(RunReason.SUPERSEDED)

    @precondition(lambda self: self.scripts)
    @rule(data=st.data(), sequence=st.integers(-2, 3), expected=st.integers(-1, 6))
    def forge(self, data: st.DataObject, sequence: int, expected: int) -> None:
        """An append whose state does not follow from its events, or that comes from ahead."""
        script = data.draw(st.sampled_from(self.scripts)).copy()
        run = attrs.evolve(script.run, sequence=script.run.sequence + sequence)
        if run.sequence != expected + 1 or expected != script.run.sequence:
            self.commit(AppendEvents(run, expected, (script.events[0],)))

    @rule(
        odd=st.sampled_from(
            (
                OpenConversation("c1", "anna"),
                OpenConversation("c3", "\udfff"),
                said("c1", "\ud800"),
                said("nowhere", "Hello.", position=3),
                RunScript("odd", conversation="nowhere").start(),
                RunScript("odd", conversation="c1").start(text="\ud800"),
            )
        ),
        together=st.booleans(),
    )
    def try_the_impossible(self, odd: Change, together: bool) -> None:
        """What no store takes, alone or beside what it would take."""
        assert not self.commit(*([said("c1", "With it."), odd] if together else [odd]))

    @rule(seconds=st.sampled_from((-5.0, 0.5, 10.0, 60.0, 1000.0)), closing=st.booleans())
    def time_passes(self, seconds: float, closing: bool) -> None:
        """Leases expire, times come; now and then a clock is put back, or the file is closed and opened again."""
        self.clock.advance(seconds)
        if closing:
            for store in self.others:
                store.close()

    @rule(
        conversation_days=st.sampled_from((None, 0.0001, 0.001, 0.01)),
        run_days=st.sampled_from((None, 0.0001, 0.001, 0.01)),
        with_writes=st.booleans(),
        up_to=st.sampled_from((0, 0, 2, 1000)),
        limit=st.sampled_from((1, 2, 100)),
    )
    def purge(
        self, conversation_days: float | None, run_days: float | None, with_writes: bool, up_to: int, limit: int
    ) -> None:
        """What is past its window goes, everywhere the same, and as foretold; what went comes anew (O2)."""
        retention = Retention(
            conversation_days=conversation_days,
            run_days=run_days,
            write_days=0.0001 if with_writes else None,
            writes_up_to=up_to,
        )
        told = self.memory.purgeable(retention)
        for store in (self.memory, *self.others):
            assert store.purgeable(retention) == told
            done = store.purge(retention, limit=limit)
            while done.more:
                done += store.purge(retention, limit=limit)
            assert done == told
            assert store.purgeable(retention) == Purged()
        self.scripts = [script for script in self.scripts if self.memory.run_row(script.run.id) is not None]
        gone = [each for each in CONVERSATIONS if self.memory.conversation_row(each) is None]
        assert not gone or self.commit(*(OpenConversation(each, "anna") for each in gone))

    # ------------------------------------------------------------------------------- the looks

    @rule(conversation=conversations, budget=budgets)
    def look_back(self, conversation: str, budget: int) -> None:
        """A process that remembers and one that just began are told the same history."""
        told = self.memory.history(conversation, budget=budget)
        for make, store in zip(self.makers, self.others, strict=True):
            assert store.history(conversation, budget=budget) == told
            cold = make()
            assert cold.history(conversation, budget=budget) == told
            cold.close()

    @rule(
        conversation=conversations,
        before=st.none() | st.integers(-1, 9),
        limit=st.integers(0, 4),
        grace=st.sampled_from((0.0, 300.0)),
    )
    def look_around(self, conversation: str, before: int | None, limit: int, grace: float) -> None:
        """Any page is the same page; what waits and what is due are the same lists, in the same order."""
        looks: list[Callable[[UnitOfWork], object]] = [
            lambda store: store.messages(conversation, before=before, limit=limit),
            lambda store: store.waiting_runs(limit=limit),
            lambda store: store.due_runs(queued_grace=grace, limit=limit),
            lambda store: store.writes(after=limit, limit=limit),
        ]
        for look in looks:
            assert all(look(store) == look(self.memory) for store in self.others)

    @invariant()
    def everything_is_the_same(self) -> None:
        """Every run and every conversation reads the same."""
        told = self._everything(self.memory)
        for store in self.others:
            assert self._everything(store) == told

    def _everything(self, store: UnitOfWork) -> list[object]:
        ids = [script.run.id for script in self.scripts]
        return [
            *((store.run_row(run_id), store.events(run_id), store.writes_of(run_id)) for run_id in ids),
            *((store.conversation_row(each), store.messages(each, limit=99)) for each in CONVERSATIONS),
            store.writes(after=0, limit=99),
        ]

    @invariant()
    def a_conversation_has_at_most_one_unsettled_run(self) -> None:
        """Whatever was tried (O1)."""
        unsettled = [s.run.conversation for s in self.fitting(*UNSETTLED) if s.run.conversation]
        assert len(unsettled) == len(set(unsettled))


@pytest.fixture(scope="module", autouse=True)
def _server(request: pytest.FixtureRequest) -> Iterator[None]:
    """PostgreSQL takes part where a server can start."""
    try:
        StoresAgree.server = request.getfixturevalue("postgres")
    except pytest.skip.Exception:
        StoresAgree.server = None
    yield
    StoresAgree.server = None


def test_postgres_takes_part(postgres: Server) -> None:
    """Skipped, with the reason, where memory and SQLite were left alone."""
    assert StoresAgree.server is postgres


TestStoresAgree = StoresAgree.TestCase
TestStoresAgree.settings = settings(stateful_step_count=40)
