"""
Text that arrives in pieces, some of which end in the middle of a character.
"""


class StreamedText:
    """
    The pieces of one text.

    A JSON escape writes some characters as two halves, and a server may cut between them: the
    first half waits for the second. A half that stays alone becomes U+FFFD (P3).
    """

    __slots__ = ("_half", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._half = ""

    def take(self, piece: str) -> str:
        """What of the text can be told now that *piece* has come; it may be empty."""
        if not piece:
            return ""
        piece = self._half + piece
        self._half = piece[-1] if "\ud800" <= piece[-1] <= "\udbff" else ""
        whole = joined(piece[:-1] if self._half else piece)
        if whole:
            self._pieces.append(whole)
        return whole

    def rest(self) -> str:
        """What was still waiting when the text ended."""
        rest, self._half = joined(self._half), ""
        if rest:
            self._pieces.append(rest)
        return rest

    def __str__(self) -> str:
        return "".join(self._pieces)


def joined(text: str) -> str:
    """
    *text* whose halves of characters are put together; what has no other half becomes U+FFFD.
    """
    if text.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
