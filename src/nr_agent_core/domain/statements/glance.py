"""
Quick looks at an answer: whether it holds anything that could be compared. Most answers end here.
"""

import re
from typing import Final

from nr_agent_core.domain.statements.wording import Wording

_DIGITS: Final = re.compile(r"\d+")
_CUT: Final = re.compile(r"[.!?;,\n–—]")
_SIGNS: Final = ".,;:!?*()–—"
_LABELS: Final = ("id", "ids")
_LABEL_SIGNS: Final = " \t(`*=:_#"
_FILE: Final = re.compile(r"\w\.[A-Za-z]")


def _tokens(text: str) -> list[str]:
    """The words of *text* as far as a quick look tells them apart; "n't" is one of its own."""
    for sign in _SIGNS:
        text = text.replace(sign, " ")
    return text.lower().replace("’", "'").replace("n't", " n't").split()


def may_refer(text: str, words: Wording, *, files: bool) -> bool:
    """Whether a reference to a record may stand in *text*: looked for around its digits only."""
    for match in _DIGITS.finditer(text):
        at, end = match.span()
        if at and _refers(text, at, end, words):
            return True
    if text.count("-") >= 4 and re.search(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-", text) is not None:
        return True
    return files and _FILE.search(text) is not None


def _refers(text: str, at: int, end: int, words: Wording) -> bool:
    sign = text[at - 1]
    if sign == "#":
        return True
    if sign == ":":
        return not text[at - 2 : at - 1].isdigit()
    if sign == "-" or sign.isalpha():
        before = text[at - 2 : at - 1]
        token = text[max(0, at - 64) : at].rpartition(" ")[2]
        return (sign == "-" and before.isalpha()) or ":" in token
    if sign in _LABEL_SIGNS:
        head = text[max(0, at - 24) : at].rstrip(_LABEL_SIGNS).lower()
        if head.endswith(_LABELS):
            return True
        return end - at > 2 and head[head.rfind(" ") + 1 :].lstrip('(*_`"').rstrip("s") in words.numbered
    return False


def may_count(text: str, words: Wording) -> bool:
    """Whether a number that could count records may stand in *text*."""
    if not words.counting.isdisjoint(_tokens(text)):
        return True
    return any(
        match.end() - match.start() <= 3 and text[match.end() : match.end() + 2].strip().isalpha()
        for match in _DIGITS.finditer(text)
        if text[match.end() : match.end() + 1] == " "
    )


def may_deny(text: str, words: Wording) -> bool:
    """Whether some part of *text* holds both a word that denies and one for a change."""
    if words.denying.isdisjoint(_tokens(text)):
        return False
    low = text.lower().replace("’", "'").replace("*", " ").replace("n't", " n't")
    for part in _CUT.split(low):
        present = part.split()
        if not words.settled.isdisjoint(present):
            return True
        if not words.denying.isdisjoint(present) and not words.undone.isdisjoint(present):
            return True
    return False
