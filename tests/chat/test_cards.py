"""
Cards: calls that are proposed again, their previews, and the inbox of all that wait (A5, A6, T11).
"""

import json
from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from nr_agent_core import (
    Card,
    Chat,
    ModelAnswer,
    ModelCall,
    NothingWrittenError,
    Preview,
    RoleAccess,
    RunReason,
    RunStatus,
    SendOutcome,
    Subject,
    ToolContext,
    ToolResult,
)
from nr_agent_core.domain.run_events import NotExecuted, ToolFinished
from nr_agent_core.ports.access_policy import Action
from nr_agent_core.testing.scripted_model import call, round_of
from tests.chat.world import ACCESS, ANNA, CREATE, DORA, EVE, World, digest_of


def card_of(chat: Chat, conversation: str) -> Card:
    """The card that Anna sees."""
    card = chat.view(conversation, ANNA).card
    assert card is not None
    return card


# ---------------------------------------------------------------------------- A6: proposed again


def test_a_denied_call_is_refused_without_asking_again(world: World) -> None:
    """In the same run; a slightly different one asks anew, and so does the next run (A6)."""
    other = call("create_page", title="Kontakt")
    chat = world.chat(CREATE, round_of(call("search_pages"), CREATE), other, "Gut.", CREATE)
    sent = chat.send("Lege an.", ANNA)
    chat.decide(sent.conversation, "deny", card=card_of(chat, sent.conversation), by=ANNA)

    assert world.row(sent.run_id).status is RunStatus.WAITING_FOR_APPROVAL
    assert [each.lines for each in card_of(chat, sent.conversation).calls] == [("New page: Kontakt",)]
    refused = [event.refusal for event in world.events(sent.run_id) if isinstance(event, ToolFinished)]
    assert refused == [NotExecuted.DECLINED, None, NotExecuted.DECLINED_BEFORE]
    assert world.host.executed == [("search_pages", "anna")]
    chat.decide(sent.conversation, "approve", card=card_of(chat, sent.conversation), by=ANNA)
    anew = chat.send("Lege doch Team an.", ANNA, conversation=sent.conversation)
    assert anew.status is RunStatus.WAITING_FOR_APPROVAL


@pytest.mark.parametrize(("outcome", "note"), [("error", "fehlgeschlagen"), ("unknown", "unbekannt")])
def test_a_second_attempt_says_so_on_its_card(world: World, outcome: str, note: str) -> None:
    """A call that failed, or whose outcome is unknown, and that is proposed again in this run (A6)."""

    def fails(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        world.host.ran("create_page", context)
        if len(world.host.executed) > 1:
            return ToolResult.text("Created.").with_write_target(("pages", 1), "created")
        if outcome == "error":
            raise NothingWrittenError("no")
        raise ConnectionError("gone")

    chat = world.chat(CREATE, CREATE, "Gut.", tools=world.host.tools(execute=fails))
    sent = chat.send("Lege an.", ANNA)
    first = card_of(chat, sent.conversation)
    chat.decide(sent.conversation, "approve", card=first, by=ANNA)
    second = card_of(chat, sent.conversation)

    assert first.calls[0].before is None
    assert second.calls[0].before is not None
    assert second.calls[0].before.value == outcome
    assert any(note in each for each in second.notes)
    assert second.digest != first.digest
    chat.decide(sent.conversation, "approve", card=second, by=ANNA)
    assert len({context.key for context in world.host.contexts}) == 2


# ---------------------------------------------------------------------------------- T11: previews


def raising(*_: object) -> str:
    """A preview that fails."""
    raise RuntimeError("secret detail")


PREVIEWS: dict[str, tuple[Any, dict[str, Any], str | None]] = {
    "text": (lambda *_: "Neue Seite\nmit zwei Zeilen", {"lines": ("Neue Seite", "mit zwei Zeilen")}, None),
    "list": (lambda *_: ["a", "b"], {"lines": ("a", "b")}, None),
    "long": (lambda *_: [f"line {number}" for number in range(25)], {"more": 5}, "5 weitere Zeilen"),
    "raising": (raising, {"lines": (), "failed": True}, "Keine Vorschau"),
    "empty": (lambda *_: "  \n", {"lines": (), "failed": True}, "Keine Vorschau"),
    "garbage": (lambda *_: 5, {"lines": (), "failed": True}, "Keine Vorschau"),
    "undeclared": (None, {"lines": ("title: Team",), "generated": True}, "aus den Argumenten"),
}


@pytest.mark.parametrize("kind", PREVIEWS)
def test_a_preview_is_shown_or_its_absence_is(world: World, kind: str) -> None:
    """Never silent, never a reason to hide the call; nothing of an exception reaches a reader (T11, T10)."""
    preview, expected, note = PREVIEWS[kind]
    chat, sent = world.waiting(tools=world.host.tools(preview=preview))

    card = card_of(chat, sent.conversation)

    (shown,) = card.calls
    assert {name: getattr(shown, name) for name in expected} == expected
    assert shown.needs_approval
    assert note is None or any(note in each for each in card.notes)
    assert "secret detail" not in repr(card)


def test_a_snapshot_says_how_old_it_is(world: World) -> None:
    """It is as of the pause (T11)."""
    chat, sent = world.waiting()
    world.clock.advance(7200.0)

    assert any("2 Stunden" in note for note in card_of(chat, sent.conversation).notes)


class Unreadable(RoleAccess):
    """Deciders may decide and read no previews."""

    def may(self, actor: str, action: Action, subject: Subject) -> bool:
        """As roles have it, previews left out."""
        return action is not Action.READ_PREVIEW and super().may(actor, action, subject)


def test_a_preview_is_withheld_from_who_may_not_read_it(world: World) -> None:
    """The call stays on the card, and the decision stays possible (T11, O4)."""
    access = Unreadable(owner_decides=True)
    chat, sent = world.waiting("Gut.", access=access)

    card = card_of(chat, sent.conversation)

    assert (card.calls[0].lines, card.calls[0].withheld, card.calls[0].tool) == ((), True, "create_page")
    assert any("dürfen die Vorschau nicht sehen" in note for note in card.notes)
    assert chat.decide(sent.conversation, "approve", card=card, by=ANNA).outcome is SendOutcome.ACCEPTED


def test_equal_calls_under_two_ids_are_two_and_the_card_says_so(world: World) -> None:
    """Under one id they are one (T12)."""
    arguments = json.dumps({"title": "Team"})
    twice = ModelAnswer(calls=tuple(ModelCall("create_page", arguments, name) for name in ("a", "b", "b")))
    chat = world.chat(twice, "Gut.")
    sent = chat.send("Lege an.", ANNA)
    card = card_of(chat, sent.conversation)

    assert [each.copies for each in card.calls] == [2, 2]
    assert any("2-mal" in note for note in card.notes)
    chat.decide(sent.conversation, "approve", card=card, by=ANNA)
    assert world.host.pages == ["Team", "Team"]


def test_a_precondition_is_part_of_what_is_approved_and_handed_to_the_tool(world: World) -> None:
    """Another token is another digest; the tool sees the one whose preview was approved (T11, R5)."""
    tokens = iter(["v1", "v2"])

    def preview(*_: object) -> Preview:
        return Preview("Neue Seite", precondition=next(tokens))

    chat = world.chat(CREATE, CREATE, "Gut.", tools=world.host.tools(preview=preview))
    sent = chat.send("Lege an.", ANNA)
    first = card_of(chat, sent.conversation)
    again = chat.send("Bitte wirklich diese Seite anlegen.", ANNA, conversation=sent.conversation)
    second = card_of(chat, again.conversation)

    assert first.digest != second.digest
    chat.decide(sent.conversation, "approve", card=second, by=ANNA)
    assert [context.precondition for context in world.host.contexts] == ["v2"]


# -------------------------------------------------------------------------------------- A5: inbox


def test_an_inbox_lists_what_waits_oldest_first(world: World) -> None:
    """For whoever may decide, of everybody, in and out of conversations (A5)."""
    asked = []
    for owner in ("anna", "ben", "carl"):
        chat = world.chat(CREATE)
        asked.append(chat.runtime.start("Lege an.", owner).run_id)
        world.clock.advance(1.0)
    _, sent = world.waiting()
    chat = world.chat()

    assert [item.run_id for item in chat.runtime.inbox(DORA)] == [*asked, sent.run_id]
    assert [item.run_id for item in chat.runtime.inbox(DORA, limit=2)] == asked[:2]
    assert [item.conversation for item in chat.runtime.inbox("root")] == [None, None, None, sent.conversation]
    assert [item.owner for item in chat.runtime.inbox(ANNA)] == ["anna", "anna"]
    assert chat.runtime.inbox(EVE) == ()


def test_an_inbox_pages_on_past_what_others_decide(world: World) -> None:
    """The limit counts what this actor may decide, not what waits (A5)."""
    others = world.chat(model_options={"otherwise": CREATE})
    for number in range(60):
        others.runtime.start("Lege an.", f"other-{number}")
    mine = [world.chat(CREATE).runtime.start("Lege an.", "anna").run_id for _ in range(3)]
    chat = world.chat()

    assert [item.run_id for item in chat.runtime.inbox(ANNA, limit=2)] == mine[:2]
    assert [item.run_id for item in chat.runtime.inbox(ANNA, limit=5)] == mine


def test_an_inbox_passes_over_what_has_expired_and_what_cannot_be_read(world: World) -> None:
    """One broken run hides no other (A5, A4, E5)."""
    expiring = world.chat(CREATE, rules={"approval_expiry": 10.0}).runtime.start("Lege an.", "anna").run_id
    broken = world.chat(CREATE).runtime.start("Lege an.", "anna").run_id
    sound = world.chat(CREATE).runtime.start("Lege an.", "anna").run_id
    world.damage(broken)
    world.clock.advance(11.0)

    assert [item.run_id for item in world.chat().runtime.inbox(DORA, limit=1)] == [sound]
    assert world.row(expiring).reason is RunReason.APPROVAL_EXPIRED
    assert world.row(broken).status is RunStatus.WAITING_FOR_APPROVAL


@pytest.mark.parametrize("limit", [0, -1, True, "5", 1.5, None])
def test_an_inbox_of_a_strange_size_is_refused(world: World, limit: Any) -> None:
    """A typed error (O4)."""
    with pytest.raises(ValueError, match="limit"):
        world.chat().runtime.inbox(DORA, limit=limit)


def test_rights_are_asked_at_the_moment(world: World) -> None:
    """Who lost a role since the card was shown decides nothing (O4)."""
    deciders = {"dora"}
    access = RoleAccess(deciders=deciders)
    chat, sent = world.waiting(access=access)
    (item,) = chat.runtime.inbox(DORA)
    deciders.clear()

    assert chat.runtime.inbox(DORA) == ()
    with pytest.raises(Exception, match="not yours to see"):
        chat.runtime.decide(item.run_id, "approve", digest=item.card.digest, by=DORA)
    assert attrs.asdict(item.card)["run_id"] == sent.run_id


def test_an_access_policy_that_raises_refuses_and_is_heard(world: World) -> None:
    """No role is assumed; the exception rises and nothing happens (O4)."""

    class Broken(RoleAccess):
        def may(self, actor: str, action: Action, subject: Subject) -> bool:
            raise ConnectionError("directory down")

    chat, sent = world.waiting()
    before = world.snapshot(sent.conversation)
    chat = world.chat("Gut.", access=Broken())
    card = digest_of(world, sent.run_id)
    for attempt in (
        lambda: chat.send("Hallo", ANNA, conversation=sent.conversation),
        lambda: chat.view(sent.conversation, ANNA),
        lambda: chat.decide(sent.conversation, "approve", card=card, by=ANNA),
        lambda: chat.cancel(sent.conversation, ANNA),
        lambda: chat.retry(sent.conversation, ANNA),
        lambda: chat.runtime.decide(sent.run_id, "approve", digest=card, by=ANNA),  # type: ignore[arg-type]
        lambda: chat.runtime.cancel(sent.run_id, ANNA),  # type: ignore[arg-type]
        lambda: chat.runtime.inbox(ANNA),
    ):
        with pytest.raises(ConnectionError):
            attempt()
    assert world.snapshot(sent.conversation) == before
    assert ACCESS.may("anna", Action.SEE, Subject("anna"))
