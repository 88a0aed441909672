"""
"Go on" while an approval waits: which messages are no new request, and where a message goes (C1-C7).

Rule 1: a message is never consent (P6). All a phrase does is to ask the run where it stands.
Rule 2: the run decides where a message goes; its text only says whether it is a phrase (P1).
Rule 3: only the WHOLE message counts. Anything longer, a question, a refusal: an ordinary request.
"""

import enum
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.package_data import read_toml

SHIPPED_LANGUAGES = ("de", "en", "es", "fr", "it", "nl", "pl", "pt")
"""The languages whose phrases ship with this package."""

LONGEST_PHRASE = 60
"""A message of more characters is no phrase (C1)."""


class PhraseKind(enum.Enum):
    """
    What a phrase says (C1). None of the three is a decision.
    """

    GO_ON = "go_on"
    APPROVED_IT = "approved_it"
    ASSENT = "assent"


class Standing(enum.Enum):
    """
    How a conversation's last run stands when a message comes in.
    """

    NONE = "none"
    """There is no run."""
    WAITING = "waiting"
    """It waits for an approval."""
    QUEUED = "queued"
    RUNNING = "running"
    ENDED_HERE = "ended_here"
    """It ended by what its chat did, or a user message was stored since."""
    ENDED_OUTSIDE = "ended_outside"
    """It was ended by something its chat did not cause, and no user message was stored since."""
    UNANSWERABLE = "unanswerable"
    """It is not found or cannot be read."""


class Route(enum.Enum):
    """
    Where a message goes.
    """

    HELD = "held"
    """Nothing is stored and no run starts: the decision is taken on the card (C2)."""
    BUSY = "busy"
    """Nothing is stored: the run is at work (C3, C6)."""
    DELIVERED = "delivered"
    """The message is stored with a line that names what the run wrote; no run starts (C4)."""
    ORDINARY = "ordinary"
    """A new turn."""
    SUPERSEDE = "supersede"
    """A new turn, and in the same transaction the waiting run ends superseded (C6)."""
    LET_GO = "let_go"
    """A new turn, and in the same transaction the conversation lets go of the run (C5)."""


_ROUTES = {
    Standing.NONE: Route.ORDINARY,
    Standing.QUEUED: Route.BUSY,
    Standing.RUNNING: Route.BUSY,
    Standing.ENDED_HERE: Route.ORDINARY,
    Standing.ENDED_OUTSIDE: Route.ORDINARY,
    Standing.UNANSWERABLE: Route.LET_GO,
}


def phrase_matters(standing: Standing) -> bool:
    """
    Whether a phrase goes anywhere else than an ordinary message (C1): else there is no need to look for one.
    """
    return standing is Standing.WAITING or standing is Standing.ENDED_OUTSIDE


def route(kind: PhraseKind | None, standing: Standing) -> Route:
    """
    Where a message goes, given what it is and how the conversation's last run stands (C1-C6).

    Args:
        kind: the kind of phrase it is; None for every other message.
        standing: how the last run stands.
    """
    if standing is Standing.WAITING:
        return Route.SUPERSEDE if kind is None else Route.HELD
    if standing is Standing.ENDED_OUTSIDE and kind in (PhraseKind.GO_ON, PhraseKind.APPROVED_IT):
        return Route.DELIVERED
    return _ROUTES[standing]


class ContinuePhraseRouter:
    """
    Recognises the phrases of its languages, all of them at once: no language is guessed (C1).

    >>> ContinuePhraseRouter().phrase_kind("Ok, mach bitte weiter!")
    <PhraseKind.GO_ON: 'go_on'>

    Args:
        languages: which of the shipped phrases count; None: all of them.
        extra: further phrases by language, each a mapping like the shipped files: ``openers``,
            ``trailers``, ``go_on``, ``approved_it``, ``assent``, all of them lists of texts.

    Raises:
        InvalidValueError: a language does not ship, or *extra* holds something else.
    """

    def __init__(
        self,
        languages: Iterable[str] | None = None,
        *,
        extra: Mapping[str, Mapping[str, Sequence[str]]] | None = None,
    ) -> None:
        self.languages = SHIPPED_LANGUAGES if languages is None else tuple(languages)
        for language in self.languages:
            if language not in SHIPPED_LANGUAGES:
                raise InvalidValueError("a language of phrases", language, f"one of {', '.join(SHIPPED_LANGUAGES)}")
        self._extra = tuple(_checked(name, data) for name, data in (extra or {}).items())
        self._patterns: _Patterns | None = None

    def phrase_kind(self, text: str) -> PhraseKind | None:
        """
        The kind of phrase that the whole message is, or None: it is an ordinary request (C1).

        Case, blanks, trailing punctuation and symbols other than question marks, and openers such
        as "ok" or "bitte" do not matter.
        """
        text = text.strip()
        if len(text) > LONGEST_PHRASE:
            return None
        if self._patterns is None:
            shipped = (read_toml("nr_agent_core.domain", f"phrases/{name}.toml") for name in self.languages)
            self._patterns = _Patterns((*shipped, *self._extra))
        message = " ".join(_folded(text).split())
        if not _REFUSING.isdisjoint(message):
            return None
        return self._patterns.kind(message) or self._patterns.kind(_without_trailing_marks(message))


class _Patterns:
    """The phrases of several languages as one pattern a kind."""

    def __init__(self, languages: Iterable[Mapping[str, Sequence[str]]]) -> None:
        lists: dict[str, list[str]] = {}
        for language in languages:
            for name, entries in language.items():
                lists.setdefault(name, []).extend(map(_folded, entries))
        self._kinds = {kind: re.compile(_any_of(lists.get(kind.value, []))) for kind in PhraseKind}
        self._openers = re.compile(f"({_any_of(lists.get('openers', []))}){_GAP}(?=.)")
        self._trailers = re.compile(f"(?<=.){_GAP}({_any_of(lists.get('trailers', []))})$")

    def kind(self, message: str) -> PhraseKind | None:
        """The kind of *message*, as it is or without openers and trailers."""
        waiting, seen = [message], set[str]()
        while waiting:
            candidate = waiting.pop(0)
            if candidate in seen:
                continue
            seen.add(candidate)
            for kind, pattern in self._kinds.items():
                if pattern.fullmatch(candidate):
                    return kind
            # Each of the two lists may offer a short and a long match ("thanks", "thanks a lot"); both are tried.
            waiting.extend(candidate[found.end() :] for found in _matches(self._openers, candidate))
            waiting.extend(candidate[: found.start()] for found in self._trailers.finditer(candidate))
        return None


_GAP = r"[\s,.;:!…–—-]+"
_QUESTION_MARKS = frozenset("?？؟⁇⁈⁉‽❓❔")
# A trailing symbol is passed over; one that says no is not.
_REFUSING = frozenset("👎❌❎✖✗✘🚫⛔🛑✋🙅")
_SPELLINGS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "'": "", "’": "", "‘": "", "´": "", "`": "", "ʼ": ""})
_LISTS = frozenset(("openers", "trailers", *(kind.value for kind in PhraseKind)))


def _matches(pattern: re.Pattern[str], text: str) -> list[re.Match[str]]:
    found = pattern.match(text)
    return [] if found is None else [found]


def _any_of(entries: Iterable[str]) -> str:
    """One pattern for *entries*, in which brackets and bars are alternatives and all else stands for itself."""
    longest_first = sorted(entries, key=len, reverse=True)
    written = (re.sub(r"[^\w\s()|]", lambda mark: re.escape(mark[0]), entry) for entry in longest_first)
    return "(?:" + "|".join(f"(?:{entry.replace('(', '(?:')})" for entry in written) + ")" if longest_first else "(?!)"


def _folded(text: str) -> str:
    """*text* in one case and one spelling: umlauts written out, no apostrophes, no invisible characters."""
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())
    shown = (character for character in folded if not _invisible(character))
    return "".join(shown).translate(_SPELLINGS)


def _invisible(character: str) -> bool:
    """Format characters, variation selectors, and the skin colours of emoji."""
    return unicodedata.category(character) in ("Cf", "Mn") or "\U0001f3fb" <= character <= "\U0001f3ff"


def _without_trailing_marks(message: str) -> str:
    end = len(message)
    while end and message[end - 1] not in _QUESTION_MARKS and unicodedata.category(message[end - 1])[0] in "PSZ":
        end -= 1
    return message[:end]


def _checked(language: str, data: Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    lists_fit = isinstance(data, Mapping) and _LISTS.issuperset(data)
    if not lists_fit or any(isinstance(entries, str) for entries in data.values()):
        raise InvalidValueError(
            f"the phrases of language {language!r}", data, f"lists named {', '.join(sorted(_LISTS))}"
        )
    for entry in (entry for entries in data.values() for entry in entries):
        if not isinstance(entry, str) or not _is_phrase(entry):
            raise InvalidValueError(
                f"a phrase of language {language!r}", entry, "a text with balanced brackets, not blank"
            )
    return data


def _is_phrase(entry: str) -> bool:
    try:
        return re.fullmatch(_any_of([_folded(entry)]), "") is None
    except re.error:
        return False
