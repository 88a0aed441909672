"""
Models of OpenAI, and of every server that speaks its chat completions protocol.
"""

from collections.abc import Mapping
from typing import Any

import httpx2
import openai

from nr_agent_core.adapters.model_access.answer_reading import InBandError
from nr_agent_core.adapters.model_access.clients import arguments_of, made_with
from nr_agent_core.adapters.model_access.failure_table import Refused, refused, retry_after
from nr_agent_core.adapters.model_access.server_model import ApiKey, ServerModel
from nr_agent_core.adapters.openai import questions
from nr_agent_core.adapters.openai.answers import Reading
from nr_agent_core.adapters.openai.echo import Echo
from nr_agent_core.adapters.openai.failures import FAILURES
from nr_agent_core.domain.model_dialogue import ModelRequest
from nr_agent_core.ports.model_provider import MODEL_DEADLINE


class OpenAIModel(ServerModel):
    """
    A model asked over chat completions: at once, as a stream, and both from an event loop.

    Nothing is asked twice by itself; :class:`~nr_agent_core.adapters.retrying_model.RetryingModel`
    does that. No redirect is followed.

    Args:
        model: the name under which the server knows it.

        api_key: the key; None takes ``OPENAI_API_KEY``, when *base_url* is None too, and sends none
            otherwise. A function is called whenever a question is asked.

        base_url: a compatible server, such as ``http://127.0.0.1:8080/v1``.

        provider: what the run's facts and failures call the provider.

        context_window: tokens that the model takes; None when unknown (R11).

        output_limit: the most tokens of an answer; None leaves it to the server.

        deadline: seconds that a question may take, up to the end of its answer (R8).

        options: further fields of the request, such as ``{"temperature": 0}``; None takes one away.

    Raises:
        InvalidValueError: a value that cannot be meant. A missing key is none of these: it is
            found when a question is asked, before anything is sent (F1).
    """

    own_address = "https://api.openai.com/v1"
    key_variable = "OPENAI_API_KEY"
    headers_variable = "OPENAI_CUSTOM_HEADERS"
    failures = FAILURES

    def __init__(
        self,
        model: str,
        *,
        api_key: ApiKey = None,
        base_url: str | None = None,
        provider: str = "openai",
        context_window: int | None = None,
        output_limit: int | None = None,
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
        return openai.OpenAI(**self._wiring(key, connections))

    def _made_async(self, key: str, connections: httpx2.AsyncClient) -> Any:
        return openai.AsyncOpenAI(**self._wiring(key, connections))

    def _wiring(self, key: str, connections: httpx2.Client | httpx2.AsyncClient) -> dict[str, Any]:
        return made_with(
            key, self._address, connections, self._headers(key, openai.Omit(), "OpenAI-Organization", "OpenAI-Project")
        )

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": questions.messages(request, Echo(self._provider, self._model)),
        }
        if request.tools:
            body["tools"] = questions.tools(request.tools)
        if self._output_limit is not None:
            # Compatible servers know the older name; OpenAI's own newer models only the newer one.
            own = self._address == self.own_address
            body["max_completion_tokens" if own else "max_tokens"] = self._output_limit
        return self.options_over(body)

    def _ask(self, client: Any, body: dict[str, Any]) -> Any:
        return client.chat.completions.with_raw_response.create(**arguments_of(body, _NAMED))

    def _ask_streaming(self, client: Any, body: dict[str, Any]) -> Any:
        wanted = {} if "stream_options" in self._options else {"stream_options": {"include_usage": True}}
        return client.chat.completions.create(**arguments_of({**wanted, **body}, _NAMED), stream=True)

    def _assembly(self) -> Reading:
        return Reading(self._provider, self._model)

    def _refused(self, error: BaseException) -> Refused | None:
        match error:
            case openai.APIStatusError():
                return refused(error.body, error.status_code, retry_after(error.response.headers), _codes)
            case openai.APIConnectionError() | openai.APIResponseValidationError():
                return None
            case openai.APIError() | InBandError():
                return refused(error.body, None, None, _codes)
        return None


_NAMED = frozenset(("model", "messages", "tools"))


def _codes(found: dict[str, Any]) -> tuple[object, ...]:
    return found.get("code"), found.get("type")
