"""
A model whose answers come from a file that was recorded once: for tests of a chat without a network or a key.
"""

import functools
import os
import threading
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self, assert_never

import attrs

from nr_agent_core.adapters.model_access import asking
from nr_agent_core.domain.errors import FailureClass, InvalidValueError, ProviderError
from nr_agent_core.domain.model_dialogue import ModelAnswer, ModelRequest
from nr_agent_core.ports.model_provider import AnyModel, Streamed
from nr_agent_core.testing._recording.file import (
    Broken,
    Exchange,
    Failed,
    Recording,
    load,
    request_form,
    save,
)
from nr_agent_core.testing._recording.matching import PARTS, Matching, Outline, Secrets, differences
from nr_agent_core.testing._recording.open_exchange import OpenExchange

_MOST_DIFFERENCES = 5

_saving = threading.Lock()
"""Several models of one process may write the same file: each hears of the others before it writes."""


class NotRecordedError(AssertionError):
    """
    A question that the recording does not hold. Nobody was asked, and nothing was written.

    The text names places and no contents: what is asked may hold what nobody should read in a log.

    Args:
        recording: the name of the file.
        why: what is missing.
        nearest: the number of the recorded exchange that is most like it, from 1 on; None: there is none.
        differences: where the two differ.
    """

    def __init__(self, recording: str, why: str, nearest: int | None = None, differences: tuple[str, ...] = ()) -> None:
        shown = "; ".join(differences[:_MOST_DIFFERENCES])
        more = f"; and {len(differences) - _MOST_DIFFERENCES} more" if len(differences) > _MOST_DIFFERENCES else ""
        told = f"; nearest is exchange {nearest}: {shown}{more}" if differences else ""
        super().__init__(f"recording {recording}: {why}{told}. Record it with mode='record'")
        self.recording, self.why, self.nearest, self.differences = recording, why, nearest, differences


class RecordedModel:
    """
    Answers from a recording: every way of ``nr_agent_core.ports.model_provider``, without a network.

    In the mode ``replay`` the model is never asked, and may be missing. In the mode ``record`` what
    the file holds is replayed too; what it lacks is asked of the model, and added. To record
    everything anew, delete the file.

    An exchange is replayed once. What was asked twice was recorded twice, in this order; so a
    failure and the answer to the next try come back as they came. Two questions are the same when
    their texts are, whatever ids their calls have; where no text is the same, identities and times
    in them are looked away from. What was streamed is streamed in the same pieces.

    Secrets never reach the file. A question that is recorded gets the model's answer as it is; when it
    is replayed, secrets in it are ``[secret]``.

    As a context manager it raises, at the end of its block, the first question that was not
    recorded: a chat takes the error for one of its provider, and goes on.

    Args:
        path: the file, one for each test or group of tests; its folder is made when it is written.

        model: who is asked while recording.

        mode: ``replay`` or ``record``.

        secrets: texts that must not reach the file, beside those that the library's redactor knows.

        volatile: regular expressions for what may differ from one time to the next, beside ids and times.

        match: the parts of a question that are compared: ``system``, ``tools``, ``messages``.

    Raises:
        InvalidValueError: a value that cannot be meant, or nobody to ask while recording.
        NewerFormError: a newer release wrote the file. It was left as it is.
        StoredFormError: the file is damaged. It was left as it is.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        model: AnyModel | None = None,
        *,
        mode: str = "replay",
        secrets: Iterable[str] = (),
        volatile: Iterable[str] = (),
        match: Collection[str] = PARTS,
    ) -> None:
        if mode not in ("replay", "record"):
            raise InvalidValueError("mode of a RecordedModel", mode, "'replay' or 'record'")
        self._recording_to = mode == "record"
        if model is not None or self._recording_to:
            asking.checked_model("the model of a RecordedModel", model)
        self._path, self._model = Path(path), model
        self._secrets, self._matching = Secrets(secrets), Matching(match, volatile)
        self._lock = threading.Lock()
        self._recording, self._content = load(self._path)
        kept = enumerate(self._recording.exchanges, 1)
        self._waiting = [_Recorded(self._matching, number, exchange) for number, exchange in kept]
        self._played: list[_Recorded] = []
        self._asked = 0
        self._new: dict[int, Exchange] = {}
        self._missing: list[NotRecordedError] = []

    def __repr__(self) -> str:
        return f"RecordedModel({self._path.name!r}, {len(self._waiting)} exchanges to play)"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is None and self._missing:
            raise self._missing[0]

    @property
    def context_window(self) -> int | None:
        """That of the model while recording, else of the one that was recorded (R11)."""
        return getattr(self._model, "context_window", None) if self._recording_to else self._recording.context_window

    @property
    def output_limit(self) -> int | None:
        """That of the model while recording, else of the one that was recorded (R11)."""
        return getattr(self._model, "output_limit", None) if self._recording_to else self._recording.output_limit

    @property
    def missing(self) -> tuple[NotRecordedError, ...]:
        """The questions so far that were not recorded."""
        return tuple(self._missing)

    @property
    def unplayed(self) -> int:
        """How many exchanges of the file were not asked for."""
        return len(self._waiting)

    # -- the four ways to ask -----------------------------------------------------------------

    def complete(self, request: ModelRequest) -> ModelAnswer:
        """
        The recorded answer, or the model's.

        Raises:
            NotRecordedError: there is none.
            ProviderError: the failure that was recorded; while recording, what the model raises.
        """
        taken = self._taken(request)
        if isinstance(taken, Exchange):
            return self._answer(taken)
        try:
            answer = asking.complete(self._model, request)
        except Exception as error:
            taken.fail(error)
            raise
        taken.end(answer)
        return answer

    async def complete_async(self, request: ModelRequest) -> ModelAnswer:
        """
        The asynchronous twin of :meth:`complete`.
        """
        taken = self._taken(request)
        if isinstance(taken, Exchange):
            return self._answer(taken)
        try:
            answer = await asking.complete_async(self._model, request)
        except Exception as error:
            taken.fail(error)
            raise
        taken.end(answer)
        return answer

    def stream(self, request: ModelRequest) -> Iterator[Streamed] | None:
        """
        The recorded stream, or the model's; None when what was recorded, or the model, is asked at once.

        Raises:
            NotRecordedError: there is none.
            ProviderError: as in :meth:`complete`; here, or while the stream is read.
        """
        taken = self._taken(request, streamed=True)
        if isinstance(taken, Exchange):
            return None if taken.pieces is None else self._pieces(taken)
        begin = getattr(self._model, "stream", None)
        try:
            pieces = None if begin is None else begin(request)
        except Exception as error:
            taken.fail(error)
            raise
        return None if pieces is None else self._recorded(taken, pieces)

    def stream_async(self, request: ModelRequest) -> AsyncIterator[Streamed] | None:
        """
        The asynchronous twin of :meth:`stream`.
        """
        taken = self._taken(request, streamed=True)
        if isinstance(taken, Exchange):
            return None if taken.pieces is None else self._pieces_async(taken)
        begin = getattr(self._model, "stream_async", None)
        try:
            pieces = None if begin is None else begin(request)
        except Exception as error:
            taken.fail(error)
            raise
        return None if pieces is None else self._recorded_async(taken, pieces)

    # -- replaying ----------------------------------------------------------------------------

    def _answer(self, exchange: Exchange) -> ModelAnswer:
        match exchange.outcome:
            case ModelAnswer():
                return exchange.outcome
            case Failed(failure_class, text, retry_after):
                raise ProviderError(text, failure_class, retry_after=retry_after)
            case Broken.CUT:
                raise ProviderError("the recorded stream was cut", FailureClass.CONNECTION)
            case Broken.GIVEN_UP:
                raise self._missed("the stream was given up by its reader when it was recorded, and goes on no further")
            case _:
                assert_never(exchange.outcome)

    def _pieces(self, exchange: Exchange) -> Iterator[Streamed]:
        yield from exchange.pieces or ()
        if exchange.outcome is not Broken.CUT:
            yield self._answer(exchange)

    async def _pieces_async(self, exchange: Exchange) -> AsyncIterator[Streamed]:
        for piece in self._pieces(exchange):
            yield piece

    # -- recording ----------------------------------------------------------------------------

    def _recorded(self, taken: OpenExchange, pieces: Iterator[Streamed]) -> Iterator[Streamed]:
        with taken:
            try:
                for piece in pieces:
                    taken.take(piece)
                    yield piece
            finally:
                asking.close(pieces)

    async def _recorded_async(self, taken: OpenExchange, pieces: AsyncIterator[Streamed]) -> AsyncIterator[Streamed]:
        with taken:
            try:
                async for piece in pieces:
                    taken.take(piece)
                    yield piece
            finally:
                await asking.aclose(pieces)

    def _keep(self, number: int, exchange: Exchange) -> None:
        """Add an exchange to the file, which has them in the order in which they were asked."""
        with self._lock, _saving:
            self._new[number] = exchange
            self._hear_of_others()
            recording = Recording(self.context_window, self.output_limit, (*self._recording.exchanges, *self._added))
            self._content = save(self._path, recording)

    def _hear_of_others(self) -> None:
        """What somebody else added to the file since is kept."""
        found, content = load(self._path)
        if content != self._content:
            ours = self._added
            self._recording = attrs.evolve(
                found, exchanges=tuple(exchange for exchange in found.exchanges if exchange not in ours)
            )

    @property
    def _added(self) -> list[Exchange]:
        return [self._new[number] for number in sorted(self._new)]

    # -- finding ------------------------------------------------------------------------------

    def _taken(self, request: ModelRequest, *, streamed: bool = False) -> Exchange | OpenExchange:
        """
        The exchange that answers *request*, or one that is opened to record it.

        One that was asked at once goes on waiting when a stream is wanted: it will be asked for at once.

        Raises:
            NotRecordedError: there is none, and nothing is recorded.
        """
        asked = self._secrets.without(request_form(request))
        outline = self._matching.outline(asked)
        with self._lock:
            found = self._found(outline)
            if found is not None:
                if not streamed or found.exchange.pieces is not None:
                    self._waiting.remove(found)
                    self._played.append(found)
                return found.exchange
            if not self._recording_to:
                raise self._unknown(outline)
            self._asked += 1
            return OpenExchange(asked, self._secrets, functools.partial(self._keep, self._asked))

    def _found(self, outline: Outline) -> "_Recorded | None":
        exact = next((known for known in self._waiting if known.outline == outline), None)
        if exact is not None:
            return exact
        loosened = self._matching.loosened(outline)
        return next((known for known in self._waiting if known.loosened == loosened), None)

    def _unknown(self, outline: Outline) -> NotRecordedError:
        loosened = self._matching.loosened(outline)
        known = [(differences(loosened, one.loosened), one.number) for one in (*self._waiting, *self._played)]
        if not known:
            return self._missed("there is no such file" if self._content is None else "it holds no exchange")
        found, number = min(known, key=lambda one: len(one[0]))
        if not found:
            return self._missed(f"exchange {number} was asked for again, and was recorded less often", number)
        return self._missed("this question is not in it", number, found)

    def _missed(self, why: str, nearest: int | None = None, found: tuple[str, ...] = ()) -> NotRecordedError:
        error = NotRecordedError(self._path.name, why, nearest, found)
        self._missing.append(error)
        return error


class _Recorded:
    """An exchange of the file, by its number there, and what is compared of it."""

    def __init__(self, matching: Matching, number: int, exchange: Exchange) -> None:
        self.number, self.exchange = number, exchange
        self.outline = matching.outline(exchange.asked)
        self.loosened = matching.loosened(self.outline)
