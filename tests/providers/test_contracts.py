"""
The models of OpenAI and Anthropic, held to the contracts of providers, over real HTTP and the real SDKs.
"""

from collections.abc import Callable
from typing import Any

import pytest

from nr_agent_core import FailureClass, ModelAnswer
from nr_agent_core.testing.contracts import AsyncModelProviderContract, ModelProviderContract
from tests.providers.loopback import Loopback
from tests.providers.wires import AnthropicWire, OpenAIWire, Wire


class _OverLoopback:
    wire: Wire
    failure_classes = tuple(set(FailureClass) - {FailureClass.UNKNOWN})

    @pytest.fixture
    def answering(self, server: Loopback) -> Callable[[ModelAnswer], Any]:
        """The server always gives the answer."""

        def made(answer: ModelAnswer) -> Any:
            server.answering = lambda asked: self.wire.answer(answer, asked)
            return self.wire.model(server)

        return made

    @pytest.fixture
    def failing(self, server: Loopback) -> Callable[[FailureClass], Any]:
        """The server always fails."""

        def made(failure_class: FailureClass) -> Any:
            server.answering = lambda asked: self.wire.failure(failure_class, asked)
            return self.wire.model(server)

        return made

    @pytest.fixture
    def cutting(self, server: Loopback) -> Callable[[str], Any]:
        """The server's stream always ends behind the text."""
        return lambda text: self.wire.model(server.always(self.wire.broken_off(text)))


class TestOpenAIModel(_OverLoopback, ModelProviderContract):
    """Asked at once and as a stream."""

    wire = OpenAIWire()


class TestOpenAIModelInALoop(_OverLoopback, AsyncModelProviderContract):
    """The same from an event loop."""

    wire = OpenAIWire()


class TestAnthropicModel(_OverLoopback, ModelProviderContract):
    """Asked at once and as a stream."""

    wire = AnthropicWire()


class TestAnthropicModelInALoop(_OverLoopback, AsyncModelProviderContract):
    """The same from an event loop."""

    wire = AnthropicWire()
