"""
Every failure code on every path on which it can occur, and what each reader is told (F1, F2, F4).
"""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
import pytest

from nr_agent_core import (
    Chat,
    ConversationStatus,
    FailureClass,
    FailureCode,
    ModelAnswer,
    ProviderError,
    Reader,
    RunStatus,
    ToolContext,
    ToolResult,
)
from nr_agent_core.domain.texts import failure_sentence
from nr_agent_core.testing.crashing import WorkerDied
from nr_agent_core.testing.scripted_model import Scripted
from tests.chat import standings as made
from tests.chat.world import ANNA, CREATE, LEASE, ROOT, World, codes, digest_of

LINKS = {"providers": "https://site.example/providers", "tasks": "https://site.example/tasks"}
SECRET = "sk-proj-abcdefghijklmnopqrstuvwx0123456789"
LEAKY = f"POST https://model.internal.example/v1?api_key={SECRET} from 10.1.2.3: SELECT token FROM users; /srv/app/x.py"
GIVES_UP = "the budget of tries is used up"


def fails(failure_class: FailureClass) -> Scripted:
    """A model that fails in this way each time it is asked."""
    return ProviderError(LEAKY, failure_class)


def chained(_: object) -> BaseException:
    """An authentication error deep below one that says something else (R10)."""
    try:
        try:
            raise ProviderError(LEAKY, FailureClass.AUTHENTICATION)
        except ProviderError as cause:
            raise TimeoutError("took too long") from cause
    except TimeoutError as error:
        return error


@attrs.frozen
class Cause:
    """What goes wrong: how the model answers, or what else is missing."""

    answer: Scripted = "Gut."
    model_options: Mapping[str, Any] = {}
    configured: bool = True

    def chat(self, world: World) -> Chat:
        """A process in which it goes wrong."""
        parts: dict[str, Any] = {} if self.configured else {"configuration": made._nothing}
        return world.chat(links=LINKS, model_options={"otherwise": self.answer, **self.model_options}, **parts)


SMALL = {"context_window": 10}
CAUSES: dict[FailureCode, list[Cause]] = {
    FailureCode.PROVIDER_NOT_CONFIGURED: [
        Cause(fails(FailureClass.AUTHENTICATION)),
        Cause(fails(FailureClass.CONFIGURATION)),
        Cause(chained),
    ],
    FailureCode.CHAT_NOT_CONFIGURED: [Cause(configured=False)],
    FailureCode.RATE_LIMITED: [Cause(fails(FailureClass.RATE_LIMIT)), Cause(fails(FailureClass.QUOTA))],
    FailureCode.PROVIDER_UNAVAILABLE: [
        Cause(fails(FailureClass.CONNECTION)),
        Cause(fails(FailureClass.SERVER_ERROR)),
        Cause(TimeoutError(LEAKY)),
    ],
    FailureCode.CONTEXT_TOO_LONG: [Cause(fails(FailureClass.CONTEXT_TOO_LONG)), Cause(model_options=SMALL)],
    FailureCode.CONTENT_REFUSED: [Cause(fails(FailureClass.CONTENT_REFUSED))],
    FailureCode.EMPTY_ANSWER: [Cause(ModelAnswer(" \n"))],
    FailureCode.INTERNAL: [
        Cause(fails(FailureClass.CLIENT_ERROR)),
        Cause(fails(FailureClass.UNKNOWN)),
        Cause(ValueError(LEAKY)),
        Cause(lambda _: None),  # type: ignore[arg-type,return-value]
    ],
}

Ended = tuple[Chat, str]


def first(world: World, cause: Cause) -> Ended:
    """The first segment of a turn."""
    chat = cause.chat(world)
    return chat, chat.send("Hallo", ANNA).conversation


def approved(world: World, cause: Cause) -> Ended:
    """The segment that an approval opens; the write is carried out before the model fails."""
    _, sent = world.waiting()
    chat = cause.chat(world)
    chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)
    return chat, sent.conversation


def denied(world: World, cause: Cause) -> Ended:
    """The segment that a denial opens."""
    _, sent = world.waiting()
    chat = cause.chat(world)
    chat.decide(sent.conversation, "deny", card=digest_of(world, sent.run_id), by=ANNA)
    return chat, sent.conversation


def recovered(world: World, cause: Cause) -> Ended:
    """The segment by which another process takes a dead one's run over."""
    _, conversation = made.running_expired(world)
    chat = cause.chat(world)
    chat.upkeep()
    return chat, conversation


def queued(world: World, cause: Cause) -> Ended:
    """The segments of a worker, until it gives up (R8)."""
    _, conversation = made.queued(world)
    chat = cause.chat(world)
    (run_id,) = world.runs()
    while not world.row(run_id).status.settled:
        world.clock.advance(120.0)
        chat.runtime.recover(run_id)
    return chat, conversation


PATHS = (first, approved, denied, recovered, queued)
# Cells that the rules rule out, with the reason; every other cell of code and path is played.
RULED_OUT = {
    (FailureCode.CHAT_NOT_CONFIGURED, approved): "the decision is refused and the run waits on (G0)",
    (FailureCode.CHAT_NOT_CONFIGURED, denied): "the decision is refused and the run waits on (G0)",
}
# These two come about on one path each, whatever the model says: see the tests further down.
ONLY_RECOVERED = {FailureCode.WRITE_OUTCOME_UNKNOWN, FailureCode.INTERRUPTED}
CELLS = [
    pytest.param(code, path, cause, id=f"{code.value}-{path.__name__}-{number}")
    for code, causes in CAUSES.items()
    for path in PATHS
    if (code, path) not in RULED_OUT
    for number, cause in enumerate(causes)
]


def test_every_code_has_its_cells() -> None:
    """No code is left out of the table (F1)."""
    assert set(CAUSES) | ONLY_RECOVERED == set(FailureCode)


@pytest.mark.parametrize(("code", "path", "cause"), CELLS)
def test_a_failure_is_told_to_each_reader(
    world: World, code: FailureCode, path: Callable[[World, Cause], Ended], cause: Cause
) -> None:
    """The code is stored on every path; its words depend on who looks (F1, F2)."""
    chat, conversation = path(world, cause)

    (run_id,) = world.runs()
    assert_told(world, chat, conversation, run_id, code)
    assert world.host.pages == (["Team"] if path is approved else [])


def assert_told(world: World, chat: Chat, conversation: str, run_id: str, code: FailureCode) -> None:
    """What is stored of a failure, and what three readers see of it."""
    row = world.row(run_id)
    assert (row.status, row.code) == (RunStatus.FAILED, code)
    for language in ("de", "en"):
        view = chat.view(conversation, Reader("anna", language=language))
        assert view.status is ConversationStatus.FAILED
        assert view.error is not None
        assert (view.error.code, view.error.link) == (code, None)
        assert view.error.text == failure_sentence(code, language)
    error = chat.view(conversation, ROOT).error
    assert error is not None
    assert error.text == (row.error or failure_sentence(code, "en"))
    target = {FailureCode.PROVIDER_NOT_CONFIGURED: "providers", FailureCode.CHAT_NOT_CONFIGURED: "tasks"}.get(code)
    assert error.link == (LINKS[target] if target else None)
    for leak in (SECRET, "10.1.2.3", "SELECT", "/srv/app", "model.internal"):
        assert leak not in error.text
    last = world.messages(conversation)[-1]
    assert (last.text, last.run_id, codes(last)[0]) == ("", run_id, "runEnded")
    assert last.notices[0].arguments["code"] == code.value


def test_what_an_administrator_reads_is_the_stored_text(world: World) -> None:
    """Sanitised, and not the editor's sentence (F2, F3)."""
    chat, conversation = first(world, Cause(ProviderError("the key was revoked", FailureClass.AUTHENTICATION)))

    error = chat.view(conversation, ROOT).error

    assert error is not None
    assert "the key was revoked" in error.text


@pytest.mark.parametrize("unattended", [False, True])
def test_a_write_whose_process_died_is_unknown(world: World, *, unattended: bool) -> None:
    """Recovered without a way to ask the host: the run ends so, and the message names the tool (F1, R7, F5)."""

    def dies(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        raise WorkerDied

    rules = {"unattended": ["create_page"]} if unattended else {}
    chat = world.chat(CREATE, tools=world.host.tools(execute=dies), rules=rules, links=LINKS)
    conversation = chat.open(ANNA)
    if unattended:
        world.dies(lambda: chat.send("Lege an.", ANNA, conversation=conversation))
    else:
        sent = chat.send("Lege an.", ANNA, conversation=conversation)
        digest = digest_of(world, sent.run_id)
        world.dies(lambda: chat.decide(conversation, "approve", card=digest, by=ANNA))
    (run_id,) = world.runs()
    world.clock.advance(LEASE)

    chat.upkeep()

    assert_told(world, chat, conversation, run_id, FailureCode.WRITE_OUTCOME_UNKNOWN)
    last = world.messages(conversation)[-1]
    assert codes(last) == ["runEnded", "writeOutcomeUnknown"]
    assert last.notices[1].arguments["tools"] == ["create_page"]
    assert world.host.pages == []


@pytest.mark.parametrize("way", ["unreadable", "tries used up"])
def test_what_upkeep_cannot_recover_is_interrupted(world: World, way: str) -> None:
    """The code replaces whatever was there before (F1, O2)."""
    if way == "unreadable":
        chat, conversation = made.given_up_in_upkeep(world)
    else:
        _, conversation = made.running_expired(world)
        for _ in range(3):
            dying = world.chat(WorkerDied())
            world.dies(lambda dying=dying: dying.upkeep())  # type: ignore[misc]
            world.clock.advance(LEASE)
        chat = world.chat()
        chat.upkeep()
    chat = world.chat(links=LINKS)
    (run_id,) = world.runs()

    assert_told(world, chat, conversation, run_id, FailureCode.INTERRUPTED)


def test_a_worker_tries_again_later_and_a_caller_does_not(world: World) -> None:
    """Three more times after 30, 60 and 120 seconds; a run driven by its caller fails at once (R8)."""
    _, conversation = made.queued(world)
    chat = world.chat(model_options={"otherwise": ProviderError("down", FailureClass.CONNECTION)})
    (run_id,) = world.runs()
    waits = []
    while not world.row(run_id).status.settled:
        chat.runtime.recover(run_id)
        row = world.row(run_id)
        if row.status is RunStatus.QUEUED:
            waits.append(row.not_before - world.clock.now())
            world.clock.advance(waits[-1])

    assert waits == [30.0, 60.0, 120.0]
    assert world.row(run_id).reason is not None
    assert world.row(run_id).reason.value == "retries_exhausted"  # type: ignore[union-attr]
    first_chat, other = first(world, Cause(ProviderError("down", FailureClass.CONNECTION)))
    assert world.row(world.runs()[-1]).reason.value == "provider_failed"  # type: ignore[union-attr]
    del first_chat, other, conversation


def test_the_next_turn_replaces_the_code_and_a_delivery_does_not(world: World) -> None:
    """A conversation's error is its last run's (F4)."""
    chat, conversation = made.failed_outside(world)

    chat.send("weiter", ANNA, conversation=conversation)
    error = chat.view(conversation, ANNA).error
    chat.send("Und jetzt?", ANNA, conversation=conversation)

    assert error is not None
    assert error.code is FailureCode.INTERNAL
    assert chat.view(conversation, ANNA).error is None


def test_a_failure_without_a_code_is_internal(file_world: World) -> None:
    """Rows that a host brings along (F4)."""
    chat, conversation = made.failed(file_world)
    with file_world.raw() as db:
        db.execute("UPDATE run SET code = NULL")

    error = chat.view(conversation, ANNA).error

    assert error is not None
    assert (error.code, error.text) == (FailureCode.INTERNAL, failure_sentence("internal", "de"))
