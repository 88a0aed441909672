"""
What was done is done once, across pauses, restarts, repeats and stores that fail (P5, P7, R2, R6, R7).
"""

import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import (
    Configuration,
    NewerFormError,
    Preview,
    RunReason,
    RunStatus,
    SendOutcome,
    StoredFormError,
    StoreUnavailableError,
    ToolEffect,
    ToolMissingError,
    ToolResult,
    WriteKind,
    Wrote,
)
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.canonical import call_digest, idempotency_key
from nr_agent_core.testing.scripted_model import ScriptedModel, call, round_of
from tests.cases.desk import ANNA, Desk, tool_of


class Later:
    """
    The machine's time, an hour on.
    """

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time() + 3600


class GoneError(BaseException):
    """
    The process ends here.
    """


def counting(log: list[str], name: str, effect: ToolEffect = ToolEffect.NON_IDEMPOTENT_WRITE, **options: Any) -> Any:
    """A tool that notes each execution by the key it was handed."""

    def execute(arguments: Any, context: Any) -> ToolResult:
        log.append(f"{name} {context.key}")
        return ToolResult.text(f"{name} is done.").with_write_target((name, len(log)), WriteKind.CREATED)

    return tool_of(name, execute, effect, **options)


def test_what_ran_before_the_pause_is_not_run_again_after_it(tmp_path: Path) -> None:
    """(R2) A run goes on from its stream: an unattended write before a card happens once, whoever decides later."""
    log: list[str] = []
    path = tmp_path / "chat.db"

    def desk(*answers: Any) -> Desk:
        model = ScriptedModel(*answers)
        return Desk(
            path=path,
            configuration=Configuration(model=model, unattended=["note"]),
            tools=[counting(log, "note"), counting(log, "pay")],
        )

    sent = desk(call("note", title="a"), call("pay", title="b")).waiting()
    assert len(log) == 1

    end = desk("Both are done.").decide(sent.conversation)

    assert end.status is RunStatus.COMPLETED
    assert [line.split()[0] for line in log] == ["note", "pay"]


def test_a_death_between_two_approved_calls_repeats_neither(tmp_path: Path) -> None:
    """(R6, R7) The first outcome was stored before the second began: it is never sent twice."""
    log: list[str] = []
    path = tmp_path / "chat.db"

    def dies(*_: object) -> ToolResult:
        log.append("pay")
        raise GoneError

    both = round_of(call("notify", title="a"), call("pay", title="b"))
    dying = Desk(both, path=path, tools=[counting(log, "notify"), tool_of("pay", dies)])
    sent = dying.waiting()
    with pytest.raises(GoneError):
        dying.decide(sent.conversation)

    # Recovered again and again, by processes that live later.
    for _ in range(3):
        later = Desk(both, both, store=SqliteStore(path, clock=Later()), tools=[counting(log, "notify"),
                     counting(log, "pay")])  # fmt: skip
        later.chat.upkeep()

    assert [line.split()[0] for line in log] == ["notify", "pay"]
    ended = later.chat.runtime.status(sent.run_id, "anna")
    assert (ended.status, ended.reason) == (RunStatus.FAILED, RunReason.WRITE_OUTCOME_UNKNOWN)
    assert [str(write.reference) for write in ended.evidence.records] == ["notify:1"]
    assert ended.evidence.unknown_tools == ("pay",)
    assert later.chat.retry(sent.conversation, ANNA).outcome is SendOutcome.REFUSED


def test_the_same_batch_after_a_death_is_asked_anew_and_knows_of_the_first(tmp_path: Path) -> None:
    """(M1, A1) When the model proposes it all again, a person decides, and the model was told what is unknown."""
    log: list[str] = []
    path = tmp_path / "chat.db"

    def dies(*_: object) -> ToolResult:
        raise GoneError

    dying = Desk(call("pay", title="b"), path=path, tools=[tool_of("pay", dies)])
    sent = dying.waiting()
    with pytest.raises(GoneError):
        dying.decide(sent.conversation)

    later = Desk(call("pay", title="b"), store=SqliteStore(path, clock=Later()), tools=[counting(log, "pay")])
    later.chat.send("Please pay it now", ANNA, conversation=sent.conversation)

    assert log == []
    assert later.card(sent.conversation) is not None
    told = [message.text for message in later.model.requests[-1].messages]
    assert any("Outcome of pay" in text and "unknown" in text for text in told)


def test_the_key_of_a_call_is_made_of_what_is_done(tmp_path: Path) -> None:
    """(T13) A takeover moves the call to another place of the stream; its key is the same."""
    log: list[str] = []
    path = tmp_path / "chat.db"

    def dies(arguments: Any, context: Any) -> ToolResult:
        log.append(f"pay {context.key}")
        raise GoneError

    effect = ToolEffect.IDEMPOTENT_WRITE
    dying = Desk(call("pay", title="9"), path=path, tools=[tool_of("pay", dies, effect)])
    sent = dying.waiting()
    with pytest.raises(GoneError):
        dying.decide(sent.conversation)
    later = Desk("Paid.", store=SqliteStore(path, clock=Later()), tools=[counting(log, "pay", effect)])

    later.chat.upkeep()

    key = idempotency_key(sent.run_id or "", "0.0", call_digest("pay", {"title": "9"}))
    assert log == [f"pay {key}"] * 2
    assert later.chat.runtime.status(sent.run_id, "anna").status is RunStatus.COMPLETED


def test_an_approval_is_honoured_by_whoever_goes_on(tmp_path: Path) -> None:
    """(A2, R7) Approved, then the process died before the effect: the next one asks nobody again."""
    log: list[str] = []
    path = tmp_path / "chat.db"

    class Dying:
        def __enter__(self) -> None:
            raise GoneError

        def __exit__(self, *_: object) -> None:
            """Never reached."""

    effect = ToolEffect.IDEMPOTENT_WRITE
    dying = Desk(call("pay", title="9"), path=path, tools=[counting(log, "pay", effect)], around_tool=lambda _: Dying())
    sent = dying.waiting()
    card = dying.card(sent.conversation)
    with pytest.raises(GoneError):
        dying.decide(sent.conversation, card=card)
    assert log == []
    later = Desk("Paid.", store=SqliteStore(path, clock=Later()), tools=[counting(log, "pay", effect)])

    later.chat.upkeep()

    assert len(log) == 1
    assert later.card(sent.conversation) is None
    assert later.decide(sent.conversation, card=card).outcome is SendOutcome.REFUSED
    assert len(log) == 1


def test_an_outcome_that_could_not_be_stored_is_kept_and_not_made_again(tmp_path: Path) -> None:
    """(R7) The call ran, the store was locked just then: nobody runs it again, and what it wrote is not lost."""
    path = tmp_path / "chat.db"
    lock = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    log: list[str] = []

    def locking(arguments: Any, context: Any) -> ToolResult:
        log.append(context.key)
        lock.execute("BEGIN IMMEDIATE")
        return ToolResult.text("Saved.").with_write_target(("notes", 7), WriteKind.CREATED)

    desk = Desk(call("pay", title="9"), store=SqliteStore(path, busy_timeout=0.05), tools=[tool_of("pay", locking)])
    sent = desk.waiting()
    card = desk.card(sent.conversation)
    with pytest.raises(StoreUnavailableError):
        desk.decide(sent.conversation, card=card)

    again = desk.decide(sent.conversation, card=card)
    busy = desk.chat.send("Is it done by now?", ANNA, conversation=sent.conversation)
    lock.execute("ROLLBACK")
    lock.close()
    assert (again.outcome, busy.outcome) == (SendOutcome.REFUSED, SendOutcome.BUSY)
    # Whoever comes later ends it as unknown; then what this process knows is a fact.
    Desk("Well.", store=SqliteStore(path, clock=Later()), tools=[tool_of("pay", locking)]).chat.upkeep()
    assert desk.chat.close(wait=30) == 0

    assert len(log) == 1
    now = desk.chat.runtime.status(sent.run_id, "anna")
    assert (now.status, now.evidence.wrote) == (RunStatus.FAILED, Wrote.YES)
    assert [str(write.written.reference) for write in desk.chat.runtime.writes()] == ["notes:7"]


def test_upkeep_makes_one_record_however_often_it_runs(tmp_path: Path) -> None:
    """(R3, O2) Recovering is no second start of the body."""
    path = tmp_path / "chat.db"
    log: list[str] = []

    def model_dies(request: Any) -> Any:
        raise GoneError

    dying = Desk(call("pay", title="9"), model_dies, path=path, tools=[counting(log, "pay")])
    sent = dying.waiting()
    with pytest.raises(GoneError):
        dying.decide(sent.conversation)

    reports = [
        Desk("Paid.", store=SqliteStore(path, clock=Later()), tools=[counting(log, "pay")]).chat.upkeep()
        for _ in range(3)
    ]

    assert len(log) == 1
    assert [report.recovered for report in reports] == [(sent.run_id,), (), ()]
    assert Desk(path=path).texts(sent.conversation)[1:] == ["Paid."]


def test_a_decision_leaves_one_entry_for_its_call(tmp_path: Path) -> None:
    """(T12, E3) No second message for the same call: one result in the stream, one in the next question."""
    desk = Desk(call("pay", title="9"), "Paid.", path=tmp_path / "chat.db", tools=[tool_of("pay", lambda a, c: "ok")])
    sent = desk.waiting()
    desk.decide(sent.conversation)

    kinds = [type(stored.event).__name__ for stored in desk.chat.runtime.events(sent.run_id or "", "anna")]
    assert kinds.count("ToolFinished") == 1
    assert [message.role for message in desk.model.requests[-1].messages] == ["user", "assistant", "tool"]
    assert len(desk.texts(sent.conversation)) == 2


# ------------------------------------------------------------------------ what cannot be read


def damage(path: Path, column: str, old: str, new: str) -> None:
    """Change what is stored of the model's answer behind the store's back."""
    with sqlite3.connect(path) as file:
        for (trigger,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            file.execute(f"DROP TRIGGER {trigger}")
        change = f"UPDATE event SET {column} = replace({column}, ?, ?) WHERE kind LIKE 'model%'"
        assert file.execute(change, (old, new)).rowcount == 1
    file.close()


@pytest.mark.parametrize(
    ("column", "old", "new", "error"),
    [
        ("kind", "model", "model.9", NewerFormError),
        ("facts", '"provider"', '"vendor"', StoredFormError),
        ("content", '"arguments"', '"handles"', StoredFormError),
    ],
)
def test_a_waiting_run_that_cannot_be_read_here_waits_on(
    tmp_path: Path, column: str, old: str, new: str, error: type[Exception]
) -> None:
    """(E6, A1) Loud, and nothing is guessed or executed; where it can be read again, the same card still counts."""
    path = tmp_path / "chat.db"
    desk = Desk(path=path)
    sent = desk.waiting()
    card = desk.card(sent.conversation)
    desk.chat.close()
    damage(path, column, old, new)

    with pytest.raises(error):
        desk.decide(sent.conversation, card=card)
    view = desk.chat.view(sent.conversation, ANNA)

    # The reader sees the conversation as it is, without a card and without a word of the damage.
    assert (view.card, view.status.value) == (None, "awaiting_approval")
    assert not any(word in repr(view) for word in ("Error", "model.9", "damaged", "vendor", "handles"))
    assert desk.published == []
    desk.chat.close()
    damage(path, column, new, old)
    after = Desk(path=path)
    assert after.decide(sent.conversation, card=card).status is RunStatus.COMPLETED
    assert len(after.published) == 1


def test_a_tool_that_is_gone_at_the_decision_stops_it(tmp_path: Path) -> None:
    """(A1) A process that does not know the waiting tool takes no decision; one that does takes it later."""
    path = tmp_path / "chat.db"
    desk = Desk(path=path)
    sent = desk.waiting()
    card = desk.card(sent.conversation)
    stranger = Desk(path=path, tools=[tool_of("publish", lambda a, c: "x", ToolEffect.READ_ONLY)])
    stranger.chat.runtime.wiring.registry._tools.clear()

    with pytest.raises(ToolMissingError):
        stranger.decide(sent.conversation, card=card)

    assert desk.decide(sent.conversation, card=card).status is RunStatus.COMPLETED
    assert len(desk.published) == 1


def test_a_tool_that_became_more_harmful_while_its_card_stood_is_not_executed(tmp_path: Path) -> None:
    """(T2, P7) What was approved as a repeatable write is not carried out as one that is not."""
    path = tmp_path / "chat.db"
    log: list[str] = []
    sent = Desk(call("pay", title="9"), path=path, tools=[counting(log, "pay", ToolEffect.IDEMPOTENT_WRITE)]).waiting()

    end = Desk("It was not done.", path=path, tools=[counting(log, "pay")]).decide(sent.conversation)

    assert (end.status, log) == (RunStatus.COMPLETED, [])


@pytest.mark.parametrize("turns", [1, 3])
def test_a_check_of_answers_changes_nothing_about_resuming(tmp_path: Path, turns: int) -> None:
    """(V2, R2) With a detector of the host's own, or a failing one, a stored run goes on like one in memory."""

    class Detector:
        def claims_change(self, text: str) -> bool:
            """Everything is a claim."""
            return True

    path = tmp_path / "chat.db"
    conversation = None
    for _ in range(turns):
        sent = Desk("Nothing to do.", path=path, detector=Detector()).chat.send(
            "Hello there", ANNA, conversation=conversation
        )
        conversation = sent.conversation
    desk = Desk(path=path, detector=Detector())
    desk.chat.send("Publish it now, please", ANNA, conversation=conversation)

    end = Desk("Done.", path=path, detector=Detector()).decide(conversation)

    assert end.status is RunStatus.COMPLETED
    assert desk.codes(conversation) == ["nothingSaved"] * turns


@pytest.mark.parametrize("changes", [True, False])
def test_an_approval_is_for_the_version_that_the_preview_showed(tmp_path: Path, changes: bool) -> None:
    """(T11) A file that was edited under the card is left alone, and the model reads why."""
    file = tmp_path / "page.txt"
    file.write_text("one")

    def preview(arguments: Any, context: Any) -> Any:
        return Preview([f"- {file.read_text()}", f"+ {arguments['title']}"], precondition=file.read_text())

    def write(arguments: Any, context: Any) -> ToolResult:
        if context.precondition != file.read_text():
            return ToolResult.error("The page was changed since.")
        file.write_text(arguments["title"])
        return ToolResult.text("Saved.").with_write_target(("pages", 1), WriteKind.UPDATED)

    desk = Desk(call("patch", title="two"), path=tmp_path / "chat.db", tools=[tool_of("patch", write, preview=preview)])
    desk.model._otherwise = "Done: the page was updated."  # type: ignore[attr-defined]
    sent = desk.waiting()
    if changes:
        file.write_text("edited by hand")

    desk.decide(sent.conversation)

    assert file.read_text() == ("edited by hand" if changes else "two")
    assert desk.codes(sent.conversation) == (["nothingSaved"] if changes else [])
