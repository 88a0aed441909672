"""
Stored forms beside events: what cannot be stored, notices, texts, columns, and what they cost.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core import codec
from nr_agent_core.domain.errors import InvalidValueError, NewerFormError, StoredFormError
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.notices import Notice, NoticeCode
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import (
    Requeued,
    RunCancelled,
    RunFailed,
    Started,
)
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.ports.unit_of_work import AppendEvents
from tests.unit.stored_events import SAMPLES, texts

# ----------------------------------------------------------------------------- what cannot be stored


@pytest.mark.parametrize("bad", ["\ud800", "a\udfff", "\ude00\ud83d"])
def test_half_a_surrogate_pair_is_refused_before_anything_is_stored(bad: str) -> None:
    """It says where, and does not repeat the text (P3)."""
    for event in (Started(bad, 5), Started("a", 5, text=bad), RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL, bad)):
        with pytest.raises(InvalidValueError, match="surrogate") as refused:
            codec.dump(event)
        assert bad not in str(refused.value)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), object(), {1, 2}])
def test_what_json_cannot_hold_is_refused(bad: Any) -> None:
    """A typed error instead of a row that nobody can read."""
    with pytest.raises(InvalidValueError):
        codec.dump(Requeued(bad))
    with pytest.raises(InvalidValueError):
        codec.dump_notices((Notice(NoticeCode.RUN_ENDED, {"status": bad}),))


# --------------------------------------------------------------------------------------- notices

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
notices = st.builds(Notice, st.sampled_from(NoticeCode), st.dictionaries(texts, json_values, max_size=3))


@given(st.lists(notices, max_size=4).map(tuple))
def test_notices_come_back_equal(given_notices: tuple[Notice, ...]) -> None:
    """Codes and arguments are data, in their order (P2, V10)."""
    stored = codec.dump_notices(given_notices)

    assert codec.load_notices(stored) == given_notices
    assert (stored is None) is (not given_notices)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        "[null]",
        "[[]]",
        '[{"code":"nothingSaved"}]',
        '[{"code":"nothingSaved","arguments":[]}]',
        '[{"code":"nothingSaved","arguments":{},"more":1}]',
        '[{"code":5,"arguments":{}}]',
        '[{"code":"runEnded","arguments":{"x":NaN}}]',
    ],
)
def test_damaged_notices_are_damage(text: str) -> None:
    """A notice that cannot be read is not left out (E6)."""
    with pytest.raises(StoredFormError):
        codec.load_notices(text)


def test_a_notice_of_a_later_release_is_called_newer() -> None:
    """It is not passed over either (E6)."""
    with pytest.raises(NewerFormError):
        codec.load_notices('[{"code":"nothingSaved","arguments":{}},{"code":"muchLater","arguments":{}}]')


# ------------------------------------------------------------------------------------------ texts


@given(st.text(alphabet=st.sampled_from("\0\x10P@ax\n")) | st.text())
def test_a_text_column_gives_back_every_character(text: str) -> None:
    """NUL is escaped in storage and given back; nothing else is touched (P3)."""
    stored = codec.escape_nul(text)

    assert codec.restore_nul(stored) == text
    assert "\0" not in stored
    assert stored == text or "\0" in text or "\x10" in text


@pytest.mark.parametrize("stored", ["\x10", "a\x10", "\x10x", "\x10\x10", "\x10\n"])
def test_an_escape_that_was_never_written_is_damage(stored: str) -> None:
    """A text is given back as it was, or not at all."""
    with pytest.raises(StoredFormError):
        codec.restore_nul(stored)


# ---------------------------------------------------------------------------------------- columns


def test_an_append_that_settles_stores_no_content() -> None:
    """What would be forgotten at once is not written first (E4)."""
    started = SAMPLES["started"]
    run = Run("r1").after(started)
    cancelled = RunCancelled(RunReason.CANCELLED)

    kept = codec.columns_of(AppendEvents(run, 0, (started,), 60.0))
    dropped = codec.columns_of(AppendEvents(run.after(cancelled), 0, (started, cancelled)))

    assert isinstance(kept, codec.AppendColumns)
    assert isinstance(dropped, codec.AppendColumns)
    assert kept.events[0].content is not None
    assert [event.content for event in dropped.events] == [None, None]
    assert (kept.forgets, kept.lease_for, dropped.forgets, dropped.lease_for) == (False, 60.0, True, 0.0)
    assert (kept.status, dropped.status) == (RunStatus.RUNNING, RunStatus.CANCELLED)


# ------------------------------------------------------------------------------------------ cost


def test_the_converter_is_built_once_and_on_first_use() -> None:
    """Importing the codec loads no converter; two stores share one."""
    source = str(Path(__file__).resolve().parents[2] / "src")
    program = f"""
import sys
sys.path.insert(0, {source!r})
from nr_agent_core import codec
from nr_agent_core.domain.run_events import Requeued
before = "cattrs" in sys.modules
codec.dump(Requeued(1.0))
from nr_agent_core.codec import forms
print(before, "cattrs" in sys.modules, forms._forms() is forms._forms())
"""
    result = subprocess.run(
        [sys.executable, "-I", "-c", program], capture_output=True, text=True, timeout=60, check=True
    )

    assert result.stdout.split() == ["False", "True", "True"]
