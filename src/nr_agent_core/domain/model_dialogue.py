"""
What is said to a model and what it answers, in the library's own words: no SDK type reaches the core.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from nr_agent_core.domain.value import Value


@attrs.frozen(repr=False, eq=False)
class ModelCall(Value):
    """
    A call the model asked for. ``id`` is the provider's, only echoed; ``arguments`` is JSON text as given.
    """

    name: str
    arguments: str = "{}"
    id: str | None = None


@attrs.frozen(repr=False, eq=False)
class ModelMessage(Value):
    """
    One message of the dialogue: role ``user``, ``assistant`` or ``tool``.

    An assistant's message may carry calls; a tool's message answers the call ``call_id``.
    ``provider_data`` is opaque JSON that the provider gave with an answer of this run.
    """

    role: str
    text: str
    calls: tuple[ModelCall, ...] = ()
    call_id: str | None = None
    provider_data: str | None = None


@attrs.frozen(repr=False, eq=False)
class OfferedTool(Value):
    """
    A tool as the model sees it.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@attrs.frozen(repr=False, eq=False)
class ModelRequest(Value):
    """
    One question to a model. Without tools the model must answer in text.
    """

    system: str
    messages: tuple[ModelMessage, ...]
    tools: tuple[OfferedTool, ...] = ()


@attrs.frozen(repr=False, eq=False)
class ModelAnswer(Value):
    """
    What a model answered: text, calls, or both; and the facts that the provider reported.
    """

    text: str = ""
    calls: tuple[ModelCall, ...] = ()
    provider: str = ""
    model: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    finish_reason: str | None = None
    provider_data: str | None = None
