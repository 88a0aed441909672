"""
How a conversation may stand when a message comes in, each made through the facades alone where that is possible.

A maker leaves the conversation's last run as its name says and returns the chat that takes the next
message; that chat's model answers "Gut." whatever it is asked.
"""

from collections.abc import Callable

from nr_agent_core import Chat, ProviderError, RunStatus
from nr_agent_core.domain.conversation import MessageRole, NewMessage
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import Started
from nr_agent_core.ports.unit_of_work import AddMessages, AppendEvents
from nr_agent_core.testing.crashing import WorkerDied
from tests.chat.world import ANNA, DORA, ELSEWHERE, LEASE, World, digest_of

Made = tuple[Chat, str]
Maker = Callable[[World], Made]


def next_chat(world: World) -> Chat:
    """The process that takes the message."""
    return world.chat(model_options={"otherwise": "Gut."})


def no_run(world: World) -> Made:
    """A conversation without a run."""
    chat = next_chat(world)
    return chat, chat.open(ANNA)


def waiting(world: World) -> Made:
    """A card that Anna may decide on."""
    _, sent = world.waiting()
    return next_chat(world), sent.conversation


def waiting_elsewhere(world: World) -> Made:
    """A card that only others may decide on."""
    _, sent = world.waiting(access=ELSEWHERE)
    return world.chat(access=ELSEWHERE, model_options={"otherwise": "Gut."}), sent.conversation


def waiting_four_eyes(world: World) -> Made:
    """A card that Anna may deny, not approve."""
    rules = {"four_eyes": True}
    _, sent = world.waiting(rules=rules)
    return world.chat(rules=rules, model_options={"otherwise": "Gut."}), sent.conversation


def waiting_unconfigured(world: World) -> Made:
    """A card, and no configuration any more."""
    _, sent = world.waiting()
    return world.chat(rules={}, configuration=_nothing), sent.conversation


def queued(world: World) -> Made:
    """A run that was handed over to workers."""
    chat = next_chat(world)
    conversation = chat.open(ANNA)
    started = Started(ANNA.id, 5, conversation, 0)
    message = NewMessage(MessageRole.USER, "Lege eine Seite an.", "run-0001", 5, position=0)
    run_id = world.ids.run_id()
    world.store.commit(
        (AddMessages(conversation, (message,)), AppendEvents(Run(run_id).after(started), 0, (started,))),
    )
    return chat, conversation


def overdue(world: World) -> Made:
    """The same, with workers long overdue: upkeep's concern, not a message's."""
    made = queued(world)
    world.clock.advance(LEASE)
    return made


def running(world: World) -> Made:
    """A run that another process drives."""
    chat = world.chat(WorkerDied())
    conversation = chat.open(ANNA)
    world.dies(lambda: chat.send("Lege eine Seite an.", ANNA, conversation=conversation))
    return next_chat(world), conversation


def running_expired(world: World) -> Made:
    """A run whose process is gone."""
    made = running(world)
    world.clock.advance(LEASE)
    return made


def running_decided(world: World) -> Made:
    """Approved outside; another process drives it."""
    _, sent = world.waiting(WorkerDied())
    other = world.chat(WorkerDied())
    world.dies(lambda: other.runtime.decide(sent.run_id, "approve", digest=digest_of(world, sent.run_id), by=DORA))
    return next_chat(world), sent.conversation


def running_decided_expired(world: World) -> Made:
    """Approved outside; the process that carried it out is gone."""
    made = running_decided(world)
    world.clock.advance(LEASE)
    return made


def completed(world: World) -> Made:
    """Answered."""
    sent = world.chat("Hallo.").send("Hallo", ANNA)
    return next_chat(world), sent.conversation


def approved_here(world: World) -> Made:
    """Approved on the card of the chat, answered."""
    chat, sent = world.waiting("Angelegt.")
    chat.decide(sent.conversation, "approve", card=digest_of(world, sent.run_id), by=ANNA)
    return next_chat(world), sent.conversation


def denied_here(world: World) -> Made:
    """Denied on the card of the chat, answered."""
    chat, sent = world.waiting("Dann nicht.")
    chat.decide(sent.conversation, "deny", card=digest_of(world, sent.run_id), by=ANNA)
    return next_chat(world), sent.conversation


def failed(world: World) -> Made:
    """The model could not be asked."""
    sent = world.chat(ProviderError("down")).send("Hallo", ANNA)
    assert sent.status is RunStatus.FAILED
    return next_chat(world), sent.conversation


def cancelled_here(world: World) -> Made:
    """Cancelled in the chat."""
    chat, sent = world.waiting()
    chat.cancel(sent.conversation, ANNA)
    return next_chat(world), sent.conversation


def approved_outside(world: World) -> Made:
    """Approved in an inbox, answered there."""
    chat, sent = world.waiting("Angelegt.")
    chat.runtime.decide(sent.run_id, "approve", digest=digest_of(world, sent.run_id), by=DORA)
    return next_chat(world), sent.conversation


def denied_outside(world: World) -> Made:
    """Denied in an inbox, answered there."""
    chat, sent = world.waiting("Dann nicht.")
    chat.runtime.decide(sent.run_id, "deny", digest=digest_of(world, sent.run_id), by=DORA)
    return next_chat(world), sent.conversation


def failed_outside(world: World) -> Made:
    """Approved in an inbox, carried out, and then the model could not be asked."""
    chat, sent = world.waiting(ProviderError("down"))
    chat.runtime.decide(sent.run_id, "approve", digest=digest_of(world, sent.run_id), by=DORA)
    return next_chat(world), sent.conversation


def cancelled_outside(world: World) -> Made:
    """Cancelled by whoever looks after runs."""
    chat, sent = world.waiting()
    chat.runtime.cancel(sent.run_id, ANNA)
    return next_chat(world), sent.conversation


def expiring(world: World) -> tuple[Made, str]:
    """A card whose time is over, and nobody has seen that yet."""
    rules = {"approval_expiry": 60.0}
    _, sent = world.waiting(rules=rules)
    world.clock.advance(61.0)
    assert sent.run_id is not None
    return (world.chat(rules=rules, model_options={"otherwise": "Gut."}), sent.conversation), sent.run_id


def expired(world: World) -> Made:
    """A card whose time is over; the message sees it first."""
    made, _ = expiring(world)
    return made


def expired_in_view(world: World) -> Made:
    """A card whose time is over; a look at the conversation saw it first."""
    made, _ = expiring(world)
    made[0].view(made[1], ANNA)
    return made


def expired_in_inbox(world: World) -> Made:
    """A card whose time is over; an inbox saw it first."""
    made, _ = expiring(world)
    assert made[0].runtime.inbox(DORA) == ()
    return made


def expired_in_upkeep(world: World) -> Made:
    """A card whose time is over; upkeep saw it first."""
    made, run_id = expiring(world)
    assert made[0].upkeep().expired == (run_id,)
    return made


def recovered_in_upkeep(world: World) -> Made:
    """A run whose process died; upkeep drove it to its answer."""
    _, conversation = running_expired(world)
    world.chat("Fertig.").upkeep()
    return next_chat(world), conversation


def given_up_in_upkeep(world: World) -> Made:
    """A run that upkeep could not recover."""
    _, conversation = running_expired(world)
    world.damage(world.runs()[-1])
    report = next_chat(world).upkeep()
    assert report.failed == (world.runs()[-1],)
    return next_chat(world), conversation


def unreadable_waiting(world: World) -> Made:
    """A waiting run whose stream is damaged."""
    made = waiting(world)
    world.damage(world.runs()[-1])
    return made


def unreadable_expired(world: World) -> Made:
    """A run without a process and with a damaged stream."""
    made = running_expired(world)
    world.damage(world.runs()[-1])
    return made


class _Nothing:
    """A resolver that has nothing for anybody."""

    def resolve(self, conversation: str | None, owner: str) -> None:
        """Nothing."""


_nothing = _Nothing()
