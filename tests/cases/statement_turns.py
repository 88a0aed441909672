"""
Turns as data, played through a chat: earlier turns, calls with scripted outcomes, the answer.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nr_agent_core import (
    Chat,
    ClaimDetector,
    NothingWrittenError,
    Reader,
    RecordReference,
    Tool,
    ToolContext,
    ToolEffect,
    ToolResult,
    WriteKind,
)
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.domain.notices import Notice
from nr_agent_core.ports.configuration_resolver import Configuration
from nr_agent_core.testing.scripted_model import ScriptedModel, call

DATA = Path(__file__).resolve().parents[1] / "data"
READING = ("search", "list", "get", "find", "read", "show", "http", "diff", "skill")
Case = Mapping[str, Any]


def cases(name: str) -> list[Case]:
    """The turns of a data file."""
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def play(case: Case, **parts: Any) -> tuple[Notice, ...]:
    """
    The notices beside the answer of *case*; *parts* go to the chat.
    """
    turns = [*case.get("before", ()), case]
    calls = [made for turn in turns for made in turn.get("calls", ())]
    outcomes = iter(calls)
    names = dict.fromkeys(made["tool"] for made in calls)
    tools = [_tool(name, outcomes) for name in (*names, *case.get("offered", ()))]
    answers = [
        said
        for turn in turns
        for said in (
            *(call(made["tool"], **made.get("arguments", {})) for made in turn.get("calls", ())),
            turn["answer"],
        )
    ]
    rules = Configuration(model=ScriptedModel(*answers), unattended=frozenset(names), max_rounds=20)
    store = MemoryStore()
    chat = Chat(**{"store": store, "tools": tools, "configuration": rules, "detector": ClaimDetector(), **parts})
    reader = Reader("anna", language=case.get("lang", "en"), context=case.get("context", ""))
    conversation = None
    for turn in turns:
        conversation = chat.send(turn["user"], reader, conversation=conversation).conversation
    assert conversation is not None
    message = store.messages(conversation, limit=100)[-1]
    assert message.text == case["answer"], message
    return message.notices


def codes(notices: tuple[Notice, ...]) -> list[str]:
    """Their codes."""
    return [notice.code.value for notice in notices]


def _tool(name: str, outcomes: Iterator[Case]) -> Tool:
    reads = name.startswith(READING)

    def execute(arguments: Mapping[str, Any], context: ToolContext) -> ToolResult:
        return _result(next(outcomes))

    effect = ToolEffect.READ_ONLY if reads else ToolEffect.NON_IDEMPOTENT_WRITE
    return Tool(name, f"The tool {name}.", {"type": "object"}, effect, execute)


def _result(made: Case) -> ToolResult:
    match made.get("outcome", "text"):
        case "error":
            return ToolResult.error(made["result"])
        case "raises":
            raise NothingWrittenError(made["result"])
        case "unknown":
            raise ConnectionError(made["result"])
        case "unchanged":
            return ToolResult.unchanged(made["result"])
    result = ToolResult.text(made["result"])
    for write in made.get("writes", ()):
        reference, kind = write.split(" ")
        table, _, uid = reference.partition(":")
        result = result.with_write_target(RecordReference(table, int(uid) if uid.isdigit() else uid), WriteKind(kind))
    return result
