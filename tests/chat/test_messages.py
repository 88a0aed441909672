"""
Where a message goes: every kind of message in every standing of the conversation (C1-C7).
"""

import pytest

from nr_agent_core import ConversationStatus, ReplyCode, RunReason, RunStatus, SendOutcome
from nr_agent_core.domain.notices import NoticeCode
from nr_agent_core.domain.texts import reply_sentence
from tests.chat import standings as made
from tests.chat.standings import Maker
from tests.chat.world import ANNA, World, codes

GO_ON, APPROVED_IT, ASSENT, OTHER, QUESTION = (
    "weiter",
    "Ich habe alles freigegeben.",
    "ok",
    "Lege noch eine Seite 'Kontakt' an.",
    "weiter?",
)
PHRASES = (GO_ON, APPROVED_IT, ASSENT)
MESSAGES = {"go_on": GO_ON, "approved_it": APPROVED_IT, "assent": ASSENT, "other": OTHER, "question": QUESTION}

# The standing of the conversation -> what becomes of (go_on, approved_it, assent, other, question):
#   turn: a new run; over: a new run, the waiting one superseded; let_go: a new run, the unreadable one let go of;
#   card, elsewhere, setup: held; busy; told: delivered.
TABLE: list[tuple[Maker, str]] = [
    (made.no_run, "turn turn turn turn turn"),
    (made.waiting, "card card card over over"),
    (made.waiting_elsewhere, "elsewhere elsewhere elsewhere over over"),
    (made.waiting_four_eyes, "elsewhere elsewhere elsewhere over over"),
    (made.waiting_unconfigured, "setup setup setup setup setup"),
    (made.queued, "busy busy busy busy busy"),
    (made.overdue, "busy busy busy busy busy"),
    (made.running, "busy busy busy busy busy"),
    (made.running_decided, "busy busy busy busy busy"),
    (made.running_expired, "turn turn turn turn turn"),
    (made.running_decided_expired, "told told turn turn turn"),
    (made.completed, "turn turn turn turn turn"),
    (made.approved_here, "turn turn turn turn turn"),
    (made.denied_here, "turn turn turn turn turn"),
    (made.failed, "turn turn turn turn turn"),
    (made.cancelled_here, "turn turn turn turn turn"),
    (made.approved_outside, "told told turn turn turn"),
    (made.denied_outside, "told told turn turn turn"),
    (made.failed_outside, "told told turn turn turn"),
    (made.cancelled_outside, "told told turn turn turn"),
    (made.expired, "told told turn turn turn"),
    (made.expired_in_view, "told told turn turn turn"),
    (made.expired_in_inbox, "told told turn turn turn"),
    (made.expired_in_upkeep, "told told turn turn turn"),
    (made.recovered_in_upkeep, "told told turn turn turn"),
    (made.given_up_in_upkeep, "told told turn turn turn"),
    (made.unreadable_waiting, "let_go let_go let_go let_go let_go"),
    (made.unreadable_expired, "let_go let_go let_go let_go let_go"),
]
CELLS = [
    pytest.param(maker, text, way, id=f"{maker.__name__}-{name}")
    for maker, ways in TABLE
    for (name, text), way in zip(MESSAGES.items(), ways.split(), strict=True)
]
REFUSING = {
    "card": (SendOutcome.HELD, ReplyCode.APPROVAL_PENDING),
    "elsewhere": (SendOutcome.HELD, ReplyCode.APPROVAL_PENDING_ELSEWHERE),
    "setup": (SendOutcome.HELD, ReplyCode.CHAT_NOT_CONFIGURED),
    "busy": (SendOutcome.BUSY, ReplyCode.CONVERSATION_BUSY),
}


@pytest.mark.parametrize(("maker", "text", "way"), CELLS)
def test_a_message_goes_where_the_run_says(world: World, maker: Maker, text: str, way: str) -> None:
    """Outcome, code, sentence, what is stored and which runs there are, cell by cell (C1-C6)."""
    chat, conversation = maker(world)
    runs, messages = world.runs(), world.messages(conversation)
    before = world.snapshot(conversation) if way in REFUSING else []
    last = runs[-1] if runs else None

    sent = chat.send(text, ANNA, conversation=conversation)

    after = world.messages(conversation)
    assert after[: len(messages)] == messages, "what is stored is never changed"
    assert sent.conversation == conversation
    if way in REFUSING:
        outcome, code = REFUSING[way]
        assert (sent.outcome, sent.code, sent.run_id) == (outcome, code, last)
        assert sent.text == reply_sentence(code, "de")
        assert world.snapshot(conversation) == before, "nothing is stored"
        return
    if way == "told":
        assert (sent.outcome, sent.code, sent.run_id) == (
            SendOutcome.DELIVERED,
            NoticeCode.RUN_FINISHED_OUTSIDE,
            last,
        )
        assert sent.status is world.row(last).status
        assert world.runs() == runs, "no run starts"
        user, line = after[-2:]
        assert (user.text, user.run_id, line.text, line.run_id) == (text, None, "", last)
        assert codes(line) == ["runFinishedOutside"]
        assert sent.text == chat.view(conversation, ANNA).messages[-1].notices[0].label
        return
    assert (sent.outcome, sent.code, sent.text) == (SendOutcome.ACCEPTED, None, None)
    assert world.runs() == [*runs, sent.run_id]
    assert sent.status is RunStatus.COMPLETED
    assert [(message.text, message.run_id) for message in after[-2:]] == [(text, sent.run_id), ("Gut.", sent.run_id)]
    assert chat.view(conversation, ANNA).status is ConversationStatus.IDLE
    if way == "over":
        assert (world.row(last).status, world.row(last).reason) == (RunStatus.CANCELLED, RunReason.SUPERSEDED)
        ended = after[-3]
        assert (ended.run_id, ended.text, codes(ended)) == (last, "", ["runEnded"])
        assert ended.notices[0].arguments["reason"] == "superseded"
        assert len(after) == len(messages) + 3
    elif way == "let_go":
        assert (world.row(last).status, world.row(last).reason) == (RunStatus.CANCELLED, RunReason.SUPERSEDED)
        assert len(after) == len(messages) + 2, "nothing can be told of what cannot be read"
    elif last is not None:
        assert world.row(last).reason is not RunReason.SUPERSEDED
