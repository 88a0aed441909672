"""
With a cipher nothing that was said is found in the store; keys rotate; earlier files go on (E6, E7).
"""

import json
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import psycopg
import pytest

from nr_agent_core import SendOutcome, Sent
from nr_agent_core.adapters.aes_gcm_cipher import AesGcmCipher
from nr_agent_core.adapters.postgres import schema as tables
from nr_agent_core.adapters.sqlite import SqliteStore, schema
from nr_agent_core.domain.errors import ContentDamagedError, ContentKeyError, InvalidValueError, StoredFormError
from nr_agent_core.domain.privacy import Privacy
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.ports.content_cipher import Rotation
from nr_agent_core.testing.contracts.run_script import RunScript
from tests.cases.stored_places import ANSWER, ARGUMENT, PROMPT, RESULT, Place, decide, run_of, waiting
from tests.chat.world import ANNA, World, codes

OLD, NEW = bytes(range(32)), bytes(range(1, 33))
BEFORE = AesGcmCipher({"k1": OLD}, current="k1")
BOTH = AesGcmCipher({"k1": OLD, "k2": NEW}, current="k2")
AFTER = AesGcmCipher({"k2": NEW}, current="k2")


@pytest.mark.parametrize("level", ["metadata", "full"])
def test_encrypted_nothing_that_was_said_is_found(place: Place, level: str) -> None:
    """Neither content nor messages nor what notices quote, waiting runs included; facts are (E7)."""
    world = place.world(BEFORE)
    run_of(place, world, 2, level=level)
    lying = world.chat("I created pages:4711 for you.")
    lied = lying.send("Create it!", ANNA)
    waiting(world)

    left = place.dump()

    for said in (ARGUMENT, RESULT, "Lerchensporn", "Hainsimse", "pages:4711", "4711", "Create it", "New page"):
        assert said.encode() not in left, said
    assert b'"writes":[{"table":"pages"' in left
    assert b"create_page" in left
    texts = [message.text for message in world.messages(lied.conversation or "")]
    assert texts == ["Create it!", "I created pages:4711 for you."]
    assert "unknownReference" in codes(world.messages(lied.conversation or "")[-1])


def test_without_the_key_nothing_is_read_and_nothing_stored(place: Place) -> None:
    """No cipher, or another key: what could be read with the key is not given up for lost (E7)."""
    world = place.world(BEFORE)
    _, sent = waiting(world)
    conversation = sent.conversation or ""
    before = place.dump()

    for cipher in (None, AFTER, AesGcmCipher({"k1": NEW}, current="k1")):
        other = World(place.store(cipher), place.clock)
        acts = {
            "events": (other.store.events, sent.run_id),
            "messages": (other.store.messages, conversation),
            "history": (partial(other.store.history, budget=1000), conversation),
            "send": (partial(other.chat("Hello.").send, conversation=conversation), "Hello?", ANNA),
            "view": (other.chat("Hello.").view, conversation, ANNA),
            "inbox": (other.chat("Hello.").runtime.inbox, ANNA),
            "cancel": (other.chat("Hello.").cancel, conversation, ANNA),
            "decide": (decide, world, other.chat(ANSWER), sent),
        }
        for act, *arguments in acts.values():
            with pytest.raises(ContentKeyError):
                act(*arguments)  # type: ignore[operator]
        place.clock.advance(1000)
        assert other.chat("Hello.").upkeep().failed == ()
    assert world.host.executed == []
    assert place.store(BEFORE).run_row(sent.run_id or "").status is RunStatus.WAITING_FOR_APPROVAL
    if not isinstance(world.store, SqliteStore):
        assert place.dump() == before
    decide(world, world.chat(ANSWER), sent)
    assert len(world.host.executed) == 1


def test_a_store_without_a_cipher_puts_nothing_plain_beside_what_is_encrypted(place: Place) -> None:
    """Whoever forgot the key in one process hears of it; facts can still be read (E7)."""
    world = place.world(BEFORE)
    run_of(place, world, 1)
    forgetful = World(place.store(), place.clock)
    forgetful.ids = world.ids

    with pytest.raises(ContentKeyError):
        forgetful.chat("Hello.").send("Gundermann", ANNA)

    assert b"Gundermann" not in place.dump()
    assert len(forgetful.store.writes(after=0, limit=10)) == 2
    assert forgetful.row("run-0001").status is RunStatus.COMPLETED


@pytest.mark.parametrize("how", ["flip", "cut", "move", "no base64"])
def test_damaged_content_is_damage(place: Place, how: str) -> None:
    """It is refused with a typed error that quotes nothing, and its conversation goes on (C5, E6)."""
    world = place.world(BEFORE)
    _, sent = waiting(world)
    _, other = waiting(world)
    marks = {
        "flip": "substr(content, 1, 80) || translated || substr(content, 82)".replace(
            "translated", "(CASE substr(content, 81, 1) WHEN 'A' THEN 'B' ELSE 'A' END)"
        ),
        "cut": "substr(content, 1, length(content) - 8)",
        "no base64": "substr(content, 1, 2) || '!!'",
        "move": f"(SELECT content FROM event AS o WHERE o.run = '{other.run_id}' AND o.seq = event.seq)",
    }
    place.behind(f"UPDATE event SET content = {marks[how]} WHERE run = ? AND content IS NOT NULL", sent.run_id)

    with pytest.raises(ContentDamagedError) as refused:
        world.store.events(sent.run_id or "")
    assert isinstance(refused.value, StoredFormError)
    assert ARGUMENT not in str(refused.value)

    answered = world.chat("Hello.").send("Something else, please.", ANNA, conversation=sent.conversation)
    assert answered.outcome is SendOutcome.ACCEPTED
    assert world.row(sent.run_id).status is RunStatus.CANCELLED


def test_a_run_is_redacted_although_a_piece_was_damaged(place: Place) -> None:
    """What cannot be opened is forgotten, the rest is redacted: the run settles (E4)."""
    store, script = place.store(BEFORE), RunScript("r1")
    store.commit([script.start(text="Use password: tulip7."), script.request()])
    place.behind("UPDATE event SET content = substr(content, 1, 60) WHERE seq = 1")

    store.commit([attrs.evolve(script.cancel(), privacy=Privacy.REDACTED)])

    texts = [getattr(entry.event, "text", None) for entry in store.events("r1")]
    assert texts[:2] == ["Use password: [secret]", None]


def test_a_message_cannot_be_moved(place: Place) -> None:
    """What was said at one position is not taken for what was said at another (E7)."""
    world = place.world(BEFORE)
    sent = world.chat("Fine.").send("Is all well?", ANNA)
    place.behind("UPDATE message SET text = (SELECT text FROM message AS o WHERE o.position = 0) WHERE position = 1")

    with pytest.raises(ContentDamagedError, match="message 1"):
        world.store.messages(sent.conversation or "")


# -------------------------------------------------------------------------------------- rotation


def test_rotation_covers_messages_and_waiting_runs(place: Place) -> None:
    """Afterwards the old key is not needed, and what waits can be approved (E7)."""
    world = place.world(BEFORE)
    run_of(place, world, 1, level="full")
    _, sent = waiting(world)
    before = [world.messages(sent.conversation or ""), world.events(sent.run_id), world.events("run-0001")]

    rotated = place.store(BOTH).rotate(chunk=3)

    assert rotated.left == 0
    assert rotated.resealed > 10
    assert place.store(BOTH).rotate() == Rotation(0, 0)
    after = World(place.store(AFTER), place.clock)
    assert [after.messages(sent.conversation or ""), after.events(sent.run_id), after.events("run-0001")] == before
    after.host, after.ids = world.host, world.ids
    decide(after, after.chat(ANSWER), sent)
    assert after.row(sent.run_id).status is RunStatus.COMPLETED
    with pytest.raises(ContentKeyError):
        World(place.store(BEFORE), place.clock).messages(sent.conversation or "")


def test_old_keys_are_read_before_the_rotation(place: Place) -> None:
    """A new key is first given to all processes; a run goes on over both (E7)."""
    world = place.world(BEFORE)
    _, sent = waiting(world)
    both = World(place.store(BOTH), place.clock)
    both.ids = world.ids

    decide(both, both.chat(ANSWER), sent)

    assert [message.text for message in both.messages(sent.conversation or "")] == [PROMPT, ANSWER]


def test_what_was_stored_plain_is_read_and_encrypted_by_rotation(place: Place) -> None:
    """Encryption can be switched on at any time (E7)."""
    world = place.world()
    run_of(place, world, 1, level="full")
    _, sent = waiting(world)
    before = [world.messages(sent.conversation or ""), world.events(sent.run_id)]
    sealed = World(place.store(BEFORE), place.clock)
    sealed.ids = world.ids
    assert [sealed.messages(sent.conversation or ""), sealed.events(sent.run_id)] == before

    assert sealed.store.rotate().left == 0  # type: ignore[attr-defined]

    if isinstance(sealed.store, SqliteStore):
        assert sealed.store.checkpoint()
    left = place.dump()
    for said in (ARGUMENT, RESULT, "Lerchensporn", "Hainsimse"):
        assert said.encode() not in left, said
    assert [sealed.messages(sent.conversation or ""), sealed.events(sent.run_id)] == before
    decide(sealed, sealed.chat(ANSWER), sent)


def test_rotation_leaves_and_names_what_it_cannot_open(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    """One damaged piece does not keep the others from their new key (E7)."""
    world = place.world(BEFORE)
    _, sent = waiting(world)
    place.behind("UPDATE event SET content = substr(content, 1, 60) WHERE run = ? AND seq = 1", sent.run_id)

    rotated = place.store(BOTH).rotate()

    assert rotated.left == 1
    assert f"event 1 of {sent.run_id!r}" in caplog.text
    assert World(place.store(AFTER), place.clock).messages(sent.conversation or "")
    with pytest.raises(ContentDamagedError):
        place.store(BOTH).events(sent.run_id)


def test_rotation_does_not_bring_back_what_was_forgotten_meanwhile(place: Place) -> None:
    """Only what still stands there is replaced (E4)."""
    world = place.world(BEFORE)
    chat, sent = waiting(world)
    store = place.store(BOTH)
    sealing = store._sealing
    reseal = type(sealing).resealed_event

    class Slow(type(sealing)):  # type: ignore[misc]
        """A rotation during which the run settles."""

        __slots__ = ()

        def resealed_event(self, run_id: str, number: int, content: str) -> str | None:
            if world.row(sent.run_id).status is RunStatus.WAITING_FOR_APPROVAL:
                chat.cancel(sent.conversation or "", ANNA)
            found: str | None = reseal(self, run_id, number, content)
            return found

    store._sealing = Slow(BOTH)

    store.rotate()

    assert all(getattr(event, "text", None) is None for event in world.store.events(sent.run_id or ""))
    assert ARGUMENT not in repr(place.store(BOTH).events(sent.run_id))


@pytest.mark.parametrize("chunk", [0, -1, True, 1.5, None])
def test_a_rotation_needs_a_cipher_and_a_number(place: Place, chunk: Any) -> None:
    """What cannot be done is refused before anything is."""
    with pytest.raises(InvalidValueError):
        place.store().rotate()
    with pytest.raises(InvalidValueError):
        place.store(BEFORE).rotate(chunk=chunk)


# --------------------------------------------------------------------------------- schema version 1


def test_a_file_of_the_first_version_goes_on(file: Place, tmp_path: Path) -> None:
    """What waits in it is approved after the migration; then it is encrypted (E6, E7)."""
    world = file.world()
    _, sent = waiting(world)
    world.store.close()
    path: Path = file.path  # type: ignore[attr-defined]
    with closing(sqlite3.connect(tmp_path / "first.db", isolation_level=None)) as db:
        for statement in schema.STEPS[0]:
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {schema.APPLICATION_ID}")
        db.execute("PRAGMA user_version = 1")
        db.execute("ATTACH ? AS newer", (str(path),))
        for table in ("conversation", "message", "run", "event", "tool_write"):
            db.execute(f"INSERT INTO {table} SELECT * FROM newer.{table}")
        db.execute("DETACH newer")
    for each in tmp_path.glob("chat.db*"):
        each.unlink()
    (tmp_path / "first.db").rename(path)

    goes_on(file, world, sent)


def test_a_schema_of_the_first_version_goes_on(database: Place) -> None:
    """The same on the server."""
    world = database.world()
    _, sent = waiting(world)
    world.store.close()
    name, dsn = database.name, database.dsn  # type: ignore[attr-defined]
    with psycopg.connect(dsn, autocommit=True) as db:
        db.execute(f"ALTER SCHEMA {name} RENAME TO {name}_newer; CREATE SCHEMA {name}".encode())
        db.execute(f"SET search_path = {name}".encode())
        for statement in tables.STEPS[0]:
            db.execute(statement.encode())
        db.execute("CREATE TABLE schema_version(one boolean PRIMARY KEY CHECK (one), version bigint NOT NULL)")
        db.execute("INSERT INTO schema_version VALUES (true, 1)")
        for table in ("conversation", "message", "run", "event", "tool_write"):
            overriding = "OVERRIDING SYSTEM VALUE" if table == "run" else ""
            db.execute(f"INSERT INTO {table} {overriding} SELECT * FROM {name}_newer.{table}".encode())
        db.execute("SELECT setval(pg_get_serial_sequence('run', 'number'), 100)")
        db.execute(f"DROP SCHEMA {name}_newer CASCADE".encode())

    goes_on(database, world, sent)


def goes_on(place: Place, world: World, sent: Sent) -> None:
    """The waiting run of an earlier version is encrypted, then approved and carried out."""
    newer = World(place.store(BEFORE), place.clock)
    newer.host, newer.ids = world.host, world.ids
    assert newer.row(sent.run_id).status is RunStatus.WAITING_FOR_APPROVAL
    assert newer.store.rotate().left == 0  # type: ignore[attr-defined]

    decide(newer, newer.chat(ANSWER, rules={"privacy": "redacted"}), sent)

    assert newer.row(sent.run_id).status is RunStatus.COMPLETED
    assert [str(write.reference) for write in newer.store.writes_of(sent.run_id or "")] == ["pages:42"]
    assert ARGUMENT in repr(newer.events(sent.run_id))
    newer.store.tidy()
    assert json.dumps(ARGUMENT).encode() not in place.dump()
