"""
Turns as a client sees them that knows the protocol and nothing else.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core import Chat, FailureClass, ModelAnswer, ProviderError, Reader
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.domain.conversation import MessageRole
from nr_agent_core.testing import ManualClock, ScriptedModel, call, round_of
from nr_agent_core.testing.scripted_model import Cut
from tests.agui.screen import Screen
from tests.asynchronous.blocking import BlockingChat
from tests.asynchronous.desk import Desk
from tests.chat import standings as made
from tests.chat.queue_at_hand import QueueAtHand, drive
from tests.chat.world import ACCESS, CREATE, DORA, ELSEWHERE, ROOT, World

CALLS = st.builds(lambda name, n: call(name, n=n), st.sampled_from(["search", "save", "unknown"]), st.integers(1, 3))
ROUNDS = st.builds(lambda calls, text: round_of(*calls, text=text), st.lists(CALLS, min_size=1, max_size=3), st.text())
ENDS = st.one_of(
    st.text(min_size=1, max_size=20),
    st.builds(ProviderError, st.just("it failed"), st.sampled_from(FailureClass)),
    st.builds(Cut, st.text(max_size=20)),
    st.just(ModelAnswer("", finish_reason="stop")),
)
SCRIPTS = st.tuples(st.lists(ROUNDS, max_size=3), ENDS).map(lambda parts: (*parts[0], parts[1]))
PEOPLE = Reader("anna")


@pytest.mark.parametrize("facade", [Chat, BlockingChat])
@given(script=SCRIPTS, streams=st.booleans(), choices=st.lists(st.booleans(), max_size=4))
def test_what_is_shown_in_the_end_is_what_is_stored(
    facade: Any, script: tuple[Any, ...], streams: bool, choices: list[bool]
) -> None:
    """(V9, P3) Whatever the model does and a person decides: every event is valid, and no interim text stays."""
    store = MemoryStore(ManualClock())
    chat = facade(**Desk(store, script, streams=streams).parts())
    screen = Screen(chat, PEOPLE)
    screen.say("Go.")
    for approved in [*choices, *[True] * 4]:
        if screen.interrupts:
            screen.decide(approved=approved)

    stored = [message.text for message in store.messages(screen.thread, limit=100) if message.text]
    assert screen.interrupts == []
    assert [text for _, _, text in screen.shown if text] == stored


def test_a_turn_from_the_message_to_the_notice(world: World) -> None:
    """(V10, W1) Interrupt, decision, call, record, answer, and the notice beside it, in this order."""
    screen = Screen(world.chat(CREATE, "Die Seite ist angelegt. Auch pages:77."))

    assert screen.say("Lege eine Seite 'Team' an.") == "RUN_FINISHED"
    (interrupt,) = screen.interrupts
    assert "New page: Team" in interrupt["message"]
    assert screen.decide() == "RUN_FINISHED"

    kinds = [event["type"] for event in screen.events if not event["type"].startswith("TEXT_MESSAGE")]
    assert kinds == [
        "RUN_STARTED",
        "TOOL_CALL_START",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "CUSTOM",
        "CUSTOM",
        "RUN_FINISHED",
    ]
    assert screen.end["result"] == {"status": "completed"}
    (written,) = screen.custom("recordWritten")
    assert (written["table"], written["uid"], written["kind"]) == ("pages", 42, "created")
    (notice,) = screen.custom("notice")
    assert notice["code"] == "unknownReference"
    assert "pages:77" in notice["label"]
    assert notice["messageId"] == screen.shown[-1][0]
    assert screen.answers == ["Die Seite ist angelegt. Auch pages:77."]


def test_what_a_tool_returned_is_told_to_nobody(world: World) -> None:
    """(E4, T11) A client hears how a call ended; the result is the model's."""
    world.host.pages.append("The secret page")
    screen = Screen(world.chat(call("search_pages"), "Eine."))
    screen.say("Welche Seiten gibt es?")

    (result,) = [event for event in screen.events if event["type"] == "TOOL_CALL_RESULT"]
    assert result["content"] == "text"
    assert "secret" not in str(screen.events)


def test_text_beside_calls_is_taken_back(world: World) -> None:
    """(V9) Shown while it comes, and gone before the card is."""
    screen = Screen(world.chat(round_of(CREATE, text="Die Seite ist gespeichert."), "Gut."))
    screen.say("Lege eine Seite 'Team' an.")

    assert "gespeichert" in "".join(str(event.get("delta", "")) for event in screen.events)
    assert len(screen.custom("textWasInterim")) == 1
    assert screen.answers == []


def test_a_failure_has_a_code_and_a_sentence_for_this_reader(world: World) -> None:
    """(F1, F2) The error of a run is an error of the protocol, in the reader's language and without internals."""
    secret = ProviderError("https://user:pass@host/ refused", FailureClass.AUTHENTICATION)
    screen = Screen(world.chat(secret))

    assert screen.say("Lege eine Seite an.") == "RUN_ERROR"
    assert screen.end["code"] == "providerNotConfigured"
    assert screen.end["message"] == (
        "Die Verbindung zum KI-Dienst ist nicht richtig eingerichtet. Bitte wenden Sie sich an die Administration."
    )
    (notice,) = screen.custom("notice")
    assert notice["code"] == "runEnded"


def test_a_look_after_a_failure_tells_it_again(world: World) -> None:
    """(F2, O3) A client that was not there hears of the failure by looking; administrators get the link."""
    chat = world.chat(ProviderError("no key", FailureClass.AUTHENTICATION), links={"providers": "/setup"})
    screen = Screen(chat)
    screen.say("Lege eine Seite an.")
    root = Screen(chat, ROOT, thread=screen.thread)

    assert root.look() == "RUN_FINISHED"
    (failure,) = root.custom("failure")
    assert (failure["code"], failure["link"]) == ("providerNotConfigured", "/setup")
    assert root.end["result"] == {"status": "failed"}


def test_a_run_that_is_cancelled_ends_as_cancelled(world: World) -> None:
    """(R9) Cancelled by another process while the model thinks: neither an answer nor an error."""
    other = Chat(store=world.store, model=ScriptedModel(), access=ACCESS)

    def cancelled(request: Any) -> str:
        (run,) = world.runs()
        other.runtime.cancel(run, "anna")
        return "Never read."

    screen = Screen(world.chat(cancelled))

    assert screen.say("Lege eine Seite an.") == "RUN_FINISHED"
    assert screen.end["outcome"] == {"type": "cancelled"}
    assert screen.answers == []


def test_a_reader_who_may_not_decide_is_asked_nothing(world: World) -> None:
    """(O4, C2) The turn waits, for somebody else: no interrupt, which could block this client for ever."""
    screen = Screen(world.chat(CREATE, access=ELSEWHERE))

    assert screen.say("Lege eine Seite 'Team' an.") == "RUN_FINISHED"
    assert screen.interrupts == []
    assert screen.end["result"] == {"status": "waiting_for_approval"}
    assert screen.say("weiter") == "RUN_ERROR"
    assert screen.end["code"] == "approvalPendingElsewhere"


def test_who_may_only_deny_is_told_so(world: World) -> None:
    """(A3) Under four eyes the owner's interrupt takes a denial alone, and an approval is refused."""
    screen = Screen(world.chat(CREATE, "Dann nicht.", rules={"four_eyes": True}))
    screen.say("Lege eine Seite 'Team' an.")
    (interrupt,) = screen.interrupts

    assert interrupt["responseSchema"]["properties"]["approved"]["const"] is False
    screen.decide()
    assert [reply["code"] for reply in screen.custom("reply")] == ["secondPersonNeeded"]
    assert screen.interrupts == [interrupt]
    screen.decide(approved=False)
    assert screen.answers == ["Dann nicht."]
    assert world.host.executed == []


def test_decided_elsewhere_is_told_by_a_notice_and_what_is_stored(world: World) -> None:
    """(C4) "Go on" after somebody decided outside: delivered, not asked again; the list is what is stored."""
    chat = world.chat(CREATE, "Die Seite ist angelegt.", access=ELSEWHERE)
    screen = Screen(chat)
    screen.say("Lege eine Seite 'Team' an.")
    (item,) = chat.runtime.inbox(DORA)
    chat.runtime.decide(item.card.run_id, "approve", digest=item.card.digest, by=DORA)

    assert screen.say("weiter") == "RUN_FINISHED"
    (notice,) = screen.custom("notice")
    assert notice["code"] == "runFinishedOutside"
    assert "pages:42" in notice["label"]
    assert notice["messageId"] == screen.shown[-1][0]
    assert screen.answers == ["Die Seite ist angelegt."]
    assert [text for _, role, text in screen.shown if role == "user"] == ["Lege eine Seite 'Team' an.", "weiter"]
    assert len(world.runs()) == 1


def test_notices_stand_beside_their_messages_in_a_snapshot(world: World) -> None:
    """(V10, O3) Whoever comes later sees the same labels as whoever watched."""
    screen = Screen(world.chat("Die Seite ist angelegt."))
    screen.say("Lege eine Seite an.")
    told = screen.custom("notice")
    screen.look()

    (snapshot,) = [event for event in screen.events if event["type"] == "MESSAGES_SNAPSHOT"]
    assert snapshot["messages"][-1]["metadata"]["notices"] == [
        {"code": notice["code"], "label": notice["label"]} for notice in told
    ]
    assert [notice["code"] for notice in told] == ["nothingSaved"]


def test_the_stored_messages_are_those_of_both_roles(world: World) -> None:
    """(P3) A snapshot repeats texts as they were given, whatever they hold."""
    strange = "a\u2028b\r\n\ndata: {}\u0000\U0001f600"
    screen = Screen(world.chat(strange))
    screen.say(strange.replace("\u0000", ""))
    screen.look()

    assert [(role, text) for _, role, text in screen.shown] == [
        (MessageRole.USER.value, strange.replace("\u0000", "")),
        (MessageRole.ASSISTANT.value, strange),
    ]


def test_with_a_queue_a_decision_is_handed_over_and_looked_at_later(world: World) -> None:
    """(R6) The worker drives the run; the client is told how it stands, and a look shows what came of it."""
    chat = world.chat(CREATE, "Angelegt.", queue=QueueAtHand(world.store))
    screen = Screen(chat)
    screen.say("Lege eine Seite 'Team' an.")

    assert screen.decide() == "RUN_FINISHED"
    assert screen.end["result"] == {"status": "queued"}
    assert world.host.executed == []
    drive(chat)
    screen.look()
    assert screen.answers == ["Angelegt."]
    assert screen.end["result"] == {"status": "idle"}


def test_a_run_that_is_taken_over_first_is_shown_as_it_ended(world: World) -> None:
    """(R8) A message after a crash: the run that died ends first, then the new one; both answers are shown."""
    _, conversation = made.running_expired(world)
    screen = Screen(world.chat("Die erste Antwort.", "Die zweite Antwort."), thread=conversation)
    screen.say("Und nun?")

    assert screen.answers == ["Die erste Antwort.", "Die zweite Antwort."]
    kinds = [event["type"] for event in screen.events]
    assert (kinds.count("RUN_STARTED"), kinds.count("MESSAGES_SNAPSHOT")) == (1, 1)
