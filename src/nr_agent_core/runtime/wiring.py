"""
The parts of one application, checked once at the start: no globals, no locator.
"""

import inspect
import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Required, TypedDict

from nr_agent_core.defaults.access import RoleAccess
from nr_agent_core.defaults.clock import SystemClock
from nr_agent_core.defaults.fixed_configuration import FixedConfiguration
from nr_agent_core.defaults.id_source import RandomIds
from nr_agent_core.defaults.silent_bus import SilentBus
from nr_agent_core.defaults.tool_executor import ThreadToolExecutor
from nr_agent_core.domain.claims import ClaimDetector
from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.domain.tools import DeclaresTool, Tool, ToolRegistry
from nr_agent_core.domain.trust_zones import TrustZones
from nr_agent_core.domain.unavailable_tools import GateUnavailableTools
from nr_agent_core.driver import LateOutcomes
from nr_agent_core.driver.tool_work import AroundTool
from nr_agent_core.ports.access_policy import AccessPolicy
from nr_agent_core.ports.clock import Clock
from nr_agent_core.ports.configuration_resolver import Configuration, ConfigurationResolver
from nr_agent_core.ports.event_bus import EventBus
from nr_agent_core.ports.id_source import IdSource
from nr_agent_core.ports.model_provider import AnyModel
from nr_agent_core.ports.tool_executor import ToolExecutor
from nr_agent_core.ports.translator import Translator
from nr_agent_core.ports.unavailable_tools_resolver import UnavailableToolsResolver
from nr_agent_core.ports.unit_of_work import Change, UnitOfWork
from nr_agent_core.runtime.rights import Rights
from nr_agent_core.steps import MODEL_DEADLINE

if TYPE_CHECKING:
    from nr_agent_core.ports.run_queue import RunQueue

_log = logging.getLogger("nr_agent_core")

LEASE_MARGIN = 60.0
_GATE = GateUnavailableTools()
# Shared, so that one application's threads without work serve the next one.
_TOOL_THREADS = ThreadToolExecutor()


class Parts(TypedDict, total=False):
    """
    The parts of an application by name, as :class:`Wiring` describes them.
    """

    store: Required[UnitOfWork | None]
    model: AnyModel | None
    configuration: Configuration | ConfigurationResolver | None
    tools: Iterable[Tool | DeclaresTool]
    access: AccessPolicy | None
    bus: EventBus | None
    executor: ToolExecutor | None
    ids: IdSource | None
    clock: Clock | None
    zones: TrustZones | None
    detector: ClaimDetector | None
    unavailable_tools: UnavailableToolsResolver | None
    translator: Translator | None
    lease_margin: float
    around_tool: AroundTool | None
    queue: "RunQueue | None"


class Wiring:
    """
    What one application gave and what defaults filled in.

    Args:
        store: where runs and conversations are kept; None keeps runs in memory only (R12).
        model: short for ``configuration=Configuration(model=model)``; exactly one of the two is given.
        configuration: a fixed configuration, or a resolver that is asked per segment (G0).
        tools: all tools of the host.
        access: who may do what (O4); by default nobody may decide.
        bus: hears of writes; by default nobody does.
        executor: where tools run; by default threads.
        ids: where new ids come from.
        clock: the time of runs without a store; a store brings its own.
        zones: the host's trust zones (G2).
        detector: finds claims of changes in answers (V2).
        unavailable_tools: which withheld tools the model hears of (G3), by default what the gate
            refuses; None lists none.
        translator: the host's own texts, asked before the shipped catalogues (V10).
        lease_margin: seconds beyond a step's deadline until a run may be taken over; liveness only (R8).
        around_tool: a context manager around each tool.
        queue: brings queued runs to workers, over the same *store*; with one, what a decision released
            is carried out by a worker.

    Raises:
        InvalidValueError: not exactly one of *model* and *configuration*, a margin below 0, or a queue
            over another store.
        DuplicateToolError, ToolDeclarationError: the tools cannot be registered.
    """

    def __init__(
        self,
        *,
        store: UnitOfWork | None,
        model: AnyModel | None = None,
        configuration: Configuration | ConfigurationResolver | None = None,
        tools: Iterable[Tool | DeclaresTool] = (),
        access: AccessPolicy | None = None,
        bus: EventBus | None = None,
        executor: ToolExecutor | None = None,
        ids: IdSource | None = None,
        clock: Clock | None = None,
        zones: TrustZones | None = None,
        detector: ClaimDetector | None = None,
        unavailable_tools: UnavailableToolsResolver | None = _GATE,
        translator: Translator | None = None,
        lease_margin: float = LEASE_MARGIN,
        around_tool: AroundTool | None = None,
        queue: "RunQueue | None" = None,
    ) -> None:
        if queue is not None and (store is None or queue.store is not store):
            raise InvalidValueError("the store of the queue", queue.store, "the very store of the runs")
        self.store, self.queue = store, queue
        self.commits: UnitOfWork | RunQueue | None = store if queue is None else queue
        self.resolver = _resolver(model, configuration)
        if not isinstance(tools, Iterable):
            raise InvalidValueError("the tools", tools, "a list of tools")
        self.registry = ToolRegistry(tools)
        if isinstance(configuration, Configuration):
            _warn_of_unknown_names(configuration, self.registry)
        self.access = Rights(RoleAccess() if access is None else access)
        self.bus: EventBus = SilentBus() if bus is None else bus
        self.executor: ToolExecutor = _TOOL_THREADS if executor is None else executor
        self.ids: IdSource = RandomIds() if ids is None else ids
        self.now: Callable[[], float] = (SystemClock() if clock is None else clock).now if store is None else store.now
        self.zones = zones
        self.detector = ClaimDetector() if detector is None else detector
        self.unavailable_tools = unavailable_tools
        self.lease_margin = _seconds("the lease margin", lease_margin)
        self.translator = translator
        self.around_tool = around_tool
        longest = max((tool.deadline for tool in self.registry.values()), default=MODEL_DEADLINE)
        self.late = LateOutcomes(store, patience=max(longest, MODEL_DEADLINE) + self.lease_margin)
        waits = any(tool.effect.writes or tool.approval is True for tool in self.registry.values())
        if waits and self.access.nobody_decides:
            _log.warning("nobody may decide on approvals: name administrators or deciders, or owner_decides=True")

    def configuration(self, conversation: str | None, owner: str) -> Configuration | None:
        """
        What is in force (G0); None when nothing is, also without a model.

        Raises:
            InvalidValueError: the resolver returned something else. What it raises itself rises.
        """
        found: object = self.resolver.resolve(conversation, owner)
        if found is not None and not isinstance(found, Configuration):
            raise InvalidValueError("what the configuration resolver returned", found, "a Configuration or None")
        if found is not None:
            if found.model is not None:
                _check_model("model of a configuration", found.model)
            for name in ("context_window", "output_limit"):
                _check_tokens(name, getattr(found.model, name, None))
        return found

    def configuration_if_any(self, conversation: str | None, owner: str) -> Configuration | None:
        """The same for a run that waits: a resolver that fails has none, is logged, and the run waits on (G0)."""
        try:
            return self.configuration(conversation, owner)
        except Exception as error:  # noqa: BLE001 - whatever a host's resolver raises
            _log.error("no configuration could be resolved: %s", sanitised_chain(error))
            return None

    def commit(self, changes: Sequence[Change], connection: Any | None = None) -> None:
        """
        Store *changes*, and put what they leave queued; as part of the transaction of *connection*, if given.

        Raises:
            LostRaceError, StoreError: see :class:`~nr_agent_core.ports.unit_of_work.UnitOfWork`.
        """
        if self.queue is not None:
            self.queue.commit(changes, connection=connection)
        elif self.store is not None:
            self.store.commit(changes)

    @property
    def admin_tools(self) -> frozenset[str]:
        """The names of tools that ask for an administrator."""
        return frozenset(name for name, tool in self.registry.items() if tool.admin_only)


def _resolver(
    model: AnyModel | None, configuration: Configuration | ConfigurationResolver | None
) -> ConfigurationResolver:
    if (model is None) == (configuration is None):
        raise InvalidValueError(
            "the wiring of model and configuration", (model, configuration), "exactly one of the two"
        )
    if isinstance(configuration, Configuration):
        return FixedConfiguration(configuration)
    if configuration is not None:
        _check("configuration", configuration, "resolve")
        return configuration
    _check_model("model", model)
    for name in ("context_window", "output_limit"):
        _check_tokens(name, getattr(model, name, None))
    return FixedConfiguration(Configuration(model=model))


# What each part is known by: what is something else is refused at the start, not when it is first used.
_METHODS = {
    "store": "commit",
    "access": "is_administrator",
    "bus": "announce",
    "executor": "run",
    "ids": "run_id",
    "clock": "now",
    "zones": "ceiling",
    "detector": "claims_change",
    "unavailable_tools": "unavailable",
    "translator": "translate",
    "around_tool": "__call__",
    "queue": "work",
}


def _seconds(subject: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise InvalidValueError(subject, value, "seconds from 0")
    return float(value)


def _check(name: str, part: object, method: str, *, optional: bool = False) -> None:
    if part is None and optional:
        return
    if isinstance(part, type) or not callable(getattr(part, method, None)):
        raise InvalidValueError(f"the {name}", part, f"an object with a method {method}()")


def _check_model(name: str, model: object) -> None:
    """A model is asked at once or from an event loop: one of the two it must know."""
    ways = [getattr(model, way, None) for way in ("complete", "complete_async")]
    if isinstance(model, type) or not any(map(callable, ways)):
        raise InvalidValueError(f"the {name}", model, "an object with a method complete() or complete_async()")
    if inspect.iscoroutinefunction(ways[0]):
        raise InvalidValueError(f"complete of the {name}", ways[0], "a plain method; complete_async is awaited")


def _check_tokens(name: str, tokens: object) -> None:
    """What a model does not say is unknown; what it says is a number of tokens (R11)."""
    if tokens is None:
        return
    if isinstance(tokens, bool) or not isinstance(tokens, int) or tokens < 1:
        raise InvalidValueError(f"{name} of the model", tokens, "tokens from 1, or None")


def _warn_of_unknown_names(configuration: Configuration, registry: ToolRegistry) -> None:
    """A misspelt name switches nothing off and releases nothing: whoever set it up has to hear of it."""
    for setting in ("tools_on", "tools_off", "unattended"):
        unknown = sorted(set(getattr(configuration, setting)) - registry.keys())
        if unknown:
            _log.warning("%s of the configuration names no tool: %s", setting, ", ".join(unknown))
    groups = {tool.group for tool in registry.values()}
    missing = sorted(set(configuration.tool_groups or ()) - groups)
    if missing:
        _log.warning("tool_groups of the configuration names no group: %s", ", ".join(missing))


def checked_parts(facade: str, parts: Mapping[str, object], *more: str) -> None:
    """
    Refuse names that are no parts, a missing store, and parts that are something else altogether.

    Raises:
        InvalidValueError: a name is unknown, ``store`` was not given, or a part lacks its methods.
    """
    unknown = sorted(parts.keys() - Parts.__annotations__.keys())
    if unknown:
        known = ", ".join((*Parts.__annotations__, *more))
        raise InvalidValueError(f"an argument of {facade}", ", ".join(unknown), known)
    if "store" not in parts:
        raise InvalidValueError(f"the store of {facade}", None, "a store, given as store=...")
    _check("access", parts.get("access"), "may", optional=True)
    for name, method in _METHODS.items():
        _check(name, parts.get(name), method, optional=True)
