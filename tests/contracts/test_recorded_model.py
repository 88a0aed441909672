"""
A recorded model keeps the promises of a provider, while it records and when it replays.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from nr_agent_core import FailureClass, ModelAnswer, ModelMessage, ModelRequest, ProviderError
from nr_agent_core.testing import Cut, RecordedModel, ScriptedModel
from nr_agent_core.testing.contracts import AsyncModelProviderContract, ModelProviderContract, model_provider
from nr_agent_core.testing.scripted_model import Scripted

QUESTION = model_provider._REQUEST
PLAIN = ModelRequest("", (ModelMessage("user", "Hello?"),))


class _Recording:
    @pytest.fixture
    def provider(self, tmp_path: Path) -> Callable[[Scripted], Any]:
        """A model that records what another one says."""
        return lambda said: RecordedModel(tmp_path / "it.json", ScriptedModel(otherwise=said), mode="record")

    @pytest.fixture
    def answering(self, provider: Callable[[Scripted], Any]) -> Callable[[ModelAnswer], Any]:
        """It always says this."""
        return provider

    @pytest.fixture
    def failing(self, provider: Callable[[Scripted], Any]) -> Callable[[FailureClass], Any]:
        """It always fails so."""
        return lambda failure_class: provider(ProviderError("it failed", failure_class))

    @pytest.fixture
    def cutting(self, provider: Callable[[Scripted], Any]) -> Callable[[str], Any]:
        """Its streams always break off."""
        return lambda text: provider(Cut(text))


class _Replaying(_Recording):
    @pytest.fixture
    def provider(self, tmp_path: Path) -> Callable[[Scripted], Any]:
        """A model that replays what another one said: a stream, two answers, and one to another question."""

        def made(said: Scripted) -> RecordedModel:
            recording = RecordedModel(tmp_path / "it.json", ScriptedModel(otherwise=said), mode="record")
            with suppress(ProviderError):
                list(recording.stream(QUESTION) or ())
            for question in (QUESTION, QUESTION, PLAIN):
                with suppress(ProviderError):
                    recording.complete(question)
            return RecordedModel(tmp_path / "it.json")

        return made


class TestRecording(_Recording, ModelProviderContract):
    """Asked at once and as a stream."""


class TestRecordingInALoop(_Recording, AsyncModelProviderContract):
    """The same from an event loop."""


class TestReplaying(_Replaying, ModelProviderContract):
    """Without anybody to ask."""


class TestReplayingInALoop(_Replaying, AsyncModelProviderContract):
    """The same from an event loop."""


def test_the_suite_streams_what_it_replays(tmp_path: Path) -> None:
    """No test of a stream is left out because there was none."""
    recording = RecordedModel(tmp_path / "it.json", ScriptedModel("Hello there."), mode="record")
    list(recording.stream(PLAIN) or ())

    async def read() -> list[Any]:
        pieces = RecordedModel(tmp_path / "it.json").stream_async(PLAIN)
        assert pieces is not None
        return [piece async for piece in pieces]

    *told, answer = asyncio.run(read())
    assert told == ["Hello", " there."]
    assert answer.text == "Hello there."
