"""
Stored forms: every event comes back equal, and nothing that was not written is read.
"""

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core import codec
from nr_agent_core.domain.errors import NewerFormError, StoredFormError
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.previews import CallPreview
from nr_agent_core.domain.run_events import (
    EVENT_TYPES,
    ApprovalDecided,
    ApprovalRequested,
    Claimed,
    ClaimReason,
    DecisionPlace,
    ModelAnswered,
    NotExecuted,
    RecordedCall,
    Requeued,
    RunCancelled,
    RunCompleted,
    RunEvent,
    RunFailed,
    Started,
    ToolFinished,
    ToolStarted,
)
from nr_agent_core.domain.run_status import RunReason
from nr_agent_core.domain.tool_result import Outcome, RecordReference, RecordWrite, ToolEffect, WriteKind
from tests.unit.stored_events import SAMPLES, texts

numbers = st.integers(0, 2**70)
times = st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 2**40)
flags = st.booleans()
uids = st.integers(1, 2**70) | st.from_regex(r"[A-Za-z0-9._~-]{1,128}", fullmatch=True)
writes = st.builds(
    RecordWrite,
    st.builds(RecordReference, st.from_regex(r"[A-Za-z0-9_]{1,64}", fullmatch=True), uids),
    st.sampled_from(WriteKind),
)
calls = st.builds(
    RecordedCall,
    numbers,
    texts,
    st.sampled_from(ToolEffect),
    texts,
    flags,
    flags,
    st.none() | st.sampled_from(NotExecuted),
)
previews = st.builds(CallPreview, texts, st.lists(texts, max_size=3).map(tuple), numbers, flags, flags)


def some(one: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """None, or a tuple of some."""
    return st.none() | st.lists(one, max_size=3).map(tuple)


maybe = st.none() | texts
EVENTS: dict[type[RunEvent], st.SearchStrategy[RunEvent]] = {
    Started: st.builds(Started, texts, numbers, maybe, st.none() | numbers, maybe, text=maybe, instructions=maybe),
    Claimed: st.builds(Claimed, texts, st.sampled_from(ClaimReason), flags),
    ModelAnswered: st.builds(
        ModelAnswered,
        *(numbers, texts, texts, numbers, numbers, numbers),
        st.lists(texts, max_size=3).map(tuple),
        st.lists(calls, max_size=3).map(tuple),
        *(st.none() | numbers, st.none() | numbers, maybe),
        text=maybe,
        arguments=some(texts),
        provider_ids=some(maybe),
        provider_data=maybe,
    ),
    ApprovalRequested: st.builds(
        ApprovalRequested, texts, st.none() | times, previews=some(previews), preconditions=some(maybe)
    ),
    ApprovalDecided: st.builds(ApprovalDecided, flags, texts, st.sampled_from(DecisionPlace), texts, maybe),
    ToolStarted: st.builds(ToolStarted, numbers, numbers, texts, st.sampled_from(ToolEffect), texts),
    ToolFinished: st.builds(
        ToolFinished,
        *(numbers, numbers, texts, st.sampled_from(ToolEffect), flags, st.sampled_from(Outcome), numbers, flags, flags),
        st.none() | st.sampled_from(NotExecuted),
        st.lists(writes, max_size=3).map(tuple),
        text=maybe,
    ),
    RunCompleted: st.builds(RunCompleted, st.sampled_from(RunReason)),
    RunFailed: st.builds(RunFailed, st.sampled_from(RunReason), st.sampled_from(FailureCode), maybe, flags),
    RunCancelled: st.builds(RunCancelled, st.sampled_from(RunReason), maybe, flags),
    Requeued: st.builds(Requeued, times, flags),
}
events = st.one_of(*EVENTS.values())


def facts_of(event: RunEvent) -> dict[str, Any]:
    """The facts of an event as a dictionary."""
    facts: dict[str, Any] = json.loads(codec.dump(event)[1])
    return facts


# ----------------------------------------------------------------------------------- there and back


def test_every_kind_of_event_is_tested() -> None:
    """A new kind fails here until it has a sample and a strategy."""
    assert set(EVENTS) == set(EVENT_TYPES) == {type(event) for event in SAMPLES.values()}
    for event in SAMPLES.values():
        absent = [f.name for f in attrs.fields(type(event)) if getattr(event, f.name) in (None, ())]
        assert absent == [], "a sample sets every field"


@given(events)
def test_an_event_comes_back_equal(event: RunEvent) -> None:
    """Whatever an event holds is what is read again (E6)."""
    kind, facts, content = codec.dump(event)

    again = codec.load(kind, facts, content)

    assert again == event
    assert repr(again) == repr(event)
    assert kind == event.kind


@given(events)
def test_what_is_forgotten_is_content_and_nothing_else(event: RunEvent) -> None:
    """Without its content an event is the same event with the fields of its content unset (E4)."""
    kind, facts, content = codec.dump(event)
    fields = [field for field in attrs.fields(type(event)) if field.metadata.get("content")]

    assert codec.load(kind, facts, None) == attrs.evolve(event, **{field.name: None for field in fields})
    assert not {field.name for field in fields} & json.loads(facts).keys()
    if content is not None:
        assert json.loads(content).keys() <= {field.name for field in fields}


def test_an_event_of_facts_alone_has_no_content_column() -> None:
    """Nothing to forget is stored as nothing."""
    assert codec.dump(SAMPLES["tool_started"])[2] is None
    assert codec.dump(Started("anna", 5))[2] in (None, "{}")


@given(events)
def test_defaults_are_left_out(event: RunEvent) -> None:
    """None, False and the empty tuple are the only defaults, so nothing stored depends on later ones."""
    for field in attrs.fields(type(event)):
        assert field.default is attrs.NOTHING or field.default in (None, False, ())
    assert not any(value is None or value is False or value == [] for value in _optional_values(event))


def _optional_values(event: RunEvent) -> list[Any]:
    optional = {field.name for field in attrs.fields(type(event)) if field.default is not attrs.NOTHING}
    return [value for name, value in facts_of(event).items() if name in optional]


def test_stored_forms_are_fixed() -> None:
    """The forms as they were released: each of these rows must be readable for ever (E6)."""
    corpus = json.loads((Path(__file__).resolve().parents[1] / "vectors" / "stored_forms.json").read_text("utf-8"))

    assert {row["kind"] for row in corpus} == {event.kind for event in SAMPLES.values()}
    for row in corpus:
        event = codec.load(row["kind"], row["facts"], row["content"])
        assert event == SAMPLES[row["kind"].partition(".")[0]]
        assert codec.dump(event) == (row["kind"], row["facts"], row["content"])


# ------------------------------------------------------------------------------------- strictness


@pytest.mark.parametrize("kind", SAMPLES)
def test_every_mandatory_fact_must_be_there(kind: str) -> None:
    """Nothing is filled in (E6)."""
    facts = facts_of(SAMPLES[kind])
    for field in attrs.fields(type(SAMPLES[kind])):
        if field.default is attrs.NOTHING:
            less = {name: value for name, value in facts.items() if name != field.name}
            with pytest.raises(StoredFormError, match=field.name):
                codec.load(kind, json.dumps(less), None)


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("wrong", ["5", 5, 5.5, True, None, [], {}, [5], [None], {"a": 1}, "\ud800"])
def test_no_value_of_another_type_is_taken(kind: str, wrong: Any) -> None:
    """A value is taken as it was written, or the row is damaged; nothing is coerced (E6)."""
    event = SAMPLES[kind]
    _, stored, content = codec.dump(event)
    for column, text in (("facts", stored), ("content", content)):
        for name in json.loads(text or "{}"):
            data = json.loads(text or "{}") | {name: wrong}
            changed = json.dumps(data)
            try:
                again = codec.load(kind, *((changed, content) if column == "facts" else (stored, changed)))
            except StoredFormError:
                continue
            read = getattr(again, name)
            # What was taken is what stands there, in its own type; lists become tuples.
            same = tuple(wrong) if isinstance(wrong, list) else wrong
            assert type(read) is type(same)
            assert read == same


@pytest.mark.parametrize("value", ['"false"', '"true"', "0", "1", "null", '""', "[]", "1.0"])
def test_a_decision_is_true_or_false_and_nothing_else(value: str) -> None:
    """The most dangerous field of all is read literally (E6)."""
    facts = f'{{"approved":{value},"decided_by":"b","where":"chat","digest":"d"}}'

    with pytest.raises(StoredFormError):
        codec.load("approval", facts, None)


@pytest.mark.parametrize("kind", SAMPLES)
def test_unknown_keys_are_damage(kind: str) -> None:
    """In facts, in content, and in whatever is nested in them (E6)."""
    _, facts, content = codec.dump(SAMPLES[kind])
    with pytest.raises(StoredFormError, match="further"):
        codec.load(kind, json.dumps(json.loads(facts) | {"further": 1}), content)
    with pytest.raises(StoredFormError, match="further"):
        codec.load(kind, facts, json.dumps({"further": 1}))
    for column, text in enumerate((facts, content)):
        for name, value in json.loads(text or "{}").items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                changed = json.dumps(json.loads(text or "{}") | {name: [value[0] | {"further": 1}]})
                with pytest.raises(StoredFormError):
                    codec.load(kind, *((changed, content) if column == 0 else (facts, changed)))


def test_content_does_not_hide_among_facts() -> None:
    """What must be forgotten is never read from where it would be kept, nor facts from where they would go (E4)."""
    with pytest.raises(StoredFormError):
        codec.load("started", '{"owner":"a","max_rounds":5,"text":"Hello."}', None)
    with pytest.raises(StoredFormError):
        codec.load("started", '{"owner":"a"}', '{"max_rounds":5}')


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        "nothing",
        "[]",
        "5",
        '"{}"',
        "null",
        "{}{}",
        '{"not_before":NaN}',
        '{"not_before":Infinity}',
        b"{}",
    ],
)
def test_what_is_no_object_of_json_is_damage(text: Any) -> None:
    """In both columns (E6)."""
    with pytest.raises(StoredFormError):
        codec.load("requeued", text, None)
    with pytest.raises(StoredFormError):
        codec.load("started", '{"owner":"a","max_rounds":5}', text)


def test_deep_nesting_is_damage_and_not_the_end() -> None:
    """A row cannot take the process down."""
    with pytest.raises(StoredFormError):
        codec.load("requeued", "[" * 200_000, None)


@pytest.mark.parametrize(
    "write",
    [
        {"table": "pages"},
        {"table": "", "uid": 1, "kind": "created"},
        {"table": "p", "uid": True, "kind": "created"},
        {"table": "p", "uid": 1.0, "kind": "created"},
        {"table": "p", "uid": 1, "kind": "CREATED"},
        {"table": "p", "uid": 1, "kind": "created", "x": 1},
        "p:1",
        None,
    ],
)
def test_a_write_that_names_no_record_is_damage(write: Any) -> None:
    """A stored write is as strict as a made one (T6, E6)."""
    facts = facts_of(SAMPLES["tool"]) | {"writes": [write]}

    with pytest.raises(StoredFormError):
        codec.load("tool", json.dumps(facts), None)


@pytest.mark.parametrize("kind", ["tool.2", "tool.10", "started.3", "weighed", "weighed.2"])
def test_a_form_of_a_later_release_is_called_newer(kind: str) -> None:
    """It says what would do: upgrade (E6)."""
    with pytest.raises(NewerFormError, match="upgrade"):
        codec.load(kind, "{}", None)


@pytest.mark.parametrize(
    "kind", ["", "Tool", "tool.1", "tool.0", "tool.01", "tool.", "tool.x", "tool\n", " tool", None, 5]
)
def test_what_no_release_would_write_is_damage(kind: Any) -> None:
    """A name that is no name is not called newer (E6)."""
    with pytest.raises(StoredFormError) as refused:
        codec.load(kind, "{}", None)
    assert not isinstance(refused.value, NewerFormError)


@pytest.mark.parametrize("secret", ["sk-live-1234", "Geheim"])
def test_an_error_shows_no_stored_text(secret: str) -> None:
    """Damage is described by fields and types (P9)."""
    attempts = [
        ("approval", json.dumps({"approved": secret, "decided_by": "b", "where": "chat", "digest": "d"}), None),
        ("approval", json.dumps({"approved": True, "decided_by": "b", "where": secret, "digest": "d"}), None),
        ("started", '{"owner":"a","max_rounds":5}', json.dumps({"text": [secret]})),
        ("started", secret, None),
        ("started", '{"owner":"a","max_rounds":5}', secret),
    ]
    for kind, facts, content in attempts:
        with pytest.raises(StoredFormError) as refused:
            codec.load(kind, facts, content)
        shown: BaseException | None = refused.value
        while shown is not None:
            assert secret not in str(shown)
            shown = shown.__cause__ or (None if shown.__suppress_context__ else shown.__context__)
