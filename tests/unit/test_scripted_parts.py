"""
The scripted model, the manual clock and the sequential ids.
"""

import json

import pytest

from nr_agent_core.domain.errors import FailureClass, ProviderError
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelRequest
from nr_agent_core.testing.manual_clock import ManualClock
from nr_agent_core.testing.scripted_model import ScriptedModel, ScriptUsedUpError, call, round_of
from nr_agent_core.testing.sequential_ids import SequentialIds

REQUEST = ModelRequest("system", ())


def test_a_script_is_answered_in_order_and_requests_are_kept() -> None:
    """Texts, whole answers and functions of the request, one after the other."""
    whole = ModelAnswer("whole", model="m", finish_reason="stop")
    model = ScriptedModel("text", whole, lambda request: request.system.upper(), lambda request: whole)
    requests = [ModelRequest(f"s{number}", ()) for number in range(4)]

    answers = [model.complete(request) for request in requests]

    assert [answer.text for answer in answers] == ["text", "whole", "S2", "whole"]
    assert answers[1] is whole
    assert model.requests == requests


def test_an_exception_of_the_script_rises_and_counts_as_an_answer() -> None:
    """A failing model is scripted like any other answer."""
    error = ProviderError("away", FailureClass.CONNECTION)
    model = ScriptedModel(error, lambda request: error, "back")

    for _ in range(2):
        with pytest.raises(ProviderError) as caught:
            model.complete(REQUEST)
        assert caught.value is error
    assert model.complete(REQUEST).text == "back"


def test_a_used_up_script_says_so() -> None:
    """One request too many is an error that names the numbers."""
    model = ScriptedModel("only")
    model.complete(REQUEST)

    with pytest.raises(ScriptUsedUpError, match="script of 1 answers is used up; request 2"):
        model.complete(REQUEST)


def test_a_script_may_go_on_for_ever() -> None:
    """Once used up, ``otherwise`` answers."""
    model = ScriptedModel("first", otherwise="again")

    assert [model.complete(REQUEST).text for _ in range(4)] == ["first", "again", "again", "again"]


def test_calls_are_written_as_a_model_writes_them() -> None:
    """Arguments are JSON text, calls keep their order, text stands beside them."""
    answer = round_of(call("find", name="Ärger"), call("save", count=2, tags=["a"]), text="One moment.")

    assert [made.name for made in answer.calls] == ["find", "save"]
    assert [json.loads(made.arguments) for made in answer.calls] == [{"name": "Ärger"}, {"count": 2, "tags": ["a"]}]
    assert "Ärger" in answer.calls[0].arguments
    assert answer.text == "One moment."
    assert round_of() == ModelAnswer()


def test_an_argument_may_be_called_name() -> None:
    """The tool's name is positional only."""
    assert json.loads(call("find", name="x").calls[0].arguments) == {"name": "x"}


def test_the_clock_stands_until_it_is_told_to_go_on() -> None:
    """Time passes by command, forward and back."""
    clock = ManualClock(100)
    times = [clock.now(), clock.now()]
    clock.advance(30.5)
    times.append(clock.now())
    clock.advance(-10)
    times.append(clock.now())

    assert times == [100.0, 100.0, 130.5, 120.5]


def test_ids_can_be_foreseen() -> None:
    """Each kind counts for itself."""
    ids = SequentialIds()

    assert [ids.run_id(), ids.segment_token(), ids.run_id(), ids.conversation_id()] == [
        "run-0001",
        "segment-0001",
        "run-0002",
        "conversation-0001",
    ]
