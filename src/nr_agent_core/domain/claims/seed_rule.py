"""
The literal rule (V3): a listed word with no negator among the three words before it in its clause.

It reads the text as it stands. A word is a maximal run of letters, digits and apostrophes of both
forms; a clause ends at ``. ! ? : ;`` or a line break. One unnegated word is enough.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, Final

from nr_agent_core.domain.claims.claim import Claim

_REACH: Final = 3
_PIECES: Final = re.compile("(?:[^\\W_]+|['\u2019]+)+|[.!?:;\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


class SeedRule:
    """
    The word lists of some languages, ready to read texts.

    Args:
        tables: parsed data by language code; a word of several languages belongs to the first.
    """

    def __init__(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        # By folded form: in capitals "ß" is written "SS".
        self._listed: dict[str, tuple[str, str]] = {}
        negators: list[str] = []
        prefixes: list[str] = []
        suffixes: list[str] = []
        for code, table in tables.items():
            for word in table["words"].split():
                self._listed.setdefault(word.casefold(), (word, code))
            negators += table["negators"].split()
            prefixes += table["negator_prefixes"].split()
            suffixes += table["negator_suffixes"].split()
        self._negators = frozenset(negators)
        self._prefixes, self._suffixes = tuple(prefixes), tuple(suffixes)

    def find(self, text: str) -> Iterator[Claim]:
        """
        Every unnegated listed word of *text*, in its order.
        """
        before: deque[str] = deque(maxlen=_REACH)
        for piece in _PIECES.finditer(text):
            word = piece[0].casefold()
            if not (word[0].isalnum() or word[0] in "'\u2019"):
                before.clear()
                continue
            listed = self._listed.get(word)
            if listed is not None and not any(map(self._negates, before)):
                yield Claim(piece.start(), piece.end(), *listed, "listed word")
            before.append(word)

    def explained(self, text: str) -> Iterator[Claim]:
        """
        Every listed word of *text*, the negated ones with what rejected them.
        """
        claimed = {claim.start: claim for claim in self.find(text)}
        for piece in _PIECES.finditer(text):
            if piece.start() in claimed:
                yield claimed[piece.start()]
            elif listed := self._listed.get(piece[0].casefold()):
                yield Claim(
                    piece.start(), piece.end(), *listed, "listed word", "a negator among the three words before"
                )

    def _negates(self, word: str) -> bool:
        straight = word.replace("\u2019", "'")
        return straight in self._negators or straight.startswith(self._prefixes) or straight.endswith(self._suffixes)
