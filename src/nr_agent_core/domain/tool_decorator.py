"""
``@tool``: a function becomes a tool, its parameters are read from its annotations.
"""

import functools
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar

import attrs

from nr_agent_core.domain.annotations import (
    Parameters,
    first_paragraph,
    hints_of,
    named_parameters,
    parameters_of,
)
from nr_agent_core.domain.errors import ToolDeclarationError
from nr_agent_core.domain.parameters import check_schema
from nr_agent_core.domain.tool_result import ToolEffect, ToolResult
from nr_agent_core.domain.tools import DEFAULT_DEADLINE, Execute, Tool, ToolContext

P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")
S = TypeVar("S")
_EFFECTS = tuple(effect.value for effect in ToolEffect)
F = TypeVar("F", bound=Callable[..., Any])


def _told_how(declare: Callable[Q, S]) -> Callable[Q, S]:
    """*declare*, refusing in words what Python would refuse as a wrong number of arguments."""

    @functools.wraps(declare)
    def told(*args: Q.args, **kwargs: Q.kwargs) -> S:
        if args:
            name = getattr(args[0], "__name__", type(args[0]).__name__)
            raise ToolDeclarationError(name, 'is declared with @tool(effect="..."), not with @tool alone')
        if "effect" not in kwargs:
            raise ToolDeclarationError("?", f"@tool(...) is given no effect; one of {', '.join(_EFFECTS)}")
        return declare(*args, **kwargs)

    return told


@_told_how
def tool(
    *,
    effect: ToolEffect | str,
    name: str | None = None,
    description: str | None = None,
    group: str = "default",
    data_class: str | None = None,
    approval: bool | None = None,
    admin_only: bool = False,
    enabled: bool = True,
    deadline: float = DEFAULT_DEADLINE,
) -> Callable[[Callable[P, R]], "DecoratedTool[P, R]"]:
    """
    Declare the decorated function as a tool (T1).

    The parameters come from its annotations; one annotated ``ToolContext`` is handed the context
    and is not shown to the model. A function that writes is annotated ``-> ToolResult``; one
    that reads may return a text. ``async def`` works too.

    Args:
        effect: may a repeat of the call do harm (T2)? The literal value is accepted too.
        name: its name for the model; default: the function's.
        description: what the model reads; default: the first paragraph of the docstring.
        group: the named set it belongs to.
        data_class: the most delicate data it may bring back; None counts as the worst (G2).
        approval: True: a person approves each call, whatever its effect (T3).
        admin_only: only runs of administrators may use it.
        enabled: whether it is on where the configuration does not name it.
        deadline: seconds a call may take.

    Raises:
        ToolDeclarationError: the function cannot be a tool like this.
    """
    shared: dict[str, Any] = {
        "effect": effect,
        "group": group,
        "data_class": data_class,
        "approval": approval,
        "admin_only": admin_only,
        "enabled": enabled,
        "deadline": deadline,
    }

    def decorate(function: Callable[P, R]) -> DecoratedTool[P, R]:
        called = name if name is not None else getattr(function, "__name__", type(function).__name__)
        text = description if description is not None else first_paragraph(function.__doc__)
        options = {**shared, "name": called, "description": text or called.replace("_", " ")}
        # Annotations written as text may name what is local to the place of the decorator.
        return DecoratedTool(function, options, sys._getframe(1).f_locals)

    return decorate


class DecoratedTool(Generic[P, R]):
    """
    A function that is a tool: still called as the function it is, and ``.tool`` for a chat.

    Made by :func:`tool`. Its preview and its reconciliation are added before its first use::

        @create_page.preview
        def _(title: str) -> str: ...
    """

    def __init__(self, function: Callable[P, R], options: Mapping[str, Any], namespace: Mapping[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name: str = options["name"]
        self._parameters = parameters_of(function, self.name, namespace)
        # Declared at once, so that a mistake is found where it was made.
        schema = self._parameters.schema
        check_schema(self.name, schema)
        self._declared = Tool(
            parameters=schema,
            execute=_executing(function, self._parameters),
            validator=self._parameters.violation,
            **options,
        )
        _check_return(self._declared, self._parameters.returns)
        self._additions: dict[str, Any] = {}
        self._tool: Tool | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """What the function returns; a call like this is part of no run."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<tool {self.name!r}>"

    @property
    def tool(self) -> Tool:
        """The tool, with the preview and the reconciliation that were added so far; none can be added later."""
        if self._tool is None:
            self._tool = attrs.evolve(self._declared, **self._additions) if self._additions else self._declared
        return self._tool

    def preview(self, function: F) -> F:
        """
        Declare what an approver sees before a call is executed (T11).

        *function* takes any of the tool's parameters by name, and ``ToolContext`` if it is annotated
        so. It returns a text, a list of lines or a ``Preview``, and changes nothing. It is returned
        as it is.

        Raises:
            ToolDeclarationError: it asks for something else, or comes too late.
        """
        wanted, contexts = self._wanted(function, "preview", sys._getframe(1).f_locals)
        for name in wanted:
            if name not in self._parameters.forms:
                raise ToolDeclarationError(self.name, f"its preview asks for {name!r}, which the tool does not take")
        self._additions["preview"] = _previewing(function, wanted, contexts, self._parameters)
        return function

    def reconcile(self, function: F) -> F:
        """
        Declare how to find out what became of a call that a crash cut off (R7).

        *function* takes the idempotency key, and ``ToolContext`` if it is annotated so. It returns
        the ``ToolResult`` of the call or a ``Reconciliation``. It is asked for non-idempotent
        writes only, and returned as it is.

        Raises:
            ToolDeclarationError: it does not take exactly a key, or comes too late.
        """
        wanted, contexts = self._wanted(function, "reconcile", sys._getframe(1).f_locals)
        if len(wanted) != 1:
            raise ToolDeclarationError(self.name, "reconcile takes the key, and a ToolContext if annotated so")
        (key_name,) = wanted

        def ask(key: str, context: ToolContext) -> object:
            return function(**{key_name: key}, **dict.fromkeys(contexts, context))

        self._additions["reconcile"] = _in_colour_of(function, ask)
        return function

    def _wanted(
        self, function: Callable[..., Any], what: str, namespace: Mapping[str, Any]
    ) -> tuple[dict[str, inspect.Parameter], list[str]]:
        if self._tool is not None:
            raise ToolDeclarationError(self.name, f"its {what} comes after the tool was handed out; declare it before")
        if what in self._additions:
            raise ToolDeclarationError(self.name, f"has two functions for {what}")
        hints = hints_of(function, self.name, namespace)
        parameters = named_parameters(function, self.name)
        contexts = [name for name in parameters if hints.get(name) is ToolContext]
        return {name: parameter for name, parameter in parameters.items() if name not in contexts}, contexts


def _executing(function: Callable[..., Any], parameters: Parameters) -> Execute:
    def given(arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        return {**parameters.converted(arguments), **parameters.in_context(context)}

    if inspect.iscoroutinefunction(function):

        async def execute_async(arguments: Mapping[str, Any], context: ToolContext) -> object:
            return _result(await function(**given(arguments, context)))

        return execute_async

    def execute(arguments: Mapping[str, Any], context: ToolContext) -> object:
        return _result(function(**given(arguments, context)))

    return execute


def _previewing(
    function: Callable[..., Any], wanted: dict[str, inspect.Parameter], contexts: list[str], parameters: Parameters
) -> Execute:
    def preview(arguments: Mapping[str, Any], context: ToolContext) -> object:
        values = {**parameters.defaults, **parameters.converted(arguments)}
        given = {
            name: values[name]
            for name, parameter in wanted.items()
            # What the model left out is previewed with the tool's default, unless the preview has its own.
            if name in arguments or (parameter.default is parameter.empty and name in values)
        }
        return function(**given, **dict.fromkeys(contexts, context))

    return _in_colour_of(function, preview)


def _in_colour_of(function: Callable[..., Any], call: Callable[..., Any]) -> Callable[..., Any]:
    """*call*, which returns what *function* does, as a coroutine function if *function* is one."""
    if not inspect.iscoroutinefunction(function):
        return call

    async def call_async(*arguments: object) -> object:
        return await call(*arguments)

    return call_async


def _result(returned: object) -> object:
    return ToolResult.text(returned) if isinstance(returned, str) else returned


def _check_return(declared: Tool, returns: Any) -> None:
    if returns is inspect.Parameter.empty:
        kinds: tuple[Any, ...] = () if declared.effect.writes else (str,)
    elif typing.get_origin(returns) in (typing.Union, types.UnionType):
        kinds = typing.get_args(returns)
    else:
        kinds = (returns,)
    allowed = (ToolResult,) if declared.effect.writes else (ToolResult, str)
    if kinds and all(isinstance(kind, type) and issubclass(kind, allowed) for kind in kinds):
        return
    if declared.effect.writes:
        raise ToolDeclarationError(
            declared.name, "it writes, so it is annotated -> ToolResult: only a result can name the records it wrote"
        )
    raise ToolDeclarationError(declared.name, "it is annotated to return neither str nor ToolResult")
