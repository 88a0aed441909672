"""What somebody new to the library gets wrong is refused early, and in words."""

import logging
import sys
import threading

import pytest

from nr_agent_core import (
    AccessDeniedError,
    Action,
    Chat,
    Configuration,
    FixedConfiguration,
    InvalidValueError,
    ModelAnswer,
    ModelRequest,
    NoticeCode,
    Reader,
    RoleAccess,
    RunStatus,
    Runtime,
    SendOutcome,
    Subject,
    Tool,
    ToolContext,
    ToolEffect,
    ToolResult,
    WriteKind,
    Wrote,
    tool,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing import ScriptedModel, call

ANNA, BOB = Reader("anna"), Reader("bob")


class Policy:
    """A host's own policy, whose every answer is the given one."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def may(self, actor: str, action: Action, subject: Subject) -> object:
        """The given answer."""
        return self.answer

    def is_administrator(self, actor: str) -> object:
        """The given answer."""
        return self.answer


class AsyncPolicy:
    """A policy that answers only when it is awaited."""

    async def may(self, actor: str, action: Action, subject: Subject) -> bool:
        """No."""
        return False

    async def is_administrator(self, actor: str) -> bool:
        """No."""
        return False


@tool(effect=ToolEffect.NON_IDEMPOTENT_WRITE)
def save(title: str) -> ToolResult:
    """Save something."""
    return ToolResult.text("Saved.").with_write_target(("pages", 1), WriteKind.CREATED)


@pytest.mark.parametrize(
    "policy", [AsyncPolicy(), Policy("no"), Policy(1), Policy(None)], ids=["async", "text", "one", "none"]
)
def test_only_true_is_a_yes(policy: object) -> None:
    """(O4) A coroutine or a text would count as yes in a condition; here it refuses, and rises to the host."""
    chat = Chat(store=MemoryStore(), model=ScriptedModel("Hello."), tools=[save], access=policy)  # type: ignore[arg-type]

    with pytest.raises(InvalidValueError, match="access policy"):
        chat.send("Hello", ANNA)


def test_a_policy_that_denies_lets_nobody_begin() -> None:
    """(O4) Opening, a first message and a bare run are sending too; no model is asked."""
    model, store = ScriptedModel("Hello."), MemoryStore()
    chat = Chat(store=store, model=model, access=Policy(False))  # type: ignore[arg-type]

    for begin in (lambda: chat.open(ANNA), lambda: chat.send("Hello", ANNA), lambda: chat.runtime.start("Hello", ANNA)):
        with pytest.raises(AccessDeniedError):
            begin()
    assert model.requests == []


class BareModel:
    """A model that says nothing of its window."""

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """Always the same."""
        return ModelAnswer("Hello.")


def test_a_model_need_not_know_its_window() -> None:
    """(R11) What it does not say is unknown."""
    assert Runtime(store=None, model=BareModel()).start("Hello", "anna").answer == "Hello."  # type: ignore[arg-type]


@pytest.mark.parametrize("window", ["32k", 0, -1, True, 2.5])
def test_a_window_that_is_no_number_is_refused_at_the_start(window: object) -> None:
    """Not by an error of arithmetic in the first turn."""
    model = BareModel()
    model.context_window = window  # type: ignore[attr-defined]

    with pytest.raises(InvalidValueError, match="context_window"):
        Runtime(store=None, model=model)  # type: ignore[arg-type]


def waiting(chat: Chat) -> str:
    """A conversation that waits for an approval."""
    sent = chat.send("Save it.", ANNA)
    assert sent.status is RunStatus.WAITING_FOR_APPROVAL
    return sent.conversation


def chat_of(written: Tool, *answers: ModelAnswer | str) -> Chat:
    """A chat with one tool whose owner decides."""
    model = ScriptedModel(call(written.name), *answers)
    return Chat(store=MemoryStore(), model=model, tools=[written], access=RoleAccess(owner_decides=True))


def tool_that(execute: object, *, deadline: float = 60.0) -> Tool:
    """A harmful write that does *execute*."""
    schema = {"type": "object", "properties": {}}
    effect = ToolEffect.NON_IDEMPOTENT_WRITE
    return Tool(
        name="save",
        description="Saves.",
        parameters=schema,
        effect=effect,
        execute=execute,
        deadline=deadline,  # type: ignore[arg-type]
    )


def test_a_tool_that_exits_ends_itself_and_not_the_host() -> None:
    """(T4) A wrapped command that calls sys.exit() leaves an unknown outcome, and the run goes on."""
    chat = chat_of(tool_that(lambda arguments, context: sys.exit(2)), "I cannot tell.")
    conversation = waiting(chat)

    chat.decide(conversation, "approve", card=chat.view(conversation, ANNA).card, by=ANNA)

    (notice,) = chat.view(conversation, ANNA).messages[-1].notices
    assert notice.code is NoticeCode.WRITE_OUTCOME_UNKNOWN
    assert "still" not in notice.label  # nobody had heard of it before


def test_closing_waits_for_a_tool_behind_its_deadline() -> None:
    """(R7) What a tool brings while the process ends is stored if it comes in time, and counted if not."""
    go_on = threading.Event()

    def execute(arguments: object, context: ToolContext) -> ToolResult:
        go_on.wait(30)
        return ToolResult.text("Saved.").with_write_target(("pages", 1), WriteKind.CREATED)

    chat = chat_of(tool_that(execute, deadline=0.05), "I cannot tell.")
    conversation = waiting(chat)
    sent = chat.decide(conversation, "approve", card=chat.view(conversation, ANNA).card, by=ANNA)
    assert sent.run_id is not None

    at_work = chat.close(wait=0.0)
    go_on.set()
    left = chat.close(wait=30.0)

    assert (at_work, left) == (1, 0)
    assert chat.runtime.status(sent.run_id, ANNA).evidence.wrote is Wrote.YES


def test_a_card_offers_nothing_where_the_tool_is_unknown() -> None:
    """(A1) A process without the waiting tool can carry out no decision; cancelling works."""
    store = MemoryStore()
    access = RoleAccess(owner_decides=True)
    conversation = waiting(Chat(store=store, model=ScriptedModel(call("save", title="x")), tools=[save], access=access))
    elsewhere = Chat(store=store, model=ScriptedModel(), access=access)

    card = elsewhere.view(conversation, ANNA).card

    assert card is not None
    assert (card.can_approve, card.can_deny) == (False, False)
    assert elsewhere.cancel(conversation, ANNA).outcome is SendOutcome.ACCEPTED


def test_a_denial_from_outside_is_told_as_one() -> None:
    """(C7) The owner reads that it was declined, not that it is done; and so does whoever says "go on"."""
    access = RoleAccess(deciders={"bob"})
    model = ScriptedModel(call("save", title="x"), "It was not saved.")
    chat = Chat(store=MemoryStore(), model=model, tools=[save], access=access)
    conversation = waiting(chat)
    (item,) = chat.runtime.inbox(BOB)

    chat.runtime.decide(item.run_id, "deny", digest=item.card.digest, by=BOB)
    told = chat.view(conversation, ANNA).messages[-1].notices[-1].label
    delivered = chat.send("go on", ANNA, conversation=conversation)

    assert "declined" in told
    assert "completed" not in told
    assert delivered.outcome is SendOutcome.DELIVERED
    assert delivered.text is not None
    assert "declined" in delivered.text


def test_names_that_are_no_tools_are_heard_of(caplog: pytest.LogCaptureFixture) -> None:
    """A misspelt name switches nothing off: whoever set it up is told at the start."""
    caplog.set_level(logging.WARNING, "nr_agent_core")
    configuration = Configuration(model=ScriptedModel(), tools_off={"sav"}, unattended={"safe"}, tool_groups={"defaul"})

    Chat(store=MemoryStore(), configuration=configuration, tools=[save], access=RoleAccess(owner_decides=True))

    assert [name for name in ("sav", "safe", "defaul") if name in caplog.text] == ["sav", "safe", "defaul"]


@pytest.mark.parametrize(
    "settings",
    [
        {"unattended": 5},
        {"unattended": "save"},
        {"tools_off": [1]},
        {"tool_groups": "default"},
        {"approval_expiry": "1h"},
    ],
    ids=str,
)
def test_a_configuration_of_other_types_is_refused(settings: dict[str, object]) -> None:
    """Where it is made, with what is allowed."""
    with pytest.raises(InvalidValueError):
        Configuration(model=None, **settings)  # type: ignore[arg-type]


def test_roles_are_given_to_ids() -> None:
    """A Reader among them would never be found, and nobody could decide."""
    with pytest.raises(InvalidValueError):
        RoleAccess(deciders={ANNA})  # type: ignore[arg-type]


def test_an_unknown_argument_is_named_beside_all_that_are_known() -> None:
    """Those of the chat itself included."""
    with pytest.raises(InvalidValueError, match=r"message_limits.*message_limit"):
        Chat(store=MemoryStore(), model=ScriptedModel(), message_limits=5)  # type: ignore[call-arg]
    with pytest.raises(InvalidValueError, match="store"):
        Chat(model=ScriptedModel())  # type: ignore[call-arg]
    assert FixedConfiguration(None).resolve(None, "anna") is None
