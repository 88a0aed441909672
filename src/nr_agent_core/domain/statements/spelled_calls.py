"""
Calls that an answer spells out as text; none of them was made (V12).
"""

import functools
import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nr_agent_core.domain.statements.wording import Wording

_LONGEST = 20_000
_LOOKED_AT = 50
"""So many places that name a tool are looked at, and so much text behind each."""
_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)]|\|)\s")
_WRITTEN = {"True": "true", "False": "false", "None": "null"}
_QUOTED = r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"


class SpelledCall(NamedTuple):
    """
    A call as text: where it stands, of which tool, and the values of its arguments.
    """

    start: int
    end: int
    tool: str
    values: tuple[str, ...]


@functools.cache
def _patterns() -> "dict[str, re.Pattern[str]]":
    number, simple = r"-?\d[\d.]*", "true|false|null|None"
    return {
        "named": re.compile(
            r"\"(?:name|tool|tool_name|function|action|recipient_name|functionName)\"\s*:\s*\"(?:functions\.)?\Z"
        ),
        "arguments": re.compile(
            r"\"(?:arguments|args|parameters|params|input|tool_input|action_input|kwargs)\"\s*:\s*[\"{\[]"
        ),
        # Signs of a call that may stand before a name in its line.
        "lead": re.compile(
            r"(?:^|\n)[\s>*_`\-\d.]*"
            r"(?:\[?(?:tool_calls?|tool|function|action|call)\]?\s*[:=]?\s*|<\|?[^<>\n]{1,40}\|?>\s*"
            r"|[\w ]{0,20}to=|print\(|await\s+|default_api\.|functions?\.|tools?\.|assistant\s+)*[*_`\"]*\Z",
            re.IGNORECASE,
        ),
        "introduced": re.compile(r":[\s*_`]*\Z"),
        "attribute": re.compile(
            r"<(?:[\w.-]{1,40}:)?(?:invoke|tool_call|tool|function|function_call|tool_use|call)(?:\s+name\s*=\s*[\"']?|=)\Z"
        ),
        "element": re.compile(r"<(?:[\w.-]{1,40}:)?(?:(?:tool_)?name>\s*)?\Z"),
        "yaml": re.compile(
            r"[\"']?[ \t]*\n[ \t]*(?:arguments|args|parameters|params|input)[ \t]*:[ \t]*\n"
            r"((?:[ \t]+[\w-]+[ \t]*:[ \t]*\S[^\n]*(?:\n|\Z))+)"
        ),
        "key": re.compile(r"(?:^|\n)[ \t]*(?:tool|tool_name|name|function|action)[ \t]*:[ \t]*[\"']?\Z"),
        "line": re.compile(r"[ \t]+[\w-]+[ \t]*:[ \t]*(\S[^\n]*)"),
        "inside": re.compile(r"[\"']?\s*(?:/?>|</(?:tool_)?name>)\s*(?:<[\w.:-]{1,64}[^<>]{0,200}>|\{)"),
        "json": re.compile(
            r"[*_`\"]*\s*:?\s*(?:<[^<>\n]{1,40}>\s*)?"
            r"(?:(?:action\s*input|arguments|args|parameters|input)\s*:?\s*)?(?:```(?:json)?\s*)?(?=\{)",
            re.IGNORECASE,
        ),
        "pair": re.compile(
            r"\s*[A-Za-z_]\w*\s*(?:=|:(?!:))\s*"
            rf"({_QUOTED}|{number}|{simple}|\[[^\[\]]*\]|\{{[^{{}}]*\}})\s*(?:,|\Z)",
            re.IGNORECASE,
        ),
        "lone": re.compile(rf"\s*({_QUOTED}|{number})\s*(?:,|\Z)"),
        "value": re.compile(rf":\s*({_QUOTED}|{number}|{simple})", re.IGNORECASE),
        "tagged": re.compile(r">\s*([^<>\s][^<>]*?)\s*</"),
        "placeholder": re.compile(
            r"\.\.\.|…|^<.*>$|^\{.*\}$|^\[.*\]$|^$|^(?:your|ihr|string|text|str|int|value|wert)\b", re.IGNORECASE
        ),
    }


def spelled_calls(text: str, tools: Iterable[str], words: Wording) -> Iterator[SpelledCall]:
    """
    The calls of *tools* that *text* spells out, each standing for itself: not explained, recounted or proposed.
    """
    for tool in tools:
        at, looked_at = text.find(tool), 0
        while at >= 0 and looked_at < _LOOKED_AT:
            looked_at += 1
            end = at + len(tool)
            if not _part_of_a_word(text, at, end):
                call = _call(text, at, end, tool)
                if call is not None and call.values and not _only_told(text, call, words):
                    yield call
                    end = call.end
            at = text.find(tool, end)


def _part_of_a_word(text: str, at: int, end: int) -> bool:
    beside = f"{text[max(at - 1, 0) : at]}{text[end : end + 1]}"
    return any(sign.isalnum() or sign in "_-" for sign in beside)


def _call(text: str, at: int, end: int, tool: str) -> SpelledCall | None:
    patterns = _patterns()
    before, after = text[max(0, at - 200) : at], text[end : end + _LONGEST]
    if patterns["named"].search(before):
        return _json_call(text, at, tool)
    if before.endswith('"') and re.match(r"\"\s*:\s*\{", after) and re.search(r"(?<![:\s])\s*\{\s*\"\Z", before):
        return _object(text, end + after.index("{"), at, tool)
    if patterns["attribute"].search(before) or patterns["element"].search(before):
        return _xml_call(text, at, end, tool)
    spelled = patterns["yaml"].match(after)
    if spelled and patterns["key"].search(before):
        return SpelledCall(at, end + spelled.end(), tool, tuple(patterns["line"].findall(spelled[1])))
    if re.match(r"\s?\(", after) and (_leads(before) or patterns["introduced"].search(before)):
        return _parenthesised(text, at, end + after.index("("), tool)
    opening = patterns["json"].match(after)
    if opening and not before.endswith('"') and (_leads(before) or patterns["introduced"].search(before)):
        return _object(text, end + opening.end(), at, tool)
    return None


def _leads(before: str) -> bool:
    """Whether nothing but marks and signs of a call stands before it in its line."""
    return _patterns()["lead"].search(before if "\n" in before else f"\n{before}") is not None


def _json_call(text: str, at: int, tool: str) -> SpelledCall | None:
    start = text.rfind("{", 0, at)
    if start < 0:
        return None
    close = _closing(text, start)
    body = text[start : close + 1]
    found = _patterns()["arguments"].search(body)
    if found is None:
        # The arguments may stand around an inner object: {"function": {"name": ...}, "arguments": ...}
        return None
    # What stands beside the arguments, such as a result, is none of them.
    opening = found.end() - 1
    arguments = body[opening : _closing(body, opening) + 1] if body[opening] in "{[" else body[opening:]
    return SpelledCall(start, close + 1, tool, _values(arguments.replace('\\"', '"')))


def _object(text: str, opening: int, at: int, tool: str) -> SpelledCall:
    close = _closing(text, opening)
    return SpelledCall(at, close + 1, tool, _values(text[opening : close + 1]))


def _xml_call(text: str, at: int, end: int, tool: str) -> SpelledCall | None:
    inside = _patterns()["inside"].match(text, end)
    if inside is None:
        return None
    start = text.rfind("<", 0, at)
    if text.startswith(("<name", "<tool_name"), start):
        start = max(text.rfind("<", 0, start), 0)
    element = re.match(r"<(?:[\w.-]+:)?([\w.-]+)", text[start:])
    name = re.escape(element[1]) if element else ""
    closing = re.compile(rf"</(?:[\w.-]+:)?{name}\s*>").search(text, end, end + _LONGEST)
    stop = closing.end() if closing else min(len(text), end + _LONGEST)
    body = text[end:stop]
    return SpelledCall(start, stop, tool, (*_values(body), *_patterns()["tagged"].findall(body)))


def _parenthesised(text: str, at: int, opening: int, tool: str) -> SpelledCall | None:
    close = _closing(text, opening)
    inner = text[opening + 1 : close].strip()
    if inner.startswith("{"):
        return SpelledCall(at, close + 1, tool, _values(inner))
    values: list[str] = []
    place, plain = 0, tool.isalpha() and tool.islower() and text[:at].strip() + text[close + 1 :].strip() != ""
    while place < len(inner):
        pair = _patterns()["pair"].match(inner, place) or _patterns()["lone"].match(inner, place)
        # sum(1, 2) and send("x") are functions of many programs.
        if pair is None or (plain and pair.re is _patterns()["lone"]):
            return None
        values.append(pair[1].strip("\"'"))
        place = pair.end()
    return SpelledCall(at, close + 1, tool, tuple(values))


def _closing(text: str, opening: int) -> int:
    """Where the bracket at *opening* is closed; the last place looked at if it never is."""
    depth = 0
    for match in re.compile(rf"{_QUOTED}|[(){{}}\[\]]").finditer(text, opening, opening + _LONGEST):
        if match[0] in "({[":
            depth += 1
        elif match[0] in ")}]":
            depth -= 1
            if depth == 0:
                return match.start()
    return min(len(text), opening + _LONGEST) - 1


def _values(body: str) -> tuple[str, ...]:
    return tuple(found.strip("\"'") for found in _patterns()["value"].findall(body))


def _only_told(text: str, call: SpelledCall, words: Wording) -> bool:
    """Whether the lines before say that it is an example, a proposal or a recount; or its values are none."""
    if all(_patterns()["placeholder"].search(value) or value.lower() in words.kinds for value in call.values):
        return True
    before, after = text[max(0, call.start - 600) : call.start], text[call.end : call.end + 300]
    lines = before.split("\n")
    if any(line.lstrip().startswith("#") and call.tool in line for line in _worded(lines)[-2:]):
        return True
    if lines[-1].lstrip().startswith(">") or _in_a_program(text, call, words):
        return True
    # Of a list, what stands before it counts.
    told = [line for line in lines[:-1] if _ITEM.match(line) is None] + lines[-1:]
    if any(words.no_call.search(line) for line in _worded(told)[-2:]):
        return True
    following = [line for line in after.split("\n")[1:] if _ITEM.match(line) is None]
    return any(words.proposed.search(line) for line in _worded(following)[:2])


def _worded(lines: list[str]) -> list[str]:
    """Those that say something: no fence and not only marks."""
    return [line for line in lines if line.strip(" `*>-") and not line.lstrip().startswith("```")]


def _in_a_program(text: str, call: SpelledCall, words: Wording) -> bool:
    """Whether it stands in a block of code that holds more than calls."""
    if "```" not in text:
        return False
    start = text.rfind("```", 0, call.start)
    if start < 0 or text.count("```", max(0, start - _LONGEST), call.start) % 2 == 0:
        return False
    stop = text.find("```", call.end, call.end + _LONGEST)
    block = text[max(start, call.start - _LONGEST) : stop if stop >= 0 else call.end + _LONGEST]
    return not words.program.isdisjoint(re.findall(r"^[ \t#!@<?]*([A-Za-z]+)", block[3:], re.MULTILINE))


def recounted(call: SpelledCall, made: Iterable[tuple[str, str]]) -> bool:
    """
    Whether *call* may tell of one of the calls that were *made*: (tool, arguments as JSON text) each.
    """
    return any(tool == call.tool and _covers(arguments, call.values) for tool, arguments in made)


def _covers(arguments: str, values: tuple[str, ...]) -> bool:
    try:
        # Letters as they are, however the model escaped them.
        told = json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        told = arguments
    return all(_WRITTEN.get(value, value.strip().rstrip("… ")) in told for value in values)
