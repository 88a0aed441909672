"""
Models of Anthropic, and of servers that speak its messages protocol.
"""

from collections.abc import Mapping
from typing import Any

import anthropic
import httpx2

from nr_agent_core.adapters.anthropic import questions
from nr_agent_core.adapters.anthropic.answers import Reading
from nr_agent_core.adapters.anthropic.echo import Echo
from nr_agent_core.adapters.anthropic.failures import FAILURES
from nr_agent_core.adapters.model_access.answer_reading import InBandError
from nr_agent_core.adapters.model_access.clients import arguments_of, made_with
from nr_agent_core.adapters.model_access.failure_table import Refused, refused, retry_after
from nr_agent_core.adapters.model_access.server_model import ApiKey, ServerModel
from nr_agent_core.domain.model_dialogue import ModelRequest
from nr_agent_core.ports.model_provider import MODEL_DEADLINE


class AnthropicModel(ServerModel):
    """
    A model asked over the messages protocol: at once, as a stream, and both from an event loop.

    Nothing is asked twice by itself; :class:`~nr_agent_core.adapters.retrying_model.RetryingModel`
    does that. No redirect is followed. Blocks of the model's thinking are given back to it within
    the run.

    Args:
        model: the name under which the server knows it.

        api_key: the key; None takes ``ANTHROPIC_API_KEY``, when *base_url* is None too, and sends
            none otherwise. A function is called whenever a question is asked.

        base_url: a compatible server.

        provider: what the run's facts and failures call the provider.

        context_window: tokens that the model takes; None when unknown (R11).

        output_limit: the most tokens of an answer. This protocol demands one.

        deadline: seconds that a question may take, up to the end of its answer (R8).

        options: further fields of the request, such as ``{"temperature": 0}``; None takes one away.

    Raises:
        InvalidValueError: a value that cannot be meant. A missing key is none of these: it is
            found when a question is asked, before anything is sent (F1).
    """

    own_address = "https://api.anthropic.com"
    key_variable = "ANTHROPIC_API_KEY"
    headers_variable = "ANTHROPIC_CUSTOM_HEADERS"
    failures = FAILURES

    def __init__(
        self,
        model: str,
        *,
        api_key: ApiKey = None,
        base_url: str | None = None,
        provider: str = "anthropic",
        context_window: int | None = None,
        output_limit: int = 4096,
        deadline: float = MODEL_DEADLINE,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            model,
            api_key=api_key,
            base_url=base_url,
            provider=provider,
            context_window=context_window,
            output_limit=output_limit,
            deadline=deadline,
            options=options,
        )

    def _made(self, key: str, connections: httpx2.Client) -> Any:
        return anthropic.Anthropic(**self._wiring(key, connections))

    def _made_async(self, key: str, connections: httpx2.AsyncClient) -> Any:
        return anthropic.AsyncAnthropic(**self._wiring(key, connections))

    def _wiring(self, key: str, connections: httpx2.Client | httpx2.AsyncClient) -> dict[str, Any]:
        return {
            **made_with(key, self._address, connections, self._headers(key, anthropic.Omit())),
            "open_telemetry": False,
        }

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": self._output_limit,
            "messages": questions.messages(request, Echo(self._provider, self._model)),
            **questions.tools(request),
        }
        if request.system.strip():
            body["system"] = request.system
        return self.options_over(body)

    def _ask(self, client: Any, body: dict[str, Any]) -> Any:
        return client.messages.with_raw_response.create(**arguments_of(body, _NAMED))

    def _ask_streaming(self, client: Any, body: dict[str, Any]) -> Any:
        return client.messages.create(**arguments_of(body, _NAMED), stream=True)

    def _assembly(self) -> Reading:
        return Reading(self._provider, self._model)

    def _refused(self, error: BaseException) -> Refused | None:
        match error:
            case anthropic.APIStatusError():
                # An error event in a stream comes under the status of the stream.
                status = error.status_code if error.status_code >= 300 else None
                return refused(error.body, status, retry_after(error.response.headers), _codes)
            case InBandError():
                return refused(error.body, None, None, _codes)
        return None


_NAMED = frozenset(("model", "messages", "tools", "max_tokens", "system", "tool_choice"))


def _codes(found: dict[str, Any]) -> tuple[object, ...]:
    details = found.get("details")
    return found.get("type"), details.get("error_code") if isinstance(details, dict) else None
