"""
What a server answered, as the result of a tool (T4).
"""

import json
from collections import Counter
from typing import Any, Final

from nr_agent_core.domain.tool_result import ToolResult

# Named from this list alone: what a server calls its things is not repeated.
_NAMES: Final = {
    "image": ("image", "images"),
    "audio": ("audio clip", "audio clips"),
    "resource": ("resource", "resources"),
    "resource_link": ("link to a resource", "links to resources"),
}
_OTHER: Final = ("part of another kind", "parts of another kind")

NOT_SENT: Final = "The server of this tool could not be reached. The call was not sent; nothing was changed."
CHANGED: Final = (
    "The server of this tool describes it differently than when it was set up here, or no longer has it. "
    "The call was not sent; nothing was changed. An administrator has to look at it."
)
REFUSED: Final = "The server refused the call and did not carry it out."


def result_of(answer: Any) -> ToolResult:
    """
    The result that a server's answer stands for: its text, or an error where it says so.

    What is no text is dropped, and named with its number before the text.
    """
    texts, dropped = [], Counter[tuple[str, str]]()
    for block in answer.content:
        kind = getattr(block, "type", None)
        if kind == "text":
            texts.append(block.text)
        else:
            dropped[_NAMES.get(str(kind), _OTHER)] += 1
    if not texts and answer.structured_content is not None:
        texts.append(json.dumps(answer.structured_content, ensure_ascii=False))
    lines = []
    if dropped:
        told = ", ".join(f"{count} {one if count == 1 else many}" for (one, many), count in dropped.items())
        lines.append(f"[Not shown here, because it is no text: {told}.]")
    text = "\n".join([*lines, *texts]) or "(The tool answered without any text.)"
    return ToolResult.error(text) if answer.is_error else ToolResult.text(text)


def refusal(message: str) -> ToolResult:
    """A call that the server refused before it came to a tool, with at most 200 characters of what it says."""
    said = "".join(character for character in message if character.isprintable())[:200]
    return ToolResult.error(f"{REFUSED} It says: {said}" if said else REFUSED)
