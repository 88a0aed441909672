"""
Making text fit: what no store or wire can hold, and what is too long for the model (P3, T9).
"""

import attrs

from nr_agent_core.domain.tool_result import ToolResult

RESULT_LIMIT = 50_000


def well_formed(text: str) -> str:
    r"""
    *text* with every lone surrogate replaced by U+FFFD; two halves that belong together are joined (P3).

    >>> well_formed("a\ud800b") == "a\ufffdb"
    True
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def bounded(text: str, limit: int = RESULT_LIMIT) -> str:
    """
    *text* as valid UTF-8 of at most *limit* bytes, cut on a character boundary and marked where it was cut (T9).

    The marker says how long the text was; a *limit* too small for it leaves it out.
    """
    text = well_formed(text)
    if len(text) * 4 <= limit:
        return text
    data = text.encode("utf-8")
    if len(data) <= limit:
        return text
    marker = f"\n[cut: this text was {len(data)} bytes long]".encode()
    if len(marker) > limit:
        marker = b""
    # "ignore" drops the one character that the cut went through, and nothing else.
    return data[: max(limit - len(marker), 0)].decode("utf-8", "ignore") + marker.decode()


def bounded_result(result: ToolResult) -> ToolResult:
    """*result* with its text bounded and every other field carried over (T9)."""
    content = bounded(result.content)
    if content == result.content:
        return result
    return attrs.evolve(result, content=content).carrying(result.writes)
