"""
A model behind an HTTP server: the four ways to ask it, whatever its server speaks.

Rule 1: what rises is a ProviderError made here. The SDK's own error holds the request, and with it
the key; it is read and dropped, never chained (P9).
Rule 2: an environment's key belongs to the provider's own address. Another server gets a key only
when one is given for it.
"""

import json
import math
import os
import re
import traceback
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeAlias

import httpx2

from nr_agent_core.adapters.model_access import wire_form
from nr_agent_core.adapters.model_access.bounded_http import TooLargeError
from nr_agent_core.adapters.model_access.clients import Clients
from nr_agent_core.adapters.model_access.failure_table import Refused, Sign, class_of, without_key
from nr_agent_core.adapters.model_access.wire_form import GarbledError
from nr_agent_core.domain.errors import FailureClass, InvalidValueError, ProviderError
from nr_agent_core.domain.failures import chain
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelRequest
from nr_agent_core.ports.model_provider import MODEL_DEADLINE, Streamed

ApiKey: TypeAlias = str | Callable[[], str] | None
"""A key, a function that brings the one in force whenever a question is asked, or None."""

NO_KEY = "none"
"""What a server without keys is sent, as the SDKs insist on one."""

_KEY = re.compile(r"[\x21-\x7e]+")
_ADDRESS = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?")


class Assembly(Protocol):
    """
    One answer as it is read: at once, or as its stream brings it.
    """

    def document(self, found: dict[str, Any]) -> ModelAnswer:
        """
        The answer that a whole document holds.

        Raises:
            GarbledError: it holds none.
            ProviderError: the model refused.
        """
        ...

    def take(self, event: dict[str, Any]) -> str:
        """The text that can be told now; empty when there is none."""
        ...

    def rest(self) -> str:
        """The text that was still waiting when the stream ended."""
        ...

    def answer(self) -> ModelAnswer:
        """
        The whole answer.

        Raises:
            ProviderError: the stream ended before its end mark, or the model refused.
        """
        ...


class ServerModel(ABC):
    """
    What the adapters of model servers have in common; each says how its server is spoken to.

    Args:
        model: the name under which the server knows it.

        api_key: the key; None takes the environment's, when *base_url* is None too, and sends none
            otherwise. A function is called whenever a question is asked.

        base_url: another server than the provider's own.

        provider: what the run's facts and failures call the provider.

        context_window: tokens that the model takes; None when unknown (R11).

        output_limit: the most tokens of an answer.

        deadline: seconds that a question may take, up to the end of its answer (R8).

        options: further fields of the request, such as a temperature; None takes a field away.

    Raises:
        InvalidValueError: a value that cannot be meant. A missing key is none of these: it is
            found when a question is asked, before anything is sent (F1).
    """

    own_address: ClassVar[str]
    key_variable: ClassVar[str]
    headers_variable: ClassVar[str]
    failures: ClassVar[Sequence[Sign]]

    def __init__(
        self,
        model: str,
        *,
        api_key: ApiKey = None,
        base_url: str | None = None,
        provider: str,
        context_window: int | None = None,
        output_limit: int | None = None,
        deadline: float = MODEL_DEADLINE,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        kind = type(self).__name__
        _check_text(f"the model of {kind}", model)
        _check_text(f"the provider of {kind}", provider)
        _check_address(f"the base_url of {kind}", base_url)
        for name, limit in (("context_window", context_window), ("output_limit", output_limit)):
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
                raise InvalidValueError(f"{name} of {kind}", limit, "tokens from 1, or None")
        if isinstance(deadline, bool) or not isinstance(deadline, int | float) or not 0 < deadline < math.inf:
            raise InvalidValueError(f"the deadline of {kind}", deadline, "seconds above 0")
        self._model, self._provider = model, provider
        self._context_window, self._output_limit = context_window, output_limit
        self._deadline, self._options = deadline, dict(options or {})
        self._address, self._keyed = base_url or self.own_address, base_url is None or api_key is not None
        self._given_key = _giver(api_key, self.key_variable if base_url is None else None)
        self._clients = Clients(deadline, self._made, self._made_async)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._model!r})"

    @property
    def context_window(self) -> int | None:
        """What it was made with."""
        return self._context_window

    @property
    def output_limit(self) -> int | None:
        """The most tokens that an answer is asked to have."""
        return self._output_limit

    # -- what each server has of its own ------------------------------------------------------

    @abstractmethod
    def _made(self, key: str, connections: httpx2.Client) -> Any:
        """The SDK's client."""

    @abstractmethod
    def _made_async(self, key: str, connections: httpx2.AsyncClient) -> Any:
        """The SDK's asynchronous client."""

    @abstractmethod
    def _body(self, request: ModelRequest) -> dict[str, Any]:
        """The request as the server wants it."""

    @abstractmethod
    def _ask(self, client: Any, body: dict[str, Any]) -> Any:
        """The SDK's raw response, or what is awaited for it."""

    @abstractmethod
    def _ask_streaming(self, client: Any, body: dict[str, Any]) -> Any:
        """The SDK's stream, or what is awaited for it."""

    @abstractmethod
    def _assembly(self) -> Assembly:
        """An answer that is about to be read."""

    @abstractmethod
    def _refused(self, error: BaseException) -> Refused | None:
        """What the server said, if *error* is the SDK's word for it."""

    # -- the four ways ------------------------------------------------------------------------

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """
        The model's whole answer.

        Raises:
            ProviderError: the server could not be asked, or gave no answer (R10).
        """
        key, body = self._key(), self._body(request)
        try:
            response = self._ask(self._clients.of_process(key), body)
            return self._assembly().document(wire_form.document(response.http_response.content))
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is told as a failure
            failure = self._failure(error, key)
        raise failure

    async def complete_async(self, request: ModelRequest) -> ModelAnswer:
        """
        The asynchronous twin of :meth:`complete`.
        """
        key, body = self._key(), self._body(request)
        try:
            response = await self._ask(await self._clients.of_loop(key), body)
            return self._assembly().document(wire_form.document(response.http_response.content))
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is told as a failure
            failure = self._failure(error, key)
        raise failure

    def stream(self, request: ModelRequest) -> Iterator[Streamed]:
        """
        The answer's text as it comes, and last of all the whole answer.

        Raises:
            ProviderError: as in :meth:`complete`, while the stream is read; also when it breaks off
                before its end mark, whatever was read of it.
        """
        key, body = self._key(), self._body(request)
        failure: ProviderError | None = None
        try:
            events = self._ask_streaming(self._clients.of_process(key), body)
            try:
                if _is_document(events.response):
                    yield from _told(self._assembly().document(wire_form.document(events.response.read())))
                    return
                assembly = self._assembly()
                for event in events:
                    if piece := assembly.take(_plain(event)):
                        yield piece
                yield from _ended(assembly)
            finally:
                events.close()
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is told as a failure
            failure = self._failure(error, key)
        if failure is not None:
            raise failure

    async def stream_async(self, request: ModelRequest) -> AsyncIterator[Streamed]:
        """
        The asynchronous twin of :meth:`stream`.
        """
        key, body = self._key(), self._body(request)
        failure: ProviderError | None = None
        try:
            events = await self._ask_streaming(await self._clients.of_loop(key), body)
            try:
                if _is_document(events.response):
                    for piece in _told(self._assembly().document(wire_form.document(await events.response.aread()))):
                        yield piece
                    return
                assembly = self._assembly()
                async for event in events:
                    if text := assembly.take(_plain(event)):
                        yield text
                for piece in _ended(assembly):
                    yield piece
            finally:
                await events.response.aclose()
        except Exception as error:  # noqa: BLE001 - whatever the SDK raises is told as a failure
            failure = self._failure(error, key)
        if failure is not None:
            raise failure

    def close(self) -> None:
        """Closes the connections of this process's threads; a later question opens new ones."""
        self._clients.close()

    async def aclose(self) -> None:
        """Closes the connections of the running event loop, which its end does too."""
        await self._clients.aclose()

    # -- keys and failures --------------------------------------------------------------------

    def _key(self) -> str:
        if not self._keyed:
            return NO_KEY
        try:
            key = self._given_key()
        except Exception as error:  # noqa: BLE001 - a host's function; what it says may hold a key
            found = f"the function that brings the API key raised {type(error).__name__}"
        else:
            key = key.strip() if isinstance(key, str) else ""
            if _KEY.fullmatch(key):
                return key
            found = "the API key holds signs that no key has" if key else "there is no API key"
        where = f"pass api_key or set {self.key_variable}" if self._address == self.own_address else "pass api_key"
        raise ProviderError(f"{self._who}: {found}; {where}", FailureClass.CONFIGURATION)

    @property
    def _who(self) -> str:
        return f"{self._provider} model {self._model!r}"

    def _failure(self, error: Exception, key: str) -> ProviderError:
        """What *error* means, without the SDK's objects and without the key."""
        if isinstance(error, ProviderError):
            return ProviderError(f"{self._who}: {error}", error.failure_class)
        levels = list(chain(error))
        for level in levels:
            refused = self._refused(level)
            if refused is not None:
                return self._told(refused, key)
            found = self._fault(level)
            if found is not None:
                return ProviderError(f"{self._who}: {without_key(found[1], key)}", found[0])
        frame = traceback.extract_tb(error.__traceback__)[-1:]
        place = f" at {Path(frame[0].filename).name}:{frame[0].lineno}" if frame else ""
        return ProviderError(f"{self._who}: unexpected {type(error).__name__}{place}")

    def _told(self, refused: Refused, key: str) -> ProviderError:
        codes = ", ".join(code for code in refused.codes if code)
        how = f"answered {refused.status}" if refused.status else "broke off its answer"
        text = f"{how} ({codes})" if codes else how
        said = f": {refused.message}" if refused.message else ""
        found = class_of(self.failures, refused)
        return ProviderError(f"{self._who} {without_key(text + said, key)}", found, retry_after=refused.retry_after)

    def _fault(self, level: BaseException) -> tuple[FailureClass, str] | None:
        """The class and words of what went wrong on the way, if *level* says so."""
        match level:
            case TooLargeError():
                return FailureClass.SERVER_ERROR, str(level)
            case GarbledError():
                return FailureClass.SERVER_ERROR, f"the server sent {level}"
            case httpx2.TimeoutException():
                return FailureClass.CONNECTION, f"no whole answer within {self._deadline:g} s"
            case httpx2.UnsupportedProtocol() | httpx2.LocalProtocolError() | httpx2.InvalidURL():
                return FailureClass.CONFIGURATION, f"the request could not be sent ({type(level).__name__})"
            case httpx2.TransportError() | OSError():
                return FailureClass.CONNECTION, f"the connection failed ({type(level).__name__})"
            case httpx2.DecodingError() | httpx2.StreamError():
                return FailureClass.SERVER_ERROR, f"the answer could not be read ({type(level).__name__})"
            case json.JSONDecodeError() | UnicodeError() | RecursionError():
                return FailureClass.SERVER_ERROR, f"the server sent garbled text ({type(level).__name__})"
        return None

    def _headers(self, key: str, omitted: object, *named: str) -> dict[str, Any]:
        """
        What keeps headers of the environment, which the SDKs add, from another server than the provider's own.
        """
        if self._address == self.own_address:
            return {}
        lines = os.environ.get(self.headers_variable, "").split("\n")
        names = [*named, *(line.partition(":")[0].strip() for line in lines if ":" in line)]
        return {name: f"Bearer {key}" if name.lower() == "authorization" else omitted for name in names}

    def options_over(self, body: dict[str, Any]) -> dict[str, Any]:
        """*body* with the options of this model, and without what they take away."""
        return {name: value for name, value in {**body, **self._options}.items() if value is not None}


def _plain(event: Any) -> dict[str, Any]:
    plain = getattr(event, "to_dict", None)
    return wire_form.mapping(event if plain is None else plain(warnings=False), "an event of the stream")


def _is_document(response: httpx2.Response) -> bool:
    """Whether a server that was asked for a stream sent a document, or a page, instead."""
    kind = response.headers.get("content-type", "").lower()
    return "json" in kind or "html" in kind


def _told(answer: ModelAnswer) -> Iterator[Streamed]:
    if not answer.finish_reason:
        raise wire_form.cut(len(answer.text))
    if answer.text:
        yield answer.text
    yield answer


def _ended(assembly: Assembly) -> Iterator[Streamed]:
    if rest := assembly.rest():
        yield rest
    yield assembly.answer()


def _giver(api_key: ApiKey, variable: str | None) -> Callable[[], object]:
    # In a closure: a look at the attributes of a model shows no key.
    if callable(api_key):
        return api_key
    if api_key is None and variable is not None:
        return lambda: os.environ.get(variable)
    return lambda: api_key


def _check_text(subject: str, found: object) -> None:
    if not isinstance(found, str) or not found.strip():
        raise InvalidValueError(subject, found, "a name")


def _check_address(subject: str, found: object) -> None:
    if found is not None and (not isinstance(found, str) or not _ADDRESS.fullmatch(found)):
        # It may hold a password, so it is not repeated.
        raise InvalidValueError(
            subject, object(), "an address that begins with http, without a user, query or fragment"
        )
