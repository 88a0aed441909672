"""
Text of a transcript made fit for a terminal: nothing in it moves the cursor, colours or reorders what stands there.
"""

import re
from typing import Final

_LINE_BREAKS: Final = {0x0A: "\u240a", 0x09: "\u2409"}
_DIRECTIONS: Final = (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
_CONTROLS: Final = {
    **{code: chr(0x2400 + code) for code in range(0x20) if code not in _LINE_BREAKS},
    0x7F: "\u2421",
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
    **{code: f"\\u{code:04x}" for code in (0x2028, 0x2029, *_DIRECTIONS)},
}
# One search is cheaper than a translation of text that needs none.
_SUSPECT: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def visible(text: str) -> str:
    """
    *text* with every control character replaced by a sign for it; line breaks and tabs stay.
    """
    text = text.replace("\r\n", "\n")
    if not _SUSPECT.search(text):
        return text
    return text.translate(_CONTROLS).encode("utf-8", "backslashreplace").decode("utf-8")


def visible_line(text: str) -> str:
    """
    The same on one line: for ids and the names of files and tools.
    """
    return visible(text).translate(_LINE_BREAKS)
