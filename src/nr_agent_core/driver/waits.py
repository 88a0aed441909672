"""
What the work of a call waits for outside: the only places at which the ways to drive it differ.

A call that may drive a run is a generator inside that call: it reads, decides and commits by
itself, and yields what has to be waited for. It is never stored.
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from nr_agent_core.domain.model_dialogue import ModelRequest
from nr_agent_core.domain.provenance import AiRecordWritten
from nr_agent_core.domain.tool_result import ToolResult
from nr_agent_core.driver.tool_work import ToolWork
from nr_agent_core.ports.event_bus import EventBus
from nr_agent_core.ports.model_provider import AnyModel

if TYPE_CHECKING:
    from nr_agent_core.domain.turn_events import TurnEvent

T = TypeVar("T")


class Complete:
    """
    Ask the model; answered with whatever it brought. What is told of it meanwhile belongs to *round*.
    """

    __slots__ = ("model", "request", "round")

    def __init__(self, model: AnyModel, request: ModelRequest, number: int) -> None:
        self.model, self.request, self.round = model, request, number


class InTool:
    """
    Do the work of a tool; answered with its result, or None when its deadline passed first.

    ``late`` says what is to be done with a result that comes then.
    """

    __slots__ = ("late", "work")

    def __init__(self, work: ToolWork, late: "Callable[[ToolResult], Work[None]]") -> None:
        self.work, self.late = work, late


class Announcing:
    """
    Have the bus announce one event.
    """

    __slots__ = ("bus", "event")

    def __init__(self, bus: EventBus, event: AiRecordWritten) -> None:
        self.bus, self.event = bus, event


class Tell:
    """
    Tell whoever watches of the turn event with this *name*, made of these *arguments*.

    Nobody has to watch, and nothing is waited for: the event is made, and its module loaded, when
    somebody does.
    """

    __slots__ = ("_arguments", "_name")

    def __init__(self, name: str, *arguments: object) -> None:
        self._name, self._arguments = name, arguments

    @property
    def event(self) -> "TurnEvent":
        """The event."""
        from nr_agent_core.domain import turn_events

        made: TurnEvent = getattr(turn_events, self._name)(*self._arguments)
        return made


Wait: TypeAlias = Complete | InTool | Announcing | Tell
Work: TypeAlias = Generator[Wait, Any, T]
Watch: TypeAlias = Callable[["TurnEvent"], None]
