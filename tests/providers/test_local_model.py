"""
A real model on this machine, where its packages are installed. Nothing is asserted on its wording.
"""

import importlib.util

import pytest

from examples import local_model
from nr_agent_core import Chat, Reader, TextDelta, TurnCompleted, TurnFailed
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.adapters.openai import OpenAIModel
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.run_events import ModelAnswered

LACKING = [name for name in local_model.NEEDED if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(LACKING), reason=f"not installed: {', '.join(LACKING)}; make demo-local installs them"),
]


def test_a_model_that_knows_no_tools_has_written_nothing() -> None:
    """Asked to change a page it talks; the run's own facts say what happened. Too long a question is known for it."""
    server = local_model.local_server()
    model = OpenAIModel(
        "smollm2", base_url=f"{server.listening_address}/v1", provider="llama.cpp", context_window=4096, output_limit=40
    )
    anna, store = Reader("anna"), MemoryStore()
    chat = Chat(store=store, model=model, tools=[local_model.rename_page])

    told = list(chat.stream("Rename page 7 to 'Us'.", anna))

    assert isinstance(told[-1], TurnCompleted)
    assert "".join(event.text for event in told if isinstance(event, TextDelta)) == told[-1].text
    assert list(chat.runtime.writes()) == []
    answered = [stored.event for stored in chat.runtime.events(told[-1].run_id, anna)]
    (fact,) = [event for event in answered if isinstance(event, ModelAnswered)]
    assert fact.provider == "llama.cpp"
    assert fact.input_tokens
    assert fact.output_tokens

    # The model believes in a window that its server has not.
    wide = OpenAIModel("smollm2", base_url=f"{server.listening_address}/v1", context_window=100_000)
    failed = list(Chat(store=MemoryStore(), model=wide, tools=[]).stream("word " * 6000, anna))[-1]
    assert isinstance(failed, TurnFailed)
    assert failed.code is FailureCode.CONTEXT_TOO_LONG
    model.close()
    wide.close()
