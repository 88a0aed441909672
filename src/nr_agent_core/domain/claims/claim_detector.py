"""
The detector a host holds: a policy and the languages it reads.

The rules behind it are compiled once per process and choice of languages, when the first text
comes; a detector itself is four fields.
"""

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from nr_agent_core.domain.claims.claim import Claim, ClaimPolicy
from nr_agent_core.domain.errors import InvalidValueError, VocabularyError

if TYPE_CHECKING:
    from nr_agent_core.domain.claims.vocabulary import Vocabulary

_PACKAGE: Final = "nr_agent_core.domain.claims"


class _Rule(Protocol):
    """
    A compiled rule: finds claims lazily, in the order of the text.
    """

    def find(self, text: str) -> Iterator[Claim]: ...

    def explained(self, text: str) -> Iterator[Claim]: ...


class ClaimDetector:
    """
    Answers whether a text claims a change, and where (V2).

    Immutable, cheap to make and safe to share between threads. The verdict depends on the text
    alone: the same text always gets the same answer (P1).

    Args:
        policy: the literal rule or the asserted one (V5).

        languages: codes of shipped data files; none means all of them.

        vocabulary: the host's own words, one or several; the asserted rule reads them with its own.

    Raises:
        InvalidValueError: *policy* is no policy or takes no vocabulary, or a code has no data file. Nothing was
            compiled.

        VocabularyError: an entry is an everyday word, or the language of a vocabulary is not read.
    """

    __slots__ = ("_languages", "_policy", "_rule", "_vocabulary")

    def __init__(
        self,
        policy: ClaimPolicy = ClaimPolicy.ASSERTED,
        languages: Iterable[str] | None = None,
        *,
        vocabulary: "Vocabulary | Iterable[Vocabulary] | None" = None,
    ) -> None:
        if not isinstance(policy, ClaimPolicy):
            raise InvalidValueError("claim policy", policy, "a ClaimPolicy")
        self._policy = policy
        self._languages = None if languages is None else _checked(policy, languages)
        self._vocabulary = () if vocabulary is None else _fitting(policy, self.languages, vocabulary)
        self._rule: _Rule | None = None

    @property
    def policy(self) -> ClaimPolicy:
        """The rule by which this detector reads (V5)."""
        return self._policy

    @property
    def languages(self) -> tuple[str, ...]:
        """Codes of the languages that are tried, in a fixed order."""
        return _shipped(self._policy) if self._languages is None else self._languages

    @property
    def vocabulary(self) -> "tuple[Vocabulary, ...]":
        """The host's own words (V2)."""
        return self._vocabulary

    def claims_change(self, text: str) -> bool:
        """
        Whether *text* claims a change; stops at the first claim. Never raises for a string (V2).
        """
        return next(self._compiled().find(text), None) is not None

    def claims(self, text: str, *, explain: bool = False) -> tuple[Claim, ...]:
        """
        Every claim in *text*, in its order. Never raises for a string (V2).

        With *explain*, also every place that was looked at and is no claim: ``rejected_by`` says by which
        rule. Slower, and meant for people who wonder.
        """
        return tuple(self._compiled().explained(text) if explain else self._compiled().find(text))

    def __repr__(self) -> str:
        chosen = "all" if self._languages is None else ", ".join(self._languages)
        return f"<ClaimDetector {self._policy.value}: {chosen}>"

    def _compiled(self) -> _Rule:
        if self._rule is None:
            self._rule = _compiled(self._policy, self.languages, self._vocabulary)
        return self._rule


@functools.cache
def _shipped(policy: ClaimPolicy) -> tuple[str, ...]:
    """
    Codes of the data files that ship for *policy*.
    """
    from nr_agent_core.domain.package_data import read_toml

    return tuple(read_toml(_PACKAGE, "languages.toml")[policy.value])


def _checked(policy: ClaimPolicy, languages: Iterable[str]) -> tuple[str, ...]:
    """
    *languages* without repeats, in shipped order, so that equal choices share one compiled rule.
    """
    shipped = _shipped(policy)
    asked = [languages] if isinstance(languages, str) else list(languages)
    for code in asked:
        if code not in shipped:
            raise InvalidValueError(f"language of {policy.value}", code, ", ".join(shipped))
    if not asked:
        raise InvalidValueError("languages", "an empty choice", f"at least one of {', '.join(shipped)}")
    return tuple(code for code in shipped if code in asked)


def _fitting(
    policy: ClaimPolicy, languages: tuple[str, ...], given: "Vocabulary | Iterable[Vocabulary]"
) -> "tuple[Vocabulary, ...]":
    """
    The vocabularies, checked against the words of the languages.
    """
    from nr_agent_core.domain.claims.vocabulary import Vocabulary
    from nr_agent_core.domain.package_data import read_toml

    if policy is ClaimPolicy.SEED_RULE:
        raise InvalidValueError("vocabulary", given, "none with the literal rule, whose words are fixed")
    vocabularies = (given,) if isinstance(given, Vocabulary) else tuple(given)
    for vocabulary in vocabularies:
        if not isinstance(vocabulary, Vocabulary):
            raise InvalidValueError("vocabulary", vocabulary, "a Vocabulary")
        if vocabulary.language not in (None, *languages):
            raise VocabularyError("language", vocabulary.language, f"is not read; read are {', '.join(languages)}")
    for code in languages:
        _with(read_toml(_PACKAGE, f"{code}.toml"), code, vocabularies)
    return vocabularies


def _with(table: Mapping[str, Any], code: str, vocabularies: "tuple[Vocabulary, ...]") -> Mapping[str, Any]:
    """
    The data of the language *code* with the words of the host that belong to it.
    """
    for vocabulary in vocabularies:
        if vocabulary.language in (None, code):
            table = vocabulary.added_to(table)
    return table


@functools.lru_cache(maxsize=32)
def _compiled(policy: ClaimPolicy, languages: tuple[str, ...], vocabularies: "tuple[Vocabulary, ...]") -> _Rule:
    """
    The rule for *languages*, compiled once per process; modules and data load here, not at import.
    """
    from nr_agent_core.domain.package_data import read_toml

    if policy is ClaimPolicy.SEED_RULE:
        from nr_agent_core.domain.claims.seed_rule import SeedRule

        return SeedRule({code: read_toml(_PACKAGE, f"seed.{code}.toml") for code in languages})
    from nr_agent_core.domain.claims.asserted_rule import AssertedRule

    return AssertedRule({code: _with(read_toml(_PACKAGE, f"{code}.toml"), code, vocabularies) for code in languages})
