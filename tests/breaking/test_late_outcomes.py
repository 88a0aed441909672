"""
What comes late: outcomes of calls that were given up, overtaken, repeated or refused (R7, T4, T7, W3).
"""

import threading
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import (
    NothingWrittenError,
    RunStatus,
    SendOutcome,
    ToolEffect,
    ToolResult,
    Wrote,
)
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.driver import LateOutcomes
from nr_agent_core.testing.scripted_model import call
from tests.breaking.late import IDEMPOTENT, PATIENCE, GoneError, Later, died_in, dying, evidence, saved, until
from tests.cases.desk import ANNA, Desk, tool_of


@pytest.mark.parametrize("result", [ToolResult.unchanged("As it was."), ToolResult.error("It exists already.")])
def test_a_repeat_that_comes_late_speaks_for_itself_alone(tmp_path: Path, result: ToolResult) -> None:
    """(R7, P4) The first try wrote and died; its repeat passes its deadline and then finds nothing to do."""
    path, gate, ended = tmp_path / "chat.db", threading.Event(), threading.Event()
    sent = died_in(path)

    def repeat(*_: Any) -> ToolResult:
        gate.wait(PATIENCE)
        return result

    def answers(_: Any) -> str:
        gate.set()
        ended.wait(PATIENCE)
        return "I saved the page."

    later = Desk(answers, store=SqliteStore(path, clock=Later()),
                 tools=[tool_of("save", repeat, IDEMPOTENT, deadline=0.05)])  # fmt: skip
    late = later.chat.runtime.wiring.late
    keep = late.keep

    def kept(*given: Any) -> None:
        keep(*given)
        ended.set()

    late.keep = kept  # type: ignore[method-assign, assignment]

    later.chat.upkeep()
    later.chat.close(wait=0.5)

    codes = later.codes(sent.conversation)
    assert "writeOutcomeUnknown" in codes
    assert "nothingSaved" not in codes
    assert evidence(later, sent.run_id).wrote is Wrote.CANNOT_TELL


def test_the_first_try_that_comes_late_does_not_speak_for_its_repeat(tmp_path: Path) -> None:
    """(R7, P5) The first try failed and says so late; its repeat wrote and died: nobody may say: not carried out."""
    path, at_work, gate = tmp_path / "chat.db", threading.Event(), threading.Event()

    def slow(*_: Any) -> ToolResult:
        at_work.set()
        gate.wait(PATIENCE)
        raise NothingWrittenError("the connection was refused")

    first = Desk(call("save", title="a"), path=path, tools=[tool_of("save", slow, IDEMPOTENT)])
    sent = first.waiting()
    driver = threading.Thread(target=first.decide, args=(sent.conversation,))
    driver.start()
    at_work.wait(PATIENCE)
    for hours in range(1, 5):
        died = Desk("No.", store=SqliteStore(path, clock=Later(hours)), tools=[tool_of("save", dying, IDEMPOTENT)])
        try:
            died.chat.runtime.recover(sent.run_id or "")
        except GoneError:
            continue
    gate.set()
    driver.join(PATIENCE)
    first.chat.close(wait=1.0)

    assert first.chat.runtime.status(sent.run_id or "", "anna").status is RunStatus.FAILED
    assert evidence(first, sent.run_id).wrote is Wrote.CANNOT_TELL
    assert first.chat.retry(sent.conversation or "", ANNA).outcome is SendOutcome.REFUSED


def test_an_outcome_of_a_single_try_still_settles_late(tmp_path: Path) -> None:
    """(R7) Where nobody else tried, an error that comes late is the answer: nothing was written."""
    gate = threading.Event()

    def slow(*_: Any) -> ToolResult:
        gate.wait(PATIENCE)
        return ToolResult.error("There is no such page.")

    desk = Desk(call("save", title="a"), "Done.", path=tmp_path / "chat.db",
                tools=[tool_of("save", slow, IDEMPOTENT, deadline=0.05)])  # fmt: skip
    sent = desk.waiting()
    desk.decide(sent.conversation)
    assert evidence(desk, sent.run_id).wrote is Wrote.CANNOT_TELL

    gate.set()

    until(lambda: evidence(desk, sent.run_id).wrote is Wrote.NO)


@pytest.mark.parametrize("how", ["cancel", "deadline"])
def test_a_record_written_by_a_reading_tool_is_recorded_however_late(tmp_path: Path, how: str) -> None:
    """(T7, W3) It happened and it was announced: feed and evidence hold it, also behind a deadline or a cancel."""
    gate, at_work = threading.Event(), threading.Event()
    announced: list[str] = []

    class Bus:
        def announce(self, event: Any) -> None:
            announced.append(str(event.reference))

    def looks(*_: Any) -> ToolResult:
        at_work.set()
        gate.wait(PATIENCE)
        return saved()

    deadline = 0.05 if how == "deadline" else 60.0
    desk = Desk(call("look", title="a"), "I saved it.", path=tmp_path / "chat.db", bus=Bus(),
                tools=[tool_of("look", looks, ToolEffect.READ_ONLY, deadline=deadline)])  # fmt: skip
    conversation = desk.chat.open(ANNA)
    driver = threading.Thread(target=desk.chat.send, args=("Look.", ANNA), kwargs={"conversation": conversation})
    driver.start()
    at_work.wait(PATIENCE)
    if how == "cancel":
        desk.chat.cancel(conversation, ANNA)
    else:
        driver.join(PATIENCE)
    gate.set()
    driver.join(PATIENCE)

    until(lambda: announced)
    desk.chat.close(wait=PATIENCE)
    until(desk.chat.runtime.writes)
    feed = [str(entry.written.reference) for entry in desk.chat.runtime.writes()]
    assert feed == announced == ["pages:42"]
    row = desk.chat.runtime.segments.store.conversation_row(conversation)
    assert row is not None
    assert row.last_run is not None
    assert evidence(desk, row.last_run.id).wrote is Wrote.YES


def test_closing_waits_for_each_try_of_a_call(tmp_path: Path) -> None:
    """(T4, R7) A call and its repeat share a key: when one of them has ended, the other is still at work."""
    late = LateOutcomes(SqliteStore(tmp_path / "chat.db"))

    late.expect("key")
    late.expect("key")
    late.arrived("key")

    assert late.close(0.0) == 1
    late.arrived("key")
    assert late.close(0.0) == 0
