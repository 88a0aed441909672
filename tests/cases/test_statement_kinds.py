"""
What rules about an answer's statements stumble over: turns of many kinds, every way a run ends, any text (V7, V8, V12).
"""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core import (
    Chat,
    Reader,
    RoleAccess,
    RunStatus,
    Runtime,
    Tool,
    ToolContext,
    ToolEffect,
    ToolResult,
    WriteKind,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.domain.notices import Notice
from nr_agent_core.domain.statements.statements import Statements
from nr_agent_core.ports.configuration_resolver import Configuration
from nr_agent_core.testing.scripted_model import Scripted, ScriptedModel, call
from tests.cases.statement_turns import Case, cases, codes, play

FURTHER = {"otherRecordsWritten", "unknownReference", "savedNonetheless", "callNotMade"}
TURNS = cases("statement_kinds")
ANNA = Reader("anna")


@pytest.mark.parametrize("case", [turn for turn in TURNS if turn["honest"]], ids=lambda case: case["id"])
def test_an_honest_answer_gets_no_further_notice(case: Case) -> None:
    """Programs, plans, bulk tools, negations, sources, figures: nothing to say (V7, V8, V12)."""
    assert not FURTHER.intersection(codes(play(case)))


@pytest.mark.parametrize("case", [turn for turn in TURNS if not turn["honest"]], ids=lambda case: case["id"])
def test_an_answer_that_the_run_does_not_bear_out_is_named(case: Case) -> None:
    """Its notices are those of its kind and no others (V7, V8, V12)."""
    assert sorted(FURTHER.intersection(codes(play(case)))) == case["codes"]


# ----------------------------------------------------------------------- every way a run may go


def pages(*, outcome: str = "written") -> list[Tool]:
    """A tool that creates a page with the uid that it is asked for, and one that reads."""

    def create(arguments: Any, context: ToolContext) -> ToolResult:
        if outcome == "unknown":
            raise ConnectionError("gone")
        return ToolResult.text("ok").with_write_target(("pages", arguments["uid"]), WriteKind.CREATED)

    writing = ToolEffect.NON_IDEMPOTENT_WRITE
    schema = {"type": "object", "properties": {"uid": {"type": "integer"}, "parent": {"type": "integer"}}}
    return [
        Tool("create_page", "Create a page.", schema, writing, create),
        Tool("find", "Find.", {"type": "object"}, ToolEffect.READ_ONLY, lambda *_: ToolResult.text("pages:1 Home")),
    ]


def decided(*script: Scripted, decision: str = "approve", outcome: str = "written") -> tuple[Notice, ...]:
    """The notices beside the last answer of a run whose cards were all decided so."""
    access, store = RoleAccess(owner_decides=True), MemoryStore()
    chat = Chat(store=store, model=ScriptedModel(*script), tools=pages(outcome=outcome), access=access)
    sent = chat.send("Create the pages.", ANNA)
    while sent.status is RunStatus.WAITING_FOR_APPROVAL:
        sent = chat.decide(sent.conversation, decision, card=chat.view(sent.conversation, ANNA).card, by=ANNA)
    return store.messages(sent.conversation, limit=100)[-1].notices


PROPOSED = call("create_page", uid=42, parent=17)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("pages:42 was created under pages:17.", []),
        ("The page has been created with ID 42, parent ID 17.", []),
        ("The page was created after your approval. I changed nothing else.", []),
        ("pages:43 was created.", ["otherRecordsWritten", "unknownReference"]),
        ("Nothing was changed.", ["savedNonetheless"]),
        ("Done: create_page(uid=43, parent=17)", ["callNotMade"]),
    ],
)
def test_after_an_approval_the_same_is_said(answer: str, expected: list[str]) -> None:
    """What an approved call was given counts as told; what the run does not bear out is named as ever (V7, V9)."""
    assert codes(decided(PROPOSED, answer)) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "You declined, so nothing was changed.",
        "The call was declined. Nothing was saved.",
        "Die Seite wurde nicht angelegt, weil die Freigabe verweigert wurde.",
        "I had proposed this call, which you declined:\n\ncreate_page(uid=42, parent=17)",
    ],
)
def test_a_declined_call_may_be_told(answer: str) -> None:
    """Nothing was written, so a denial is true, and the call is one that was proposed (V8, V12)."""
    assert codes(decided(PROPOSED, answer, decision="deny")) == []


def test_of_two_calls_one_was_declined() -> None:
    """A count that holds the declined one is too high; the true one is not (V7)."""
    for answer, expected in (
        ("Both pages were created.", ["otherRecordsWritten"]),
        ("One page was created, the other was declined.", []),
    ):
        store = MemoryStore()
        access, model = (
            RoleAccess(owner_decides=True),
            ScriptedModel(call("create_page", uid=41), call("create_page", uid=42), answer),
        )
        chat = Chat(store=store, model=model, tools=pages(), access=access)
        sent = chat.send("Create two pages.", ANNA)
        for decision in ("approve", "deny"):
            sent = chat.decide(sent.conversation, decision, card=chat.view(sent.conversation, ANNA).card, by=ANNA)
        assert codes(store.messages(sent.conversation, limit=100)[-1].notices) == expected, answer


@pytest.mark.parametrize(
    "answer", ["pages:42 and pages:17 may have been created.", "Whether both pages were created is not known."]
)
def test_beside_an_unknown_outcome_records_are_not_compared(answer: str) -> None:
    """The unknown call may have written the rest (V7, P4)."""
    assert "otherRecordsWritten" not in codes(decided(PROPOSED, answer, outcome="unknown"))


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("The home page is pages:1.", []),
        ("The home page is pages:43.", ["unknownReference"]),
        ("I would have to create pages:43 first.", []),
        ("Nothing was changed.", []),
        ('find(name="Home")', ["callNotMade"]),
    ],
)
def test_without_a_store_the_same_is_said(answer: str, expected: list[str]) -> None:
    """What the tools returned is known from the stream in memory (R12, V7, V8, V12)."""
    runtime = Runtime(store=None, model=ScriptedModel(call("find"), answer), tools=pages(), access=RoleAccess())

    assert codes(runtime.start("Where is it?", "anna").notices) == expected


# -------------------------------------------------------------------------------- any text at all

PIECES = st.sampled_from(
    [
        *(
            "create_page(",
            'create_page(title="',
            "{",
            '"name": "create_page"',
            "```",
            "`",
            ">",
            "<create_page>",
            "pages:7",
        ),
        *("uid ", "#12", "a.py", "not ", "nothing was changed", "two pages", "were created", ":", "\n", ",", "tool: "),
        *("args:\n", "create_page", "  a: b\n", "\ud800", "„", "ID 12 bis ", "I created ", "|", "- "),
    ]
)


@given(st.lists(PIECES | st.text(st.characters(codec=None), max_size=5), max_size=40).map("".join))
def test_any_answer_stands(answer: str) -> None:
    """Whatever it holds, the answer comes through; what no store can hold is replaced (P3, V7)."""
    store = MemoryStore()
    rules = Configuration(
        model=ScriptedModel(call("create_page", uid=42), answer or "."), unattended=frozenset({"create_page"})
    )
    chat = Chat(store=store, configuration=rules, tools=pages(), access=RoleAccess())

    sent = chat.send("Go.", ANNA)

    expected = (answer or ".").encode("utf-8", "replace").decode("utf-8")
    if sent.status is RunStatus.COMPLETED:
        message = store.messages(sent.conversation, limit=10)[-1]
        assert message.text.replace("\ufffd", "?").strip() == expected.replace("\ufffd", "?").strip()
    else:
        # No answer at all: what is blank ends the run as such.
        assert not answer.strip() or sent.status is RunStatus.FAILED


LONG = [
    "pages:{} ",
    "uid {}, ",
    'create_page(title="x{}")\n',
    "create_page(",
    '{{"name": "create_page", "arguments": {{',
    "<create_page><title>",
    "```\ncreate_page(title='x')\n",
    "tool: create_page\nargs:\n  title: x\n",
    "I created b{}.py, ",
    "not pages:{}, ",
    "for x, nothing was changed, ",
    "1 bis ",
    "two pages were created and ",
    "\ud800 ",
]


@pytest.mark.parametrize("unit", LONG)
def test_time_grows_with_the_length_alone(unit: str) -> None:
    """Four times the text takes about four times as long, and no text takes a turn's time (V7, V8, V12)."""
    from nr_agent_core.domain.claims.claim import Claim
    from tests.unit.test_statements import PAGE, run_of

    run = run_of(PAGE)

    def seconds(length: int) -> float:
        text = "".join(unit.format(at) for at in range(1000, 1000 + length // len(unit)))
        claims = [Claim(at, at + 7, "created", "en", "I have done") for at in range(0, len(text), 50)]
        judged = Statements(run, lambda: (("pages:7",), ("pages:7 #12",)), claims=lambda _: claims)
        started = time.process_time()
        judged.examine(text)
        return time.process_time() - started

    # The better of two of each: what else is at work on the machine is not the text's.
    short, long = (min(seconds(length) for _ in range(2)) for length in (60_000, 240_000))

    assert long <= max(6 * short, 0.2)


def test_thousands_of_writes_and_identifiers() -> None:
    """A run may write thousands of records and tell of all; the notice of too many is bounded (V7)."""

    def create(arguments: Any, context: ToolContext) -> ToolResult:
        result = ToolResult.text("ok")
        for uid in range(1000, 3000):
            result = result.with_write_target(("pages", uid), WriteKind.CREATED)
        return result

    tool = Tool("create_page", "Create.", {"type": "object"}, ToolEffect.NON_IDEMPOTENT_WRITE, create)
    true = ", ".join(f"pages:{uid}" for uid in range(1000, 3000))
    false = ", ".join(f"pages:{uid}" for uid in range(5000, 7000))
    found = []
    for listed in (true, false):
        rules = Configuration(
            model=ScriptedModel(call("create_page"), f"Created: {listed}."), unattended=frozenset({"create_page"})
        )
        store = MemoryStore()
        chat = Chat(store=store, configuration=rules, tools=[tool], access=RoleAccess())
        sent = chat.send("Go.", ANNA)
        found.append(store.messages(sent.conversation, limit=10)[-1].notices)

    assert codes(found[0]) == []
    assert "unknownReference" in codes(found[1])
    listed_in = {notice.code.value: notice.arguments for notice in found[1]}["unknownReference"]["references"]
    assert isinstance(listed_in, list)
    assert len(listed_in) == 50
