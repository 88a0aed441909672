"""
What a server lists, held to the limits: which tools are registered, and as what.

Nothing is cut to fit: a tool that does not fit is refused, with a reason for administrators, and
costs the others nothing.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

import attrs

from nr_agent_core.adapters.mcp.reports import RemoteToolReport
from nr_agent_core.adapters.mcp.settings import McpServer, RemoteTool
from nr_agent_core.domain.errors import AgentCoreError, DuplicateToolError, ToolDeclarationError
from nr_agent_core.domain.parameters import check_schema, violation
from nr_agent_core.domain.tool_result import ToolEffect
from nr_agent_core.domain.tools import Execute, Tool

SCHEMA_DEPTH: Final = 12
SCHEMA_BYTES: Final = 16_384
DESCRIPTION_CHARACTERS: Final = 4_000
LABEL_CHARACTERS: Final = 100

_BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS: Final = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_NAMED: Final = ("properties", "$defs", "definitions")
_CHECKED: Final = frozenset(
    {"type", "required", "enum", "const", "items", "additionalProperties", "anyOf", "$ref", *_NAMED, *_BOUNDS, *_COUNTS}
)
_MAPS: Final = (*_NAMED, "patternProperties", "dependentSchemas")
_OUT_OF_REACH: Final = ("$dynamicRef", "$recursiveRef")


class ListedTool(Protocol):
    """A tool as the SDK has it; what is read of it."""

    name: str
    title: str | None
    description: str | None
    input_schema: dict[str, Any]
    annotations: Any


@attrs.frozen
class Catalogue:
    """
    The tools of one server that are registered, those that were refused, and the schemas they were listed with.
    """

    tools: tuple[Tool, ...]
    reports: tuple[RemoteToolReport, ...]
    refused: Mapping[str, str]


def catalogue(server: McpServer, listed: Iterable[ListedTool], execute: Callable[[str, bool], Execute]) -> Catalogue:
    """
    What of *listed* is registered.

    Args:
        server: the operator's settings.
        listed: what the server lists.
        execute: makes the function that calls the tool of a remote name; told whether it writes.
    """
    tools: list[Tool] = []
    reports: list[RemoteToolReport] = []
    refused: dict[str, str] = {}
    listed = [item for item in listed if server.setting(item.name) is not None]
    remote = Counter(item.name for item in listed)
    local = Counter(local_name(server, name) for name in remote)
    for item in listed:
        setting, name = server.setting(item.name) or RemoteTool(), local_name(server, item.name)
        try:
            if remote[item.name] > 1 or local[name] > 1:
                raise DuplicateToolError(name)
            tool = _tool(server, setting, item, name, execute)
        except AgentCoreError as error:
            refused[item.name[:LABEL_CHARACTERS]] = str(error)[:200]
            continue
        tools.append(tool)
        reports.append(RemoteToolReport(name, item.name, _title(item), _hints(item.annotations)))
    return Catalogue(tuple(tools), tuple(reports), refused)


def local_name(server: McpServer, remote_name: str) -> str:
    """The name of a server's tool here: ``mcp_<server>_<name>``, or what its operator calls it. Never rewritten."""
    setting = server.setting(remote_name)
    return (setting.called if setting is not None else None) or f"mcp_{server.name}_{remote_name}"


def _tool(
    server: McpServer, setting: RemoteTool, item: ListedTool, name: str, execute: Callable[[str, bool], Execute]
) -> Tool:
    effect = ToolEffect.READ_ONLY if setting.reads is True else ToolEffect.NON_IDEMPOTENT_WRITE
    checked = _bounded_schema(name, item.input_schema)
    description = item.description or _title(item)
    if len(description) > DESCRIPTION_CHARACTERS:
        raise ToolDeclarationError(name, f"its description is longer than {DESCRIPTION_CHARACTERS} characters")
    return Tool(
        name,
        f"[{server.name}] {description}",
        item.input_schema,
        effect,
        execute(item.name, effect.writes),
        group=f"mcp_{server.name}",
        data_class=setting.data_class or server.data_class,
        approval=setting.approval,
        admin_only=True,
        enabled=setting.enabled,
        deadline=setting.deadline or server.deadline,
        remote=True,
        preview=setting.preview,
        reconcile=setting.reconcile,
        # What is not understood here is left to the server, which checks for itself.
        validator=lambda arguments: violation(checked, arguments),
    )


def _bounded_schema(name: str, schema: object) -> dict[str, Any]:
    """The part of *schema* that is checked here; the whole is refused when it passes a limit."""
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise ToolDeclarationError(name, 'its parameters are no schema with "type": "object" at the root')
    if _depth(schema) > SCHEMA_DEPTH:
        raise ToolDeclarationError(name, f"its schema nests more than {SCHEMA_DEPTH} deep")
    if len(json.dumps(schema, ensure_ascii=False).encode("utf-8", "replace")) > SCHEMA_BYTES:
        raise ToolDeclarationError(name, f"its schema is longer than {SCHEMA_BYTES} bytes")
    checked: dict[str, Any] = _checked(name, schema)
    check_schema(name, checked)
    return checked


def _depth(schema: Any) -> int:
    """How deep schemas nest in *schema*, which counts as the first."""
    deepest, waiting = 0, [(schema, 1)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, dict):
            deepest = max(deepest, depth)
            for keyword, inner in value.items():
                named = keyword in _MAPS and isinstance(inner, dict)
                waiting.extend((item, depth + 1) for item in (inner.values() if named else (inner,)))
        elif isinstance(value, list):
            waiting.extend((item, depth) for item in value)
    return deepest


def _checked(name: str, schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    for keyword in _OUT_OF_REACH:
        if keyword in schema:
            raise ToolDeclarationError(name, f"its schema uses {keyword}, which cannot be followed")
    kept: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword not in _CHECKED or (keyword.startswith("exclusive") and isinstance(value, bool)):
            continue
        if keyword in _NAMED and isinstance(value, dict):
            kept[keyword] = {key: _checked(name, item) for key, item in value.items()}
        elif keyword == "anyOf" and isinstance(value, list):
            kept[keyword] = [_checked(name, item) for item in value]
        elif keyword in ("items", "additionalProperties"):
            kept[keyword] = _checked(name, value) if not isinstance(value, list) else True
        else:
            kept[keyword] = value
    return kept


def _title(item: ListedTool) -> str:
    title = item.title or getattr(item.annotations, "title", None) or item.name
    return "".join(character for character in title if character.isprintable())[:LABEL_CHARACTERS]


def _hints(annotations: Any) -> dict[str, bool]:
    found = {}
    for hint in ("read_only", "destructive", "idempotent", "open_world"):
        value = getattr(annotations, f"{hint}_hint", None)
        if isinstance(value, bool):
            found[hint] = value
    return found
