"""
How a conversation stands and is seen, ended and tried again (O1, O3, O4, R8, R9).
"""

from typing import Any

import attrs
import pytest

from nr_agent_core import (
    AccessDeniedError,
    ConversationStatus,
    MessageRole,
    NotFoundError,
    ProviderError,
    Reader,
    ReplyCode,
    RoleAccess,
    RunReason,
    RunStatus,
    SendOutcome,
    Subject,
    ToolResult,
)
from nr_agent_core.domain.texts import notice_label
from nr_agent_core.ports.access_policy import Action
from tests.chat import standings as made
from tests.chat.standings import Maker
from tests.chat.world import ANNA, CREATE, DORA, EVE, ROOT, Between, World, codes, digest_of, told

IDLE, PROCESSING = ConversationStatus.IDLE, ConversationStatus.PROCESSING
AWAITING, FAILED = ConversationStatus.AWAITING_APPROVAL, ConversationStatus.FAILED
HERE, NO, BUSY, HELD = "cancelled", "nothing to end", "busy", "held"

# The standing -> its status, what a cancel does, and what a retry is answered (None: it runs again).
TABLE: list[tuple[Maker, ConversationStatus, str, ReplyCode | None]] = [
    (made.no_run, IDLE, NO, ReplyCode.NOTHING_TO_RETRY),
    (made.waiting, AWAITING, HERE, ReplyCode.APPROVAL_PENDING),
    (made.waiting_elsewhere, AWAITING, HERE, ReplyCode.APPROVAL_PENDING_ELSEWHERE),
    (made.waiting_four_eyes, AWAITING, HERE, ReplyCode.APPROVAL_PENDING_ELSEWHERE),
    (made.queued, PROCESSING, HERE, ReplyCode.CONVERSATION_BUSY),
    (made.running, PROCESSING, HERE, ReplyCode.CONVERSATION_BUSY),
    (made.running_decided, PROCESSING, HERE, ReplyCode.CONVERSATION_BUSY),
    (made.running_expired, PROCESSING, HERE, ReplyCode.NOTHING_TO_RETRY),
    (made.completed, IDLE, NO, ReplyCode.NOTHING_TO_RETRY),
    (made.approved_here, IDLE, NO, ReplyCode.NOTHING_TO_RETRY),
    (made.denied_here, IDLE, NO, ReplyCode.NOTHING_TO_RETRY),
    (made.failed, FAILED, NO, None),
    (made.cancelled_here, IDLE, NO, None),
    (made.approved_outside, IDLE, NO, ReplyCode.NOTHING_TO_RETRY),
    (made.failed_outside, FAILED, NO, ReplyCode.RETRY_REFUSED),
    (made.cancelled_outside, IDLE, NO, None),
    (made.expired, IDLE, HERE, None),
    (made.expired_in_upkeep, IDLE, NO, None),
    (made.given_up_in_upkeep, FAILED, NO, ReplyCode.RETRY_REFUSED),
    (made.unreadable_waiting, AWAITING, HERE, ReplyCode.NOTHING_TO_RETRY),
    (made.unreadable_expired, PROCESSING, HERE, ReplyCode.NOTHING_TO_RETRY),
]
WAITING = (made.waiting, made.waiting_elsewhere, made.waiting_four_eyes)
NAMES = [maker.__name__ for maker, *_ in TABLE]


@pytest.mark.parametrize(("maker", "status"), [cell[:2] for cell in TABLE], ids=NAMES)
def test_a_status_is_that_of_the_last_run(world: World, maker: Maker, status: ConversationStatus) -> None:
    """For every reader the same; looking settles nothing but what has expired (O1)."""
    chat, conversation = maker(world)

    assert chat.view(conversation, ANNA).status is status
    assert chat.view(conversation, ROOT).status is status


@pytest.mark.parametrize("maker", [cell[0] for cell in TABLE], ids=NAMES)
@pytest.mark.parametrize("reader", [ANNA, attrs.evolve(ANNA, language="en")], ids=["de", "en"])
def test_a_view_says_what_go_on_would_be_answered(world: World, maker: Maker, reader: Reader) -> None:
    """While a decision waits, in the reader's language; else, and where nobody can decide, it says nothing (C2, O3)."""
    chat, conversation = maker(world)
    view = chat.view(conversation, reader)
    held = chat.send("weiter", reader, conversation=conversation)

    assert view.waiting == (held.text if held.outcome is SendOutcome.HELD else None)
    assert (view.waiting is not None) == (maker in WAITING)


@pytest.mark.parametrize(("maker", "ended"), [(cell[0], cell[2]) for cell in TABLE], ids=NAMES)
def test_a_cancel_ends_what_has_not_ended(world: World, maker: Maker, ended: str) -> None:
    """With a message that says so; what has ended stays as it is (R9, F5)."""
    chat, conversation = maker(world)
    before = world.messages(conversation)
    runs = world.runs()

    done = chat.cancel(conversation, ANNA)

    assert world.runs() == runs
    if ended == NO:
        assert (done.outcome, done.code, done.text) == (SendOutcome.REFUSED, None, None)
        assert world.messages(conversation) == before
        return
    assert (done.outcome, done.code) == (SendOutcome.ACCEPTED, ReplyCode.RUN_CANCELLED)
    row = world.row(runs[-1])
    assert (row.status, row.reason) == (RunStatus.CANCELLED, RunReason.CANCELLED)
    last = world.messages(conversation)[-1]
    assert world.messages(conversation)[:-1] == before
    assert (last.role, last.text, last.run_id, codes(last)[0]) == (
        MessageRole.ASSISTANT,
        "",
        runs[-1],
        "runEnded",
    )
    assert chat.cancel(conversation, ANNA).outcome is SendOutcome.REFUSED


@pytest.mark.parametrize(("maker", "code"), [(cell[0], cell[3]) for cell in TABLE], ids=NAMES)
def test_a_retry_runs_again_on_what_wrote_nothing(world: World, maker: Maker, code: ReplyCode | None) -> None:
    """Else it says why not, and stores nothing (F5)."""
    chat, conversation = maker(world)
    before, runs = world.messages(conversation), world.runs()

    again = chat.retry(conversation, ANNA)

    if code is not None:
        assert again.code is code
        assert world.runs() == runs
        if maker is not made.running_expired:
            assert world.messages(conversation) == before
        return
    assert (again.outcome, again.status) == (SendOutcome.ACCEPTED, RunStatus.COMPLETED)
    assert world.runs() == [*runs, again.run_id]
    row = world.row(again.run_id)
    assert row.message == world.row(runs[-1]).message
    after = world.messages(conversation)
    # The run that expired unseen left its message first.
    added = after[len(before) :]
    assert [message.text for message in added if message.run_id == again.run_id] == ["Gut."]
    assert [role for role, _ in told(world)][-1] == "user"
    assert told(world)[-1][1] == before[0].text
    assert told(world)[0] == ("user", before[0].text)
    assert "ended without an answer" in told(world)[1][1]


def test_a_retry_that_fails_may_be_tried_again(world: World) -> None:
    """Each failure leaves its own message; the user's is told again, once at the end (F5)."""
    chat = world.chat(ProviderError("down"), ProviderError("down"), "Endlich.")
    sent = chat.send("Hallo", ANNA)

    assert chat.retry(sent.conversation, ANNA).status is RunStatus.FAILED
    assert chat.retry(sent.conversation, ANNA).status is RunStatus.COMPLETED
    assert [message.text for message in world.messages(sent.conversation)] == ["Hallo", "", "", "Endlich."]
    assert [text for role, text in told(world) if role == "user"] == ["Hallo", "Hallo"]


@pytest.mark.parametrize("unattended", [False, True])
@pytest.mark.parametrize("outcome", ["unknown", "nameless", "error", "unchanged"])
def test_a_run_that_may_have_written_is_not_retried(world: World, outcome: str, *, unattended: bool) -> None:
    """An unknown call, or a write that named no record, refuses a retry; one that wrote nothing allows it (F5)."""

    def execute(*_: object) -> ToolResult:
        if outcome == "unknown":
            raise ConnectionError("gone")
        return {
            "nameless": ToolResult.text("Sent."),
            "error": ToolResult.error("No."),
            "unchanged": ToolResult.unchanged("As it was."),
        }[outcome]

    rules = {"unattended": ["create_page"]} if unattended else {}
    chat = world.chat(CREATE, ProviderError("down"), "Gut.", tools=world.host.tools(execute=execute), rules=rules)
    sent = chat.send("Lege an.", ANNA)
    if not unattended:
        chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)

    again = chat.retry(sent.conversation, ANNA)

    refused = outcome in ("unknown", "nameless")
    assert (again.code is ReplyCode.RETRY_REFUSED) is refused
    assert (again.status is RunStatus.COMPLETED) is not refused


def test_nothing_is_retried_behind_a_newer_message(world: World) -> None:
    """The conversation's last message has to be the ended run's (F5)."""
    chat, conversation = made.cancelled_outside(world)
    assert chat.send("weiter", ANNA, conversation=conversation).outcome is SendOutcome.DELIVERED

    assert chat.retry(conversation, ANNA).code is ReplyCode.NOTHING_TO_RETRY


def test_two_retries_at_once_run_once(world: World) -> None:
    """A double click is one retry (F5, O1)."""
    chat, conversation = made.failed(world)
    gaps = Between(world.store)
    gaps.before_commit.append(lambda: chat.retry(conversation, ANNA))

    second = world.chat("Noch einmal.", store=gaps).retry(conversation, ANNA)

    assert second.outcome is not SendOutcome.ACCEPTED
    assert [message.text for message in world.messages(conversation)] == ["Hallo", "", "Gut."]


def test_a_cancelled_driver_stops_and_its_write_is_kept(world: World) -> None:
    """The tool in flight is recorded as a late outcome; the answer is not (R9, R7)."""
    chat = world.chat(CREATE, "Angelegt.", rules={"unattended": ["create_page"]})
    conversation = chat.open(ANNA)
    other = world.chat()
    world.bus.subscribe(lambda _: other.cancel(conversation, ANNA))

    sent = chat.send("Lege an.", ANNA, conversation=conversation)

    assert (sent.outcome, sent.status) == (SendOutcome.ACCEPTED, RunStatus.CANCELLED)
    assert [message.text for message in world.messages(conversation)] == ["Lege an.", ""]
    assert [str(write.reference) for write in world.store.writes_of(world.runs()[0])] == ["pages:42"]
    (label,) = [
        each.label
        for each in chat.view(conversation, ANNA).messages[-1].notices
        if each.code.value == "writeOutcomeUnknown"
    ]
    assert "pages:42" in label


@pytest.mark.parametrize(("language", "expected"), [("de", "de"), ("de-AT", "de"), ("en", "en"), ("sv", "en")])
def test_a_view_speaks_the_readers_language(world: World, language: str, expected: str) -> None:
    """Labels, error and card; a language without a catalogue gets English (O3, V10, P2)."""
    reader = Reader("anna", language=language)
    chat, conversation = made.failed_outside(world)
    view = chat.view(conversation, reader)

    last = view.messages[-1]
    assert [each.code.value for each in last.notices] == ["runEnded", "savedBeforeEnd", "runFinishedOutside"]
    assert [each.label for each in last.notices] == [notice_label(each.notice, expected) for each in last.notices]
    assert view.error is not None
    assert ("Bitte" in view.error.text) is (expected == "de")
    waiting, other = made.waiting(world)
    card = waiting.view(other, reader).card
    assert card is not None
    assert any("Stand" in note for note in card.notes) is (expected == "de")


def test_a_view_is_paged_backwards(world: World) -> None:
    """The newest first page, older ones before a position (O3)."""
    chat = world.chat(model_options={"otherwise": "Gut."})
    conversation = chat.open(ANNA)
    for number in range(4):
        chat.send(f"Nachricht {number}", ANNA, conversation=conversation)

    first = chat.view(conversation, ANNA, limit=3)
    second = chat.view(conversation, ANNA, before=first.messages[0].position, limit=5)

    assert ([each.position for each in first.messages], first.more) == ([5, 6, 7], True)
    assert ([each.position for each in second.messages], second.more) == ([0, 1, 2, 3, 4], False)


@pytest.mark.parametrize(
    ("reader", "sees", "decides", "cancels"),
    [(ANNA, True, True, True), (ROOT, True, True, True), (DORA, False, True, False), (EVE, False, False, False)],
    ids=lambda value: getattr(value, "id", None),
)
def test_rights_by_reader(world: World, reader: Reader, *, sees: bool, decides: bool, cancels: bool) -> None:
    """What may not be seen is not there; sending is the owner's alone (O4)."""
    chat, sent = world.waiting("Gut.")
    conversation, digest = sent.conversation, digest_of(world, sent.run_id)
    if sees:
        card = chat.view(conversation, reader).card
        assert (card is not None) is decides
    else:
        with pytest.raises(NotFoundError):
            chat.view(conversation, reader)
    if reader is not ANNA:
        refusal = AccessDeniedError if sees else NotFoundError
        with pytest.raises(refusal):
            chat.send("Hallo", reader, conversation=conversation)
        with pytest.raises(refusal):
            chat.retry(conversation, reader)
    if not cancels:
        with pytest.raises(NotFoundError):
            chat.cancel(conversation, reader)
        with pytest.raises(NotFoundError):
            chat.runtime.cancel(sent.run_id, reader)  # type: ignore[arg-type]
    if decides:
        assert chat.decide(conversation, "deny", card=digest, by=reader).outcome is SendOutcome.ACCEPTED
    else:
        with pytest.raises(NotFoundError):
            chat.decide(conversation, "deny", card=digest, by=reader)


class Shared(RoleAccess):
    """Whoever may see a conversation may send to it."""

    def may(self, actor: str, action: Action, subject: Subject) -> bool:
        """As roles have it, but for sending."""
        return super().may(actor, Action.SEE if action is Action.SEND else action, subject)


@pytest.mark.parametrize("way", ["turn", "superseding", "retry", "let go"])
def test_a_run_is_its_conversations_owners_whoever_sends(world: World, way: str) -> None:
    """A sender lends the conversation neither rights nor name (A2, G1, T13)."""
    parts: dict[str, Any] = {"access": Shared(administrators={"root"}, owner_decides=True)}
    rules = {"unattended": ["create_page"]}
    made_for = {
        "turn": made.no_run,
        "superseding": made.waiting,
        "retry": made.failed,
        "let go": made.unreadable_waiting,
    }
    _, conversation = made_for[way](world)
    admin_only = world.host.tools(admin_only=True)
    chat = world.chat(CREATE, "Nicht erlaubt.", tools=admin_only, rules=rules, **parts)
    sender = Reader("root", context="Chefin", instructions="Duze mich.")

    sent = (
        chat.retry(conversation, sender)
        if way == "retry"
        else chat.send("Bitte anlegen, und zwar gleich.", sender, conversation=conversation)
    )

    assert sent.status is RunStatus.COMPLETED
    assert world.row(sent.run_id).owner == "anna"
    assert world.host.executed == []
    assert "Chefin" not in world.model.requests[0].system
    assert "Duze" not in world.model.requests[0].system
