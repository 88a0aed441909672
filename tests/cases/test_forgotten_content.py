"""
What is found in the store itself, not through it: content that was to be forgotten is nowhere in a
file or a table, and every reference is (E2, E4).
"""

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import attrs
import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nr_agent_core.adapters.postgres import schema as tables
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.domain.privacy import Privacy
from nr_agent_core.domain.run_status import RunStatus
from nr_agent_core.testing.contracts.run_script import RunScript
from nr_agent_core.testing.scripted_model import call
from tests.cases.stored_places import ANSWER, ARGUMENT, PROMPT, RESULT, Place, decide, run_of, waiting
from tests.chat.world import ANNA

BOUND = 1_500


@pytest.mark.parametrize("size", [1, 20, 200, BOUND])
def test_at_metadata_nothing_of_a_call_is_left_in_the_file(file: Place, size: int) -> None:
    """Neither in its pages, nor in what was freed of them, nor in the log; every record is (E2, E4)."""
    world = file.world()
    run_of(file, world, 3 if size == BOUND else 12, size=size)
    assert ARGUMENT.encode() in file.dump()

    while not world.store.checkpoint():  # type: ignore[attr-defined]
        pass

    left = file.dump()
    assert ARGUMENT.encode() not in left
    assert RESULT.encode() not in left
    assert ANSWER.encode() in left
    written = [str(write.written.reference) for write in world.store.writes(after=0, limit=1000)]
    assert len(written) == 2 * (3 if size == BOUND else 12)
    for run_id in world.runs():
        assert b'"writes":[{"table":"pages"' in left
        assert run_id.encode() in left


@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.sampled_from((1, 30, 300, 700, 3000, 9000)), st.integers(0, 3), st.sampled_from(tuple(Privacy))),
        min_size=1,
        max_size=25,
    )
)
def test_nothing_that_went_is_left_in_a_file_however_it_grew(runs: list[tuple[int, int, Privacy]]) -> None:
    """Pages split, merge and are freed; what was forgotten or redacted in them is gone from all (E4)."""
    secret, plain = "Zq7tulipZq7", "Lerchensporn "
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "chat.db"
        with closing(SqliteStore(path, synchronous="NORMAL")) as store:
            unsettled: list[tuple[RunScript, Privacy]] = []
            for number, (size, delay, level) in enumerate(runs):
                script = RunScript(f"r{number}")
                texts = f"{plain * size} password: {secret}"
                store.commit([script.start(text=texts), script.request()])
                level = Privacy.METADATA if level is Privacy.FULL else level  # noqa: PLW2901 - full keeps the secret
                unsettled.insert(max(len(unsettled) - delay, 0), (script, level))
                if len(unsettled) > delay:
                    done, kept = unsettled.pop()
                    store.commit([attrs.evolve(done.cancel(), privacy=kept)])
            for done, kept in unsettled:
                store.commit([attrs.evolve(done.cancel(), privacy=kept)])
            assert store.checkpoint()
            left = b"".join(each.read_bytes() for each in Path(directory).iterdir())

    assert secret.encode() not in left
    if all(level is not Privacy.REDACTED for _, _, level in runs):
        assert plain.encode() not in left


def test_at_metadata_nothing_of_a_call_is_left_in_the_tables(database: Place) -> None:
    """The same for what the server would give out; what its disk keeps is its vacuum's to clear."""
    world = database.world()
    run_of(database, world, 3)

    left = database.dump()

    assert ARGUMENT.encode() not in left
    assert RESULT.encode() not in left
    assert b'"writes":[{"table":"pages"' in left


@pytest.mark.parametrize(("level", "kept"), [("metadata", False), ("FULL", False), ("redacted", True), ("full", True)])
def test_the_configuration_in_force_says_what_is_kept(place: Place, level: str, kept: bool) -> None:
    """An unknown level keeps nothing; lengths, counts and records are kept at every level (E4, G0)."""
    world = place.world()
    run_of(place, world, 1, level=level)

    assert (ARGUMENT.encode() in place.dump(), RESULT.encode() in place.dump()) == (kept, kept) or (
        # What was forgotten may stand in the log until the next checkpoint.
        not kept and isinstance(world.store, SqliteStore)
    )
    events = world.events("run-0001")
    assert [getattr(event, "text", None) is not None for event in events if event.kind == "tool"] == [kept] * 3
    assert all(event.length for event in events if event.kind == "tool")  # type: ignore[union-attr]
    assert [len(event.calls) for event in events if event.kind == "model"] == [2, 1, 0]  # type: ignore[union-attr]
    assert len(world.store.writes_of("run-0001")) == 2


@pytest.mark.parametrize(("first", "then", "kept"), [("full", "metadata", False), ("metadata", "full", True)])
def test_the_level_in_force_at_settling_decides(place: Place, first: str, then: str, kept: bool) -> None:
    """Whoever approves under another level settles by it; until then all is there (E4)."""
    world = place.world()
    _, sent = waiting(world, rules={"privacy": first})
    assert ARGUMENT in repr(world.events(sent.run_id))

    decide(world, world.chat(ANSWER, rules={"privacy": then}), sent)

    assert (ARGUMENT in repr(world.events(sent.run_id))) is kept


@pytest.mark.parametrize("way", ["cancel", "supersede", "expire"])
@pytest.mark.parametrize(("level", "kept"), [("metadata", False), ("full", True)])
def test_the_level_holds_for_runs_that_end_without_a_segment(place: Place, way: str, level: str, kept: bool) -> None:
    """Cancelled, superseded or expired: what is in force then is asked (E4, G0)."""
    world = place.world()
    chat, sent = waiting(world, rules={"privacy": level, "approval_expiry": 60})
    assert sent.conversation is not None
    if way == "cancel":
        chat.cancel(sent.conversation, ANNA)
    elif way == "expire":
        place.clock.advance(100)
        chat.upkeep()
    else:
        world.chat("Hello.", rules={"privacy": level}).send(
            "Something else, please.", ANNA, conversation=sent.conversation
        )

    assert world.row(sent.run_id).status is RunStatus.CANCELLED
    assert (ARGUMENT in repr(world.events(sent.run_id))) is kept


def test_redacted_content_holds_no_secret(place: Place) -> None:
    """Not in the arguments, the results, the preview or the text beside calls (E4)."""
    world = place.world()
    title = f"Team {ARGUMENT} password=Zq7tulip"
    chat = world.chat(call("create_page", title=title), ANSWER, rules={"privacy": "redacted"})

    decide(world, chat, chat.send(PROMPT, ANNA))

    kept = repr(world.events("run-0001"))
    assert "Zq7" not in kept
    assert ARGUMENT in kept
    assert "[secret]" in kept


def test_an_event_that_was_forgotten_gets_no_content_again(place: Place) -> None:
    """Also while content is rewritten, the guards of the store hold (R3)."""
    world = place.world()
    run_of(place, world, 1)

    with pytest.raises(Exception, match="never changed"):
        _rewrite(place, "UPDATE event SET content = '{}' WHERE seq = 0")
    with pytest.raises(Exception, match="never changed"):
        _rewrite(place, "UPDATE message SET role = 'user'")
    with pytest.raises(Exception, match="never changed"):
        _rewrite(place, "UPDATE event SET facts = '{}'")


def _rewrite(place: Place, statement: str) -> None:
    if hasattr(place, "path"):
        with closing(sqlite3.connect(place.path, isolation_level=None)) as db:
            db.execute("INSERT INTO mark VALUES ('rewriting')")
            try:
                db.execute(statement)
            finally:
                db.execute("DELETE FROM mark")
        return
    with psycopg.connect(place.dsn) as db:  # type: ignore[attr-defined]
        db.execute(f"SET search_path = {place.name}".encode())  # type: ignore[attr-defined]
        db.execute(tables.ALLOW_REWRITING)
        db.execute(statement.encode())
