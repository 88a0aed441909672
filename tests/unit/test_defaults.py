"""
Clock, ids, access and the silent bus: what a chat gets when its host wires nothing.
"""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.defaults.access import RoleAccess
from nr_agent_core.defaults.clock import SystemClock
from nr_agent_core.defaults.id_source import RandomIds
from nr_agent_core.defaults.silent_bus import SilentBus
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.provenance import AiRecordWritten
from nr_agent_core.domain.tool_result import RecordReference, WriteKind
from nr_agent_core.ports.access_policy import Action, Subject

SUBJECT = Subject("owner", conversation="c", run_id="r")


def test_the_clock_tells_the_machines_time() -> None:
    """Seconds since the epoch, as the machine counts them."""
    before = time.time()

    assert before <= SystemClock().now() <= time.time()


def test_ids_have_their_form_and_never_repeat() -> None:
    """Run and conversation ids are 32 lower hexadecimal characters, tokens 16 (R6)."""
    ids = RandomIds()
    runs = [ids.run_id() for _ in range(2000)] + [ids.conversation_id() for _ in range(2000)]
    tokens = [ids.segment_token() for _ in range(2000)]

    assert all(re.fullmatch(r"[0-9a-f]{32}", name) for name in runs)
    assert all(re.fullmatch(r"[0-9a-f]{16}", token) for token in tokens)
    assert len(set(runs)) == len(runs)
    assert len(set(tokens)) == len(tokens)


def test_later_ids_sort_behind_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The milliseconds stand in front."""
    made = []
    for millisecond in (0, 1, 255, 256, 1_700_000_000_000, 1_700_000_000_001, 2**47):
        monkeypatch.setattr("nr_agent_core.defaults.id_source.time.time_ns", lambda at=millisecond: at * 1_000_000)
        made.append(RandomIds().run_id())

    assert made == sorted(made)


def test_the_silent_bus_drops_events_and_refuses_listeners() -> None:
    """A listener that would never hear is refused, not forgotten."""
    bus = SilentBus()
    bus.announce(AiRecordWritten("run-1", RecordReference("pages", 1), WriteKind.CREATED))

    with pytest.raises(InvalidValueError, match="wire a bus"):
        bus.subscribe(print)


# Rows: who asks; columns: see, send, decide, cancel, read a preview.
RIGHTS = {
    "owner": (True, True, False, True, True),
    "administrator": (True, False, True, True, True),
    "decider": (False, False, True, False, True),
    "stranger": (False, False, False, False, False),
}


@pytest.mark.parametrize("actor", RIGHTS)
@pytest.mark.parametrize("as_function", [False, True])
def test_the_default_rights(actor: str, as_function: bool) -> None:
    """Every cell of the default policy, with ids and with functions (O4)."""
    access = RoleAccess(
        administrators=(lambda who: who == "administrator") if as_function else ["administrator"],
        deciders=(lambda who: who == "decider") if as_function else {"decider"},
    )
    actions = (Action.SEE, Action.SEND, Action.DECIDE, Action.CANCEL, Action.READ_PREVIEW)

    assert tuple(access.may(actor, action, SUBJECT) for action in actions) == RIGHTS[actor]
    assert access.is_administrator(actor) is (actor == "administrator")


@pytest.mark.parametrize("role", ["administrators", "deciders"])
def test_a_role_decides_own_runs_too(role: str) -> None:
    """Owning neither gives nor takes the right to decide (O4)."""
    assert RoleAccess(**{role: ["owner"]}).may("owner", Action.DECIDE, SUBJECT)


def test_one_argument_lets_owners_decide_their_own_runs_and_no_others() -> None:
    """``owner_decides`` is about own runs (O4)."""
    access = RoleAccess(owner_decides=True)

    assert access.may("owner", Action.DECIDE, SUBJECT)
    assert not access.may("stranger", Action.DECIDE, SUBJECT)
    assert not access.is_administrator("owner")


@given(st.sampled_from(list(Action)), st.text(max_size=3), st.text(max_size=3))
def test_without_roles_only_owning_counts(action: Action, actor: str, owner: str) -> None:
    """Nobody is anything by accident: ids are compared exactly (O4)."""
    allowed = RoleAccess().may(actor, action, Subject(owner))

    assert allowed is (actor == owner and action is not Action.DECIDE)


def test_a_role_is_asked_at_the_moment() -> None:
    """Who is taken out of the collection, or of what the function reads, loses the role at once (O4)."""
    members = {"ben"}
    access = RoleAccess(deciders=members)
    before = access.may("ben", Action.DECIDE, SUBJECT)
    members.clear()

    assert before
    assert not access.may("ben", Action.DECIDE, SUBJECT)


@pytest.mark.parametrize("members", ["anna", iter(["anna"]), None, 7])
def test_what_is_no_collection_of_ids_is_refused(members: object) -> None:
    """One text would make an administrator of each of its characters."""
    with pytest.raises(InvalidValueError, match="administrators"):
        RoleAccess(administrators=members)  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [None, 1, "yes", object()])
def test_only_true_and_false_are_answers(answer: object) -> None:
    """An answer that merely counts as true, a coroutine for instance, gives nobody a role (O4)."""
    access = RoleAccess(administrators=lambda who: answer)  # type: ignore[arg-type,return-value]

    with pytest.raises(InvalidValueError, match="True or False"):
        access.is_administrator("anna")


def test_a_function_that_raises_is_heard() -> None:
    """The exception rises to the host; no role is assumed."""

    def broken(who: str) -> bool:
        raise ConnectionError("directory is away")

    with pytest.raises(ConnectionError):
        RoleAccess(deciders=broken).may("anna", Action.DECIDE, SUBJECT)


def test_it_is_known_when_nobody_can_decide() -> None:
    """The start-up warning is for the certain case only: a function may name somebody."""
    assert RoleAccess().nobody_decides
    assert not RoleAccess(owner_decides=True).nobody_decides
    assert not RoleAccess(administrators=["a"]).nobody_decides
    assert not RoleAccess(deciders=lambda who: False).nobody_decides
