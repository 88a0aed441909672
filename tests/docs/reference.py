"""
What the reference pages say that the code knows better. To bring the pages up to date::

    python -m tests.docs.reference
"""

import enum
import importlib
import inspect
import json
import re
import sqlite3
import types
import typing
from collections.abc import Iterator
from pathlib import Path

import attrs

import nr_agent_core
from nr_agent_core import codec
from nr_agent_core.adapters.agui import AsyncAgUiEndpoint
from nr_agent_core.adapters.anthropic import AnthropicModel
from nr_agent_core.adapters.fallback_model import FallbackModel
from nr_agent_core.adapters.mcp import HttpServer, McpServers, RemoteTool, StdioServer
from nr_agent_core.adapters.openai import OpenAIModel
from nr_agent_core.adapters.opentelemetry import TracedModel
from nr_agent_core.adapters.postgres import PostgresStore
from nr_agent_core.adapters.procrastinate import ProcrastinateRunQueue
from nr_agent_core.adapters.retrying_model import RetryingModel
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.adapters.sqlite.schema import bring_up_to_date
from nr_agent_core.adapters.thread_run_queue import ThreadRunQueue
from nr_agent_core.chat import Chat
from nr_agent_core.domain import bounding, context_window, continue_phrases, previews
from nr_agent_core.domain.failures import FailureCode, link_target
from nr_agent_core.domain.gate import DenialReason
from nr_agent_core.domain.notices import JsonValue, Notice, NoticeCode, ReplyCode
from nr_agent_core.domain.run_events import EVENT_TYPES, NotExecuted, RecordedCall, ToolFinished
from nr_agent_core.domain.run_status import TRANSITIONS, RunReason, RunStatus
from nr_agent_core.domain.texts import denial_sentence, failure_sentence, notice_label, reply_sentence
from nr_agent_core.domain.texts.catalogues import SHIPPED_LANGUAGES, shipped, shipped_catalogue
from nr_agent_core.domain.tool_result import Outcome, RecordReference, RecordWrite, ToolEffect, WriteKind
from nr_agent_core.domain.tools import DEFAULT_DEADLINE
from nr_agent_core.ports.configuration_resolver import MOST_ROUNDS
from nr_agent_core.runtime import housekeeping, recovery, segments, stored_runs, wiring
from nr_agent_core.steps import orders
from nr_agent_core.testing import RecordedModel
from tests.docs import pictures
from tests.docs.tables import Block, code, fixed, names_in, rewritten, table
from tests.test_public_api import exported_names, public_modules

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "nr_agent_core"
PAGES = sorted([*(ROOT / "docs" / "reference").glob("*.md"), *(ROOT / "docs" / "concepts").glob("*.md")])

# Under which heading an exported name stands, by the beginning of the module that defines it.
GROUPS = {
    "chat": ("chat.", "runtime.", "domain.conversation", "domain.reader"),
    "tools": ("domain.tool_decorator", "domain.tool_result", "domain.tools"),
    "setting": ("ports.", "defaults.", "domain.model_dialogue", "domain.trust_zones", "domain.gate"),
    "runs": ("domain.run_status", "domain.failures", "domain.approvals", "domain.continue_phrases"),
    "told": ("domain.notices", "domain.claims", "domain.write_evidence", "domain.provenance"),
    # The union of all of them says only that it is one of types.
    "events": ("domain.turn_events", "types"),
    "errors": ("domain.errors",),
}

_PAGE: JsonValue = {"reference": "pages:42", "kind": "created"}
# Arguments as they are stored; the labels are rendered for the first sample of a code, and for the others.
SAMPLES: dict[NoticeCode, tuple[dict[str, JsonValue], ...]] = {
    NoticeCode.RUN_ENDED: (
        {"status": "cancelled", "reason": "approval_expired", "code": None, "tools": ["create_page"]},
    ),
    NoticeCode.CALL_NOT_MADE: ({"tools": ["create_page"]},),
    NoticeCode.NOTHING_SAVED: ({},),
    NoticeCode.OTHER_RECORDS_WRITTEN: ({"claimed": ["pages:41"], "written": [_PAGE]},),
    NoticeCode.SAVED_NONETHELESS: ({"records": [_PAGE]}, {"tools": ["send_mail"]}),
    NoticeCode.UNKNOWN_REFERENCE: ({"references": ["pages:41"]},),
    NoticeCode.WRITE_OUTCOME_UNKNOWN: ({"tools": ["create_page"], "calls": ["0.0"]},),
    NoticeCode.SAVED_BEFORE_END: ({"records": [_PAGE]}, {"records": [], "tools": ["send_mail"]}),
    NoticeCode.RUN_FINISHED_OUTSIDE: (
        {"status": "completed", "records": [_PAGE], "tools": []},
        {"status": "completed", "records": [], "tools": [], "declined": ["create_page"]},
        {"status": "cancelled", "records": [], "tools": []},
    ),
}

FIGURES: dict[str, object] = {
    "longest message, bytes": stored_runs.MESSAGE_LIMIT,
    "rounds of a run": segments.DEFAULT_ROUNDS,
    "rounds of a run, at most": MOST_ROUNDS,
    "deadline of a tool, seconds": DEFAULT_DEADLINE,
    "deadline of a question to the model, seconds": orders.MODEL_DEADLINE,
    "lease margin, seconds": wiring.LEASE_MARGIN,
    "waits of a worker before it asks the model again, seconds": ", ".join(f"{wait:g}" for wait in orders.RETRY_DELAYS),
    "segments opened by recovery in a row": recovery.MOST_ATTEMPTS,
    "overdue queued run, seconds": recovery.QUEUED_GRACE,
    "portion of a purge": housekeeping.PORTION,
    "lines of a preview": previews.LINES,
    "characters of a preview's line": previews.LINE_LENGTH,
    "result of a tool, bytes": bounding.RESULT_LIMIT,
    "go-on phrase, characters": continue_phrases.LONGEST_PHRASE,
    "unknown context window, tokens": context_window.UNKNOWN_WINDOW,
    "smallest question whose usage corrects, estimated tokens": context_window.CALIBRATION_FLOOR,
    "correction of an estimate, at most times": context_window.CALIBRATION_BOUND,
}


# ----------------------------------------------------------------------------------- public API


def sentence(value: object) -> str | None:
    """The first sentence of a docstring, on one line and without markup for references; None without one."""
    text = inspect.getdoc(value) if isinstance(value, type) or callable(value) else None
    if not text or isinstance(value, types.GenericAlias | types.UnionType):
        return None
    line = " ".join(text.split("\n\n")[0].split())
    line = re.sub(r":\w+:`(?:~[\w.]*?(\w+)|([\w.]+))`", r"`\1\2`", line).replace("``", "`")
    return re.split(r"(?<=\.) ", line)[0].replace("|", "\\|")


def group_of(value: object) -> str:
    """Under which heading an exported name of the package stands."""
    module = str(getattr(value, "__module__", "")).removeprefix("nr_agent_core.")
    found = [group for group, beginnings in GROUPS.items() if module.startswith(beginnings)]
    assert found, f"{value!r} of {module} stands under no heading: extend GROUPS"
    return found[0]


def _api() -> Iterator[tuple[str, Block]]:
    head, seen = ("name", "meaning"), set[str]()
    for group in GROUPS:
        values = [(name, getattr(nr_agent_core, name)) for name in exported_names(nr_agent_core)]
        chosen = [(code(name), sentence(value)) for name, value in values if group_of(value) == group]
        yield f"api:{group}", table(head, chosen)
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        names = exported_names(module)
        if module is nr_agent_core:
            seen.update(names)
            continue
        # A name stands under the first module that exports it.
        rows = [(code(name), sentence(getattr(module, name))) for name in names if name not in seen]
        seen.update(names)
        if rows:
            yield f"api:{module_name.removeprefix('nr_agent_core.')}", table(head, rows)
    for cls in (nr_agent_core.Chat, nr_agent_core.Runtime):
        methods = [(name, value) for name, value in vars(cls).items() if inspect.isfunction(value) and name[0] != "_"]
        rows = [(code(name), sentence(value)) for name, value in methods]
        yield f"methods:{cls.__name__}", table(("method", "meaning"), rows)


# -------------------------------------------------------------------------------------- notices


def made(notice: NoticeCode) -> bool:
    """Whether the package makes this notice anywhere outside its testing kit."""
    made_here = f"Notice(NoticeCode.{notice.name}"
    sources = (path for path in SOURCE.rglob("*.py") if "testing" not in path.relative_to(SOURCE).parts)
    return any(made_here in path.read_text(encoding="utf-8") for path in sources)


def _names(arguments: typing.Iterable[str]) -> str:
    return ", ".join(map(code, arguments)) or "none"


def _notices() -> Iterator[tuple[str, Block]]:
    arguments = {notice: dict.fromkeys(name for sample in SAMPLES[notice] for name in sample) for notice in NoticeCode}
    rows = [
        (code(notice.value), None, _names(arguments[notice]), "yes" if made(notice) else "not yet")
        for notice in NoticeCode
    ]
    yield "notices", table(("code", "meaning", "arguments", "made by this release"), rows)
    languages = [(tag, shipped_catalogue(tag).language) for tag in SHIPPED_LANGUAGES]
    rows = [
        (code(tag), each.name, "yes" if each.reviewed else "**no**", _names(each.forms), each.number(12345))
        for tag, each in languages
    ]
    yield "languages", table(("language", "name", "reviewed", "plural forms", "a number"), rows)
    labels = [(notice, Notice(notice, sample)) for notice in NoticeCode for sample in SAMPLES[notice]]
    yield (
        "labels:notices",
        _labels([(code(n.value), notice_label(s, "en"), notice_label(s, "de")) for n, s in labels]),
    )
    yield "replies", table(("code", "when"), [(code(reply.value), None) for reply in ReplyCode])
    yield (
        "labels:replies",
        _labels([(code(r.value), reply_sentence(r, "en"), reply_sentence(r, "de")) for r in ReplyCode]),
    )
    targets = [(code(f.value), None, code(link_target(f) or "") if link_target(f) else "none") for f in FailureCode]
    yield "failures", table(("code", "from", "link target"), targets)
    yield (
        "labels:failures",
        _labels([(code(f.value), failure_sentence(f, "en"), failure_sentence(f, "de")) for f in FailureCode]),
    )
    yield "reasons", table(("reason", "status", "meaning"), [(code(reason.value), None, None) for reason in RunReason])
    ended = [(code(r.value), *(_ended(r, language) for language in ("en", "de"))) for r in RunReason]
    yield "labels:reasons", _labels([row for row in ended if row[1]])
    yield (
        "labels:denials",
        _labels([(code(r.value), denial_sentence(r, "en"), denial_sentence(r, "de")) for r in DenialReason]),
    )


def _ended(reason: RunReason, language: str) -> str:
    entry = shipped(language).get(f"ended.{reason.value}", "")
    assert isinstance(entry, str)
    return entry


def _labels(rows: list[tuple[str, str, str]]) -> Block:
    return table(("code", "English", "German"), rows)


# ---------------------------------------------------------------------------------- stored form

_WRITTEN = ToolFinished(
    0, 0, "save", ToolEffect.IDEMPOTENT_WRITE, True, Outcome.TEXT, 0,
    writes=(RecordWrite(RecordReference("pages", 42), WriteKind.CREATED),),
)  # fmt: skip
_WORDS = {str: "text", int: "integer", float: "number", bool: "true or false"}


def form_of(hint: typing.Any) -> str:
    """A type as its stored form, such as ``list of text or null``."""
    if typing.get_origin(hint) is tuple:
        inner = form_of(typing.get_args(hint)[0])
        return f"list of ({inner})" if " " in inner else f"list of {inner}"
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join("null" if each is type(None) else form_of(each) for each in typing.get_args(hint))
    return _WORDS.get(hint, hint.__name__)


def _fields(cls: type, *, content: bool) -> str:
    hints = typing.get_type_hints(cls)
    chosen = [field for field in attrs.fields(cls) if bool(field.metadata.get("content")) is content]
    return "; ".join(f"{code(field.name)} {form_of(hints[field.name])}" for field in chosen) or "none"


def _stored() -> Iterator[tuple[str, Block]]:
    db = sqlite3.connect(":memory:", isolation_level=None)
    bring_up_to_date(db, "documents")
    everything = db.execute("SELECT name, type FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
    names = [name for name, form in everything if form == "table" and not name.startswith("sqlite")]
    yield "tables", table(("table", "holds"), [(code(name), None) for name in names])
    for name in names:
        columns = db.execute(f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('{name}')").fetchall()
        rows = [
            (code(column), form + ("" if needed or key else " or NULL") + (", key" if key else ""), None)
            for column, form, needed, key in columns
        ]
        yield f"columns:{name}", table(("column", "form", "meaning"), rows)
    guards = [(code(name), form, None) for name, form in everything if form in {"index", "trigger"}]
    yield "guards", table(("name", "kind", "meaning"), guards)
    db.close()
    rows = [
        (code(event.kind), sentence(event), _fields(event, content=False), _fields(event, content=True))
        for event in EVENT_TYPES
    ]
    yield "events", table(("kind", "says", "facts", "content"), rows)
    nested = [(cls.__name__, _fields(cls, content=False)) for cls in (RecordedCall, previews.CallPreview)]
    written = json.loads(codec.dump(_WRITTEN)[1])["writes"][0]
    nested.append(("RecordWrite", _names(written)))
    yield "nested", table(("form", "fields"), [(code(name), fields) for name, fields in nested])
    enums = [(code(cls.__name__), _names(str(member.value) for member in cls)) for cls in _enumerations()]
    yield "values", table(("form", "values"), enums)
    yield "not-executed", table(("value", "meaning"), [(code(why.value), None) for why in NotExecuted])


def _enumerations() -> list[type[enum.Enum]]:
    """Every enumeration that an event can hold, each once."""
    found: dict[type[enum.Enum], None] = {}
    for cls in (*EVENT_TYPES, RecordedCall, RecordWrite):
        for hint in typing.get_type_hints(cls).values():
            for each in (hint, *typing.get_args(hint)):
                if isinstance(each, type) and issubclass(each, enum.Enum):
                    found[each] = None
    return list(found)


# ------------------------------------------------------------------------------------- settings


def arguments_of(*functions: object, without: frozenset[str] = frozenset()) -> Block:
    """The arguments of some functions with their defaults, as a table."""
    rows: dict[str, tuple[str, str, None]] = {}
    for function in functions:
        for name, parameter in inspect.signature(function).parameters.items():  # type: ignore[arg-type]
            if name in {"self", "parts", *without}:
                continue
            rows[name] = (code(name), _default(name, _made(function, name, parameter.default)), None)
    return table(("argument", "default", "meaning"), list(rows.values()))


def _made(function: object, name: str, value: object) -> object:
    """A default, as it is made where each object gets one of its own."""
    if not isinstance(function, type) or value is not attrs.NOTHING:
        return value
    (default,) = (field.default for field in attrs.fields(function) if field.name == name)
    made: object = default.factory()
    return _Plain(made) if attrs.has(type(made)) else made


class _Plain:
    """A value made without arguments, told by its type."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        return f"{type(self._value).__name__}()"


def _default(name: str, value: object) -> str:
    if value is inspect.Parameter.empty:
        return "required"
    if name == "unavailable_tools":
        return "what the gate refuses"
    return code(str(value.value) if isinstance(value, enum.Enum) else repr(value).replace("'", '"'))


def _settings() -> Iterator[tuple[str, Block]]:
    yield "configuration", arguments_of(nr_agent_core.Configuration)
    yield "chat", arguments_of(Chat.__init__)
    yield "parts", arguments_of(wiring.Wiring.__init__)
    yield "retention", arguments_of(nr_agent_core.Retention)
    yield "sqlite", arguments_of(SqliteStore.__init__)
    yield "postgres", arguments_of(PostgresStore.__init__)
    yield "thread-queue", arguments_of(ThreadRunQueue.__init__)
    yield "engine-queue", arguments_of(ProcrastinateRunQueue.__init__)
    yield "agui", arguments_of(AsyncAgUiEndpoint.__init__)
    yield "work", arguments_of(nr_agent_core.Runtime.work)
    for model in (OpenAIModel, AnthropicModel, FallbackModel, RetryingModel, TracedModel):
        yield model.__name__, arguments_of(model.__init__)
    for servers in (McpServers, StdioServer, HttpServer, RemoteTool):
        yield servers.__name__, arguments_of(servers)
    yield "RecordedModel", arguments_of(RecordedModel.__init__)
    yield "tool", arguments_of(nr_agent_core.tool)
    yield (
        "tool-class",
        arguments_of(nr_agent_core.Tool, without=frozenset(inspect.signature(nr_agent_core.tool).parameters)),
    )
    yield "reader", arguments_of(nr_agent_core.Reader)
    yield "roles", arguments_of(nr_agent_core.RoleAccess.__init__)
    yield "detector", arguments_of(nr_agent_core.ClaimDetector.__init__)
    yield "phrases", arguments_of(nr_agent_core.ContinuePhraseRouter.__init__)
    yield "zones", arguments_of(nr_agent_core.TrustZones)
    yield "figures", table(("figure", "value", "rule"), [(name, str(value), None) for name, value in FIGURES.items()])


# ------------------------------------------------------------------------------------- concepts


def _moves() -> Iterator[tuple[str, Block]]:
    rows = []
    for status, moves in TRANSITIONS.items():
        before = code(status.value) if status else "(none)"
        for event, targets in moves.items():
            after = " or ".join(code(target.value) for target in targets)
            rows.append((before, code(event), "(late outcome only)" if _late(status, event) else "", after))
    yield "moves", fixed(table(("from", "by", "", "to"), rows)(""))


def _late(status: RunStatus | None, event: str) -> bool:
    return event == "tool" and status is not RunStatus.RUNNING


BLOCKS: dict[str, Block] = {
    name: block for part in (_api, _notices, _stored, _settings, _moves) for name, block in part()
}


def main() -> None:
    """Write every page anew; what is written by hand stays."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = rewritten(text, BLOCKS)
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(f"wrote {page.relative_to(ROOT)}: {', '.join(names_in(new))}")
    pictures.main()


if __name__ == "__main__":
    main()
