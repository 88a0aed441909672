"""
Upkeep: what waits too long, what cannot be read, what is past its window (O2).
"""

import logging
from pathlib import Path

import pytest

from nr_agent_core import (
    FailureCode,
    InvalidValueError,
    NotFoundError,
    NoticeCode,
    Purged,
    Retention,
    RunReason,
    RunStatus,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing.crashing import WorkerDied
from nr_agent_core.testing.scripted_model import ScriptedModel
from tests.chat.world import ANNA, CREATE, LEASE, World, codes

DAY = 86_400.0
KEPT = Retention()


def age(world: World, days: float) -> None:
    """Days pass."""
    world.clock.advance(days * DAY)


# ------------------------------------------------------------------------------ what waits too long


def test_a_card_that_nobody_decides_ends_after_its_window(world: World) -> None:
    """Ninety days after it was put up, and not before; told like any other expiry (O2, A4, F5)."""
    chat, sent = world.waiting()
    age(world, 90)
    world.clock.advance(-1)
    assert chat.upkeep(retention=KEPT).expired == ()
    world.clock.advance(1)
    assert chat.upkeep().expired == ()

    report = chat.upkeep(retention=KEPT)

    row = world.row(sent.run_id)
    assert report.expired == (sent.run_id,)
    assert (row.status, row.reason, row.outside) == (RunStatus.CANCELLED, RunReason.APPROVAL_EXPIRED, True)
    last = world.messages(sent.conversation)[-1]
    assert codes(last) == ["runEnded"]
    assert last.notices[0].arguments["reason"] == "approval_expired"
    assert chat.view(sent.conversation, ANNA).card is None
    assert world.host.pages == []
    # Its conversation is told of it now, so it is as young as that.
    assert (report.purged, chat.upkeep(retention=KEPT)) == (Purged(), type(report)())


def test_the_window_begins_when_the_card_was_put_up(world: World) -> None:
    """A run that waits for the second time waits since then."""
    chat = world.chat(CREATE, CREATE, "Done.")
    sent = chat.send("Zwei Seiten.", ANNA)
    age(world, 80)
    card = chat.view(sent.conversation, ANNA).card
    chat.decide(sent.conversation, "approve", card=card, by=ANNA)
    age(world, 80)
    assert chat.upkeep(retention=KEPT).expired == ()
    age(world, 10)

    assert chat.upkeep(retention=KEPT).expired == (sent.run_id,)
    assert codes(world.messages(sent.conversation)[-1]) == ["runEnded", "savedBeforeEnd"]


def test_go_on_after_the_window_names_what_happened(world: World) -> None:
    """The chat did not end it, so the next "go on" is told so and starts nothing (C4)."""
    chat, sent = world.waiting()
    age(world, 90)
    chat.upkeep(retention=KEPT)

    delivered = chat.send("weiter", ANNA, conversation=sent.conversation)

    assert delivered.outcome.value == "delivered"
    assert len(world.runs()) == 1
    assert codes(world.messages(sent.conversation)[-1]) == ["runFinishedOutside"]


def test_other_windows_leave_cards_alone(world: World) -> None:
    """None keeps a card for ever."""
    chat, sent = world.waiting()
    age(world, 4000)

    report = chat.upkeep(retention=Retention(waiting_days=None))

    assert (report.expired, report.purged) == ((), Purged())
    assert chat.view(sent.conversation, ANNA).card is not None


def test_many_cards_are_all_looked_at(world: World) -> None:
    """More cards than a page holds: none is passed over, none is met twice."""
    chat = world.chat(model_options={"otherwise": CREATE})
    sent = [chat.send("Eine Seite.", ANNA) for _ in range(230)]
    age(world, 91)

    report = chat.upkeep(retention=KEPT)

    assert sorted(report.expired) == sorted(str(each.run_id) for each in sent)


# ----------------------------------------------------------------------------- what cannot be read


def assert_interrupted(world: World, conversation: str, run_id: str) -> None:
    """Failed with its code, told once, and the conversation is free."""
    row = world.row(run_id)
    assert (row.status, row.reason, row.code) == (RunStatus.FAILED, RunReason.INTERNAL, FailureCode.INTERRUPTED)
    told = [code for message in world.messages(conversation) for code in codes(message)]
    assert told == ["runEnded"]
    again = world.chat("Hallo.").send("Hallo?", ANNA, conversation=conversation)
    assert again.status is RunStatus.COMPLETED


@pytest.mark.parametrize("column", ["status = 'paused'", "code = 'E1'", "reason = 'why'", "sequence = 0"])
@pytest.mark.parametrize("state", ["waiting", "running"])
def test_a_run_whose_row_is_damaged_ends(world: World, state: str, column: str) -> None:
    """It is in no list of what is due, and upkeep ends it all the same (O2, E6)."""
    if isinstance(world.store, MemoryStore):
        pytest.skip("a row in memory is not damaged")
    if state == "waiting":
        _, sent = world.waiting()
        conversation, run_id = sent.conversation, str(sent.run_id)
    else:
        dying = world.chat(WorkerDied())
        conversation = dying.open(ANNA)
        world.dies(lambda: dying.send("Hallo.", ANNA, conversation=conversation))
        (run_id,) = world.runs()
    world._behind_its_back(f"UPDATE run SET {column} WHERE id = ?", run_id)
    chat = world.chat()
    if state == "running":
        assert chat.upkeep() == type(chat.upkeep())()
        world.clock.advance(LEASE)

    report = chat.upkeep()

    assert report.failed == (run_id,)
    assert chat.upkeep() == type(report)()
    assert_interrupted(world, conversation, run_id)


def test_a_bare_run_whose_row_is_damaged_ends(world: World) -> None:
    """There is nobody to tell; it ends."""
    if isinstance(world.store, MemoryStore):
        pytest.skip("a row in memory is not damaged")
    runtime = world.chat(CREATE).runtime
    run_id = runtime.start("Eine Seite.", "anna").run_id
    world._behind_its_back("UPDATE run SET code = 'E1' WHERE id = ?", run_id)

    assert runtime.upkeep().failed == (run_id,)
    assert world.row(run_id).code is FailureCode.INTERRUPTED


def test_a_waiting_run_that_cannot_be_read_ends(world: World) -> None:
    """Although its approval never expires: nobody could ever decide on it (O2, E5)."""
    _, sent = world.waiting()
    world.damage(str(sent.run_id))
    chat = world.chat()

    assert chat.upkeep().failed == (sent.run_id,)

    assert chat.upkeep().failed == ()
    assert_interrupted(world, sent.conversation, str(sent.run_id))


def test_a_run_of_a_newer_release_is_left_to_it(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """While two releases are at work, the older one ends nothing that it cannot read yet (E6)."""
    if isinstance(world.store, MemoryStore):
        pytest.skip("there is one release in memory")
    _, sent = world.waiting(rules={"approval_expiry": 60.0})
    _, forever = world.waiting()
    world._behind_its_back("UPDATE event SET kind = 'model.9' WHERE kind = ?", "model")
    age(world, 100)
    caplog.set_level(logging.WARNING)

    report = world.chat().upkeep(retention=KEPT)

    assert (report.failed, report.expired) == ((), ())
    assert report.left == (sent.run_id,)
    assert world.row(sent.run_id).status is world.row(forever.run_id).status is RunStatus.WAITING_FOR_APPROVAL
    assert "newer release" in caplog.text


def test_what_was_read_once_is_not_read_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that calls upkeep every minute reads the stream of a card once."""
    chat, _ = world.waiting()
    chat.upkeep()
    read: list[str] = []
    monkeypatch.setattr(world.store, "events", lambda run_id, **_: read.append(run_id) or ())

    chat.upkeep(retention=KEPT)

    assert read == []


# ------------------------------------------------------------------------------ what is past its window


def test_a_chat_forgets_what_is_past_its_window(world: World) -> None:
    """The conversation is not there any more for anybody; what was written is still told (O2, W4)."""
    chat, sent = world.waiting("Done.")
    chat.decide(sent.conversation, "approve", card=chat.view(sent.conversation, ANNA).card, by=ANNA)
    young = world.chat("Hallo.").send("Hallo?", ANNA)
    age(world, 29)
    world.chat("Ja.").send("Noch da?", ANNA, conversation=young.conversation)
    age(world, 1)

    report = world.chat().upkeep(retention=KEPT)

    assert report.purged.conversations == 1
    assert (report.purged.messages, report.purged.runs) == (2, 1 + 1)
    with pytest.raises(NotFoundError):
        chat.view(sent.conversation, ANNA)
    with pytest.raises(NotFoundError):
        chat.send("weiter", ANNA, conversation=sent.conversation)
    with pytest.raises(NotFoundError):
        chat.runtime.status(str(sent.run_id), ANNA)
    (entry,) = chat.runtime.writes()
    assert entry.written.correlation_id == sent.run_id
    assert [message.text for message in chat.view(young.conversation, ANNA).messages] == [
        *("Hallo?", "Hallo.", "Noch da?", "Ja.")
    ]


def test_without_a_retention_nothing_goes(world: World) -> None:
    """Deleting is asked for."""
    chat = world.chat("Hallo.")
    sent = chat.send("Hallo?", ANNA)
    age(world, 5000)

    assert chat.upkeep().purged == Purged()
    assert len(chat.view(sent.conversation, ANNA).messages) == 2


def test_a_message_outlasts_its_run(world: World) -> None:
    """Where a run's stream is gone, what was known when its message was stored is shown (R7, V10)."""
    dying = world.chat(CREATE)
    sent = dying.send("Eine Seite.", ANNA)
    digest = dying.view(sent.conversation, ANNA).card
    broken = world.chat(tools=world.host.tools(execute=_breaks), model_options={"otherwise": "Wer weiß."})
    broken.decide(sent.conversation, "approve", card=digest, by=ANNA)
    age(world, 29)
    world.chat("Ja.").send("Noch da?", ANNA, conversation=sent.conversation)
    age(world, 2)
    before = world.chat().view(sent.conversation, ANNA)

    assert world.chat().upkeep(retention=KEPT).purged.runs == 1

    after = world.chat().view(sent.conversation, ANNA)
    assert [(message.text, [each.code for each in message.notices]) for message in after.messages] == [
        (message.text, [each.code for each in message.notices]) for message in before.messages
    ]
    assert NoticeCode.WRITE_OUTCOME_UNKNOWN in [each.code for each in after.messages[1].notices]
    assert world.chat("Gut.").send("Und jetzt?", ANNA, conversation=sent.conversation).status is RunStatus.COMPLETED


def test_the_log_of_a_file_is_cut(file_world: World, tmp_path: Path) -> None:
    """What was forgotten or deleted is in neither file after upkeep (E4)."""
    secret = "Geheimnis-4711-" * 50
    chat = file_world.chat(model_options={"otherwise": "Gut."})
    chat.send(secret, ANNA)
    age(file_world, 31)
    files = [tmp_path / "chat.db", tmp_path / "chat.db-wal"]
    assert any(b"Geheimnis-4711" in file.read_bytes() for file in files)

    report = chat.upkeep(retention=KEPT)

    assert report.purged.conversations == 1
    assert not any(b"Geheimnis-4711" in file.read_bytes() for file in files)
    assert files[1].stat().st_size == 0


@pytest.mark.parametrize("retention", [30, {"run_days": 3}, Retention, "ever"])
def test_a_retention_is_one(retention: object) -> None:
    """Something else is refused before anything happened."""
    world = World(MemoryStore(), None)  # type: ignore[arg-type]
    chat = world.chat(configuration=None, model=ScriptedModel())

    with pytest.raises(InvalidValueError, match="retention"):
        chat.upkeep(retention=retention)  # type: ignore[arg-type]


def _breaks(arguments: object, context: object) -> object:
    raise RuntimeError("the connection broke after sending")
