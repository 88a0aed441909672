"""
The scripted model, held to the contracts of providers.
"""

from collections.abc import Callable

import pytest

from nr_agent_core import FailureClass, ModelAnswer, ProviderError
from nr_agent_core.testing import Cut, ScriptedModel
from nr_agent_core.testing.contracts import AsyncModelProviderContract, ModelProviderContract


class _Scripted:
    @pytest.fixture
    def answering(self) -> Callable[[ModelAnswer], ScriptedModel]:
        """Always gives the answer."""
        return lambda answer: ScriptedModel(otherwise=answer)

    @pytest.fixture
    def failing(self) -> Callable[[FailureClass], ScriptedModel]:
        """Always fails."""
        return lambda failure_class: ScriptedModel(otherwise=ProviderError("it fails", failure_class))

    @pytest.fixture
    def cutting(self) -> Callable[[str], ScriptedModel]:
        """Always breaks off."""
        return lambda text: ScriptedModel(otherwise=Cut(text))


class TestScriptedModel(_Scripted, ModelProviderContract):
    """Asked at once and as a stream."""

    def test_one_that_cannot_stream_says_so(self) -> None:
        """Its stream is None, and no answer of the script is used up."""
        model = ScriptedModel("Hello.", streams=False)

        assert self.stream(model) is None
        assert self.complete(model).text == "Hello."


class TestScriptedModelInALoop(_Scripted, AsyncModelProviderContract):
    """The same from an event loop."""
