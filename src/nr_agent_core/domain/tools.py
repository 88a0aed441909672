"""
What a tool declares, what it is handed, and the one question whether a person must approve it.

Effect is a required argument: a default would be a guess about what a tool does (T2).
"""

import enum
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NoReturn, Protocol, TypeAlias, cast

import attrs

from nr_agent_core.domain.bounding import well_formed
from nr_agent_core.domain.errors import DuplicateToolError, InvalidValueError, ToolDeclarationError
from nr_agent_core.domain.parameters import check_schema, plain_copy, violation
from nr_agent_core.domain.tool_result import ToolEffect
from nr_agent_core.domain.value import Value

DEFAULT_DEADLINE = 120.0
UNATTENDED_REMOTE = "no"
_NAME_CHARACTERS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


@attrs.frozen(repr=False, eq=False)
class ToolContext(Value):
    """
    Who acts, in which run and call, and by when: all that a tool may rely on (T13).

    Args:
        owner: id of the run's owner, under whose rights the tool acts. Never ambient identity.
        run_id: the run; also the correlation id of everything it writes.
        call_id: the call's identity in the run, ``"round.index"``.
        key: idempotency key, 64 hexadecimal characters; the same for a repeat of the same call.
        deadline: seconds the call may take.
        precondition: the token its preview returned, or None when it returned none or failed.
            A tool that finds it no longer true refuses with :meth:`ToolResult.error` and writes nothing.
    """

    owner: str
    run_id: str
    call_id: str
    key: str
    deadline: float
    precondition: str | None = None


Arguments: TypeAlias = Mapping[str, Any]
Execute: TypeAlias = Callable[[Arguments, ToolContext], object]
Reconcile: TypeAlias = Callable[[str, ToolContext], object]
Validator: TypeAlias = Callable[[Arguments], str | None]


class Reconciliation(enum.Enum):
    """
    What ``reconcile`` answers when it has no result to give (R7).

    ``NEVER_HAPPENED`` is a promise: the call did not happen and, since the host refuses its key
    from now on, never will. ``CANNOT_TELL`` ends the run with an unknown outcome.
    """

    NEVER_HAPPENED = "never_happened"
    CANNOT_TELL = "cannot_tell"


def _lines(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.splitlines())
    lines = tuple(value) if isinstance(value, (list, tuple)) else ()
    if not isinstance(value, (list, tuple)) or not all(isinstance(line, str) for line in lines):
        raise InvalidValueError("the lines of a preview", value, "a text or a list of texts")
    return lines


@attrs.frozen(repr=False, eq=False)
class Preview(Value):
    """
    What an approver sees of a waiting call, and what must still hold when it is executed (T11).

    Args:
        lines: a text, or its lines.
        precondition: a token of the state the preview was made from. It is part of what is
            approved, and is handed back to the tool in :attr:`ToolContext.precondition`.

    Raises:
        InvalidValueError: the lines are no text, or the token is no text.
    """

    lines: tuple[str, ...] = attrs.field(converter=_lines)
    precondition: str | None = None

    def __attrs_post_init__(self) -> None:
        token: Any = self.precondition
        if not (token is None or (isinstance(token, str) and well_formed(token) == token)):
            raise InvalidValueError("the precondition of a preview", token, "a text without lone surrogates, or None")


def _effect(value: ToolEffect | str) -> ToolEffect:
    try:
        return ToolEffect(value)
    except ValueError:
        # Left as it came: the check below knows the tool's name and refuses in words.
        return cast(ToolEffect, value)


@attrs.frozen(eq=False)
class Tool:
    """
    One tool: its declaration, and how to execute it (T1).

    Args:
        name: 1 to 64 of ``[A-Za-z0-9_-]``, unique among all tools.
        description: what the model reads about it.
        parameters: JSON Schema of the arguments with an object at the root; a copy is kept.
        effect: may a repeat do harm; the literal value is accepted too (T2).
        execute: called with the arguments and a :class:`ToolContext`; returns a ``ToolResult``
            (or its text), or an awaitable of it.
        group: the named set it belongs to.
        data_class: the most delicate data it may bring back; None counts as the worst (G2).
        approval: True: a person approves each call, whatever its effect. For a remote tool the
            literal ``"no"``: none does. None: its effect decides (T3).
        admin_only: only runs of administrators may use it.
        enabled: whether it is on where the configuration does not name it.
        deadline: seconds a call may take.
        remote: it runs outside this process, behind somebody else's server. Its effect is
            ``read_only`` when its operator says so, and ``non_idempotent_write`` otherwise.
        preview: called like *execute* when a call waits for approval; returns a text, a list of
            lines or a :class:`Preview`, and changes nothing.
        reconcile: called with the idempotency key and a context when a crash left the outcome of
            a non-idempotent write open; returns a ``ToolResult`` or a :class:`Reconciliation`.
        validator: replaces the check of arguments against *parameters*, for schemas that need
            more than the built-in keywords; returns None or what is wrong, and does not raise.

    Raises:
        ToolDeclarationError: the tool cannot be declared like this. It was not registered.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    effect: ToolEffect = attrs.field(converter=_effect)
    execute: Execute
    group: str = attrs.field(default="default", kw_only=True)
    data_class: str | None = attrs.field(default=None, kw_only=True)
    approval: bool | str | None = attrs.field(default=None, kw_only=True)
    admin_only: bool = attrs.field(default=False, kw_only=True)
    enabled: bool = attrs.field(default=True, kw_only=True)
    deadline: float = attrs.field(default=DEFAULT_DEADLINE, kw_only=True)
    remote: bool = attrs.field(default=False, kw_only=True)
    preview: Execute | None = attrs.field(default=None, kw_only=True)
    reconcile: Reconcile | None = attrs.field(default=None, kw_only=True)
    validator: Validator | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        # What a host passes may be anything, whatever the annotations say.
        given: Any = self
        self._check_texts(given)
        self._check_kinds(given)
        self._check_effect(given)
        self._check_approval(given)
        if self.validator is None:
            check_schema(self.name, self.parameters)
        elif not isinstance(given.parameters, Mapping) or given.parameters.get("type") != "object":
            self._refuse('its parameters are no schema with "type": "object" at the root')
        # A copy, so that what was checked is what stays.
        object.__setattr__(self, "parameters", plain_copy(self.parameters))

    def _refuse(self, why: str) -> NoReturn:
        raise ToolDeclarationError(self.name, why)

    def _refuse_value(self, option: str, found: object, allowed: str) -> NoReturn:
        self._refuse(str(InvalidValueError(option, found, allowed)))

    def _check_texts(self, given: Any) -> None:
        if not (isinstance(given.name, str) and 1 <= len(given.name) <= 64 and _NAME_CHARACTERS.issuperset(given.name)):
            self._refuse_value("its name", given.name, "1 to 64 of [A-Za-z0-9_-]")
        if not isinstance(given.description, str):
            self._refuse_value("its description", given.description, "a text")
        if not (isinstance(given.group, str) and given.group):
            self._refuse_value("its group", given.group, "a name, not empty")
        if not (given.data_class is None or (isinstance(given.data_class, str) and given.data_class)):
            self._refuse_value("its data class", given.data_class, "a name, not empty, or None")

    def _check_kinds(self, given: Any) -> None:
        for flag in ("admin_only", "enabled", "remote"):
            if not isinstance(getattr(given, flag), bool):
                self._refuse_value(flag, getattr(given, flag), "True or False")
        if isinstance(given.deadline, bool) or not isinstance(given.deadline, (int, float)):
            self._refuse_value("its deadline", given.deadline, "a number of seconds")
        if not (math.isfinite(given.deadline) and given.deadline > 0):
            self._refuse_value("its deadline", given.deadline, "a finite number of seconds above 0")
        if not callable(given.execute):
            self._refuse("execute cannot be called")
        for option in ("preview", "reconcile", "validator"):
            if not (getattr(given, option) is None or callable(getattr(given, option))):
                self._refuse(f"{option} can neither be called nor is it None")

    def _check_effect(self, given: Any) -> None:
        if not isinstance(given.effect, ToolEffect):
            self._refuse_value("its effect", given.effect, "read_only, idempotent_write or non_idempotent_write")
        if given.remote and given.effect is ToolEffect.IDEMPOTENT_WRITE:
            self._refuse(
                "a remote tool cannot be idempotent_write: nobody here can vouch for a repeat; "
                "declare non_idempotent_write, or read_only when its operator says that it only reads"
            )

    def _check_approval(self, given: Any) -> None:
        if given.approval is None or given.approval is True:
            return
        if given.remote and given.approval == UNATTENDED_REMOTE and isinstance(given.approval, str):
            return
        if given.remote:
            self._refuse('approval of a remote tool is True, None or the literal "no"')
        if given.approval is False and not given.effect.writes:
            return
        self._refuse(
            "approval is True or None; a local write goes without approval only where "
            "the configuration lists the tool as unattended"
        )

    def violation(self, arguments: Arguments) -> str | None:
        """
        What is wrong with *arguments*, or None when the tool may be called with them (T8).

        The text names the place and what is allowed there; it is fit for the model.
        """
        if self.validator is not None:
            return self.validator(arguments)
        return violation(self.parameters, arguments)


def needs_approval(tool: Tool, unattended: Collection[str]) -> bool:
    """
    Whether a person must approve a call of *tool* (T3). The first line that fits decides.

    Args:
        tool: the tool.
        unattended: names that the configuration in force lists as unattended.

    Raises:
        InvalidValueError: *unattended* is one text; a name would be found in parts of it.
    """
    if isinstance(unattended, str):
        raise InvalidValueError("the list of unattended tools", unattended, "a collection of names")
    if tool.approval is True:
        return True
    if tool.remote:
        return not (tool.effect is ToolEffect.READ_ONLY or tool.approval == UNATTENDED_REMOTE)
    if tool.name in unattended:
        return False
    return tool.effect.writes


class DeclaresTool(Protocol):
    """
    Something that carries its own tool, as a function decorated with ``@tool`` does.
    """

    @property
    def tool(self) -> Tool:
        """The declared tool."""
        ...


class ToolRegistry(Mapping[str, Tool]):
    """
    All tools of a host by name, in the order given; never changed afterwards (T1).

    Args:
        tools: tools, or functions decorated with ``@tool``.

    Raises:
        DuplicateToolError: two share a name. Nothing was registered.
        ToolDeclarationError: something in the list is no tool.
    """

    __slots__ = ("_tools",)

    def __init__(self, tools: Iterable[Tool | DeclaresTool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for item in tools:
            declared = item if isinstance(item, Tool) else getattr(item, "tool", None)
            if not isinstance(declared, Tool):
                name = getattr(item, "__name__", type(item).__name__)
                raise ToolDeclarationError(name, "is neither a Tool nor a function decorated with @tool(effect=...)")
            if declared.name in self._tools:
                raise DuplicateToolError(declared.name)
            self._tools[declared.name] = declared

    def __getitem__(self, name: str) -> Tool:
        return self._tools[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tools)

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"ToolRegistry({', '.join(self._tools)})"
