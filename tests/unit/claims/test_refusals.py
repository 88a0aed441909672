"""
What a detector and its vocabulary refuse, in which words, and what they add to a language (V2).
"""

import pytest

from nr_agent_core import ClaimDetector, ClaimPolicy, InvalidValueError, Vocabulary, VocabularyError
from nr_agent_core.domain.claims.asserted_rule import AssertedRule
from nr_agent_core.domain.package_data import read_toml

WORD = "is no word of letters, of at most 80 characters"


@pytest.mark.parametrize(
    ("words", "subject", "entry", "why"),
    [
        ({"verbs": "saved"}, "verbs", "saved", "is one text; a list of texts is meant"),
        ({"nouns": ["4711"]}, "nouns", "4711", WORD),
        ({"ignore": ["x" * 81]}, "ignore", "x" * 81, WORD),
        ({"verbs": [7]}, "verbs", 7, WORD),
        ({"verbs": ["has booked"]}, "verbs", "has booked", "is several words; only phrases to ignore may be"),
        ({"nouns": ["a case"]}, "nouns", "a case", "is several words; only phrases to ignore may be"),
        ({"verbs": ["booked"], "ignore": ["booked"]}, "verbs", "booked", "is to be ignored, too"),
    ],
)
def test_a_damaged_vocabulary_names_its_entry(words: dict[str, object], subject: str, entry: object, why: str) -> None:
    """The error says which list, which entry, and what is wrong with it."""
    with pytest.raises(VocabularyError) as refused:
        Vocabulary(**words)  # type: ignore[arg-type]

    assert (refused.value.subject, refused.value.entry, refused.value.why) == (subject, entry, why)


def test_a_vocabulary_is_no_dictionary() -> None:
    """Two thousand words of a list are taken, the next one is named."""
    letters = [f"{a}{b}{c}" for a in "abcdefghijklm" for b in "abcdefghijklm" for c in "abcdefghijklm"][:2001]

    assert len(Vocabulary(verbs=letters[:2000]).verbs) == 2000
    with pytest.raises(VocabularyError) as refused:
        Vocabulary(verbs=letters)
    assert (refused.value.entry, refused.value.why) == (letters[2000], "is one too many; allowed are 2000")


def test_entries_are_plain() -> None:
    """Lower case, composed, straight apostrophes, single blanks; each once and in order, up to eighty letters long."""
    assert Vocabulary(verbs=["x" * 80]).verbs == ("x" * 80,)
    given = ["Wohl  Geordnet", "wohl geordnet", "cafe\u0301", "o\u2019clock", "re-added"]

    assert Vocabulary(ignore=given).ignore == ("café", "o'clock", "re-added", "wohl geordnet")


def test_words_are_added_to_a_language_and_the_language_stays() -> None:
    """Verbs claim, nouns are records and no actors, what is ignored is gone from every list."""
    table = {
        "shape": "adjacent",
        "words": {"participle": "saved stored", "other": "team vendor", "neg": "not"},
        "phrases": {"neutral": "a b"},
        "rarer": "stored kept",
    }
    before = {name: dict(part) if isinstance(part, dict) else part for name, part in table.items()}

    added = Vocabulary(verbs=["booked"], nouns=["team"], ignore=["stored", "so be it"]).added_to(table)

    assert table == before
    assert added == {
        "shape": "adjacent",
        "words": {"participle": "saved booked", "other": "vendor", "neg": "not", "case": "team"},
        "phrases": {"neutral": "a b | so be it"},
        "rarer": "kept",
    }


def test_a_language_without_lists_gets_those_that_are_added() -> None:
    """No list needs to be there before."""
    added = Vocabulary(verbs=["booked"]).added_to({"words": {}})

    expected = {"other": "", "participle": "booked", "case": ""}
    assert added == {"words": expected, "phrases": {"neutral": ""}, "rarer": ""}


def test_an_everyday_word_is_no_verb() -> None:
    """A form that claims may be listed already; a word of another kind may not."""
    table = {"words": {"participle": "saved", "neg": "not"}}

    assert Vocabulary(verbs=["saved"]).added_to(table)["words"]["participle"] == "saved saved"
    with pytest.raises(VocabularyError) as refused:
        Vocabulary(verbs=["not"]).added_to(table)
    assert (refused.value.entry, refused.value.why) == ("not", "is an everyday word of the language (neg)")


def test_vocabularies_of_two_languages_are_not_one() -> None:
    """The error says how both are given."""
    with pytest.raises(VocabularyError) as refused:
        Vocabulary(language="de") | Vocabulary(language="en")

    assert (refused.value.subject, refused.value.entry) == ("language", "en")
    assert refused.value.why == "is not 'de'; give both to the detector: ClaimDetector(vocabulary=[a, b])"
    assert (Vocabulary(verbs=["a"], language="de") | Vocabulary(nouns=["b"], language="de")).language == "de"


@pytest.mark.parametrize(
    ("options", "subject", "allowed"),
    [
        ({"policy": "asserted"}, "claim policy", "a ClaimPolicy"),
        ({"policy": ClaimPolicy.SEED_RULE, "languages": ["fr"]}, "language of seed_rule", "de, en"),
        ({"languages": []}, "languages", "at least one of de, en, es, fr, it, nl, pl, pt, zh"),
        ({"languages": "xx"}, "language of asserted", "de, en, es, fr, it, nl, pl, pt, zh"),
        ({"vocabulary": ["word"]}, "vocabulary", "a Vocabulary"),
        (
            {"policy": ClaimPolicy.SEED_RULE, "vocabulary": Vocabulary()},
            "vocabulary",
            "none with the literal rule, whose words are fixed",
        ),
    ],
)
def test_a_detector_says_what_it_takes(options: dict[str, object], subject: str, allowed: str) -> None:
    """A wrong choice is named with what would do; nothing is compiled."""
    with pytest.raises(InvalidValueError) as refused:
        ClaimDetector(**options)  # type: ignore[arg-type]

    assert (refused.value.subject, refused.value.allowed) == (subject, allowed)


def test_a_detector_shows_its_choice() -> None:
    """Languages are told in their fixed order, each once."""
    assert repr(ClaimDetector()) == "<ClaimDetector asserted: all>"
    assert repr(ClaimDetector(languages=["en", "de", "en"])) == "<ClaimDetector asserted: de, en>"


def test_a_sentence_without_an_end_is_read_in_parts() -> None:
    """What is longer than any sentence is cut at its semicolons, commas or blanks: no claim in it is lost."""
    rule = AssertedRule({"en": read_toml("nr_agent_core.domain.claims", "en.toml")})
    filler = {sign: f"pages and menus{sign}" * 3000 for sign in ("; ", ", ", " ")}

    for sign, text in filler.items():
        long = f"{text}I have saved the draft{sign}{text}"
        (claim,) = rule.find(long)
        assert (long[claim.start : claim.end], claim.why) == ("saved", "I have done")
    assert list(rule.find("x" * 45_000 + " saved")) != []


def test_one_language_may_be_given_as_its_code() -> None:
    """A text is one code, not a list of letters."""
    assert ClaimDetector(languages="de").languages == ("de",)
    assert ClaimDetector(ClaimPolicy.SEED_RULE, "en").languages == ("en",)


def test_a_vocabulary_of_a_language_that_is_not_read_is_refused() -> None:
    """The error names the language and those that are read; words of no language are read with all of them."""
    with pytest.raises(VocabularyError) as refused:
        ClaimDetector(languages=["de", "en"], vocabulary=[Vocabulary(), Vocabulary(language="fr")])

    assert (refused.value.subject, refused.value.entry) == ("language", "fr")
    assert refused.value.why == "is not read; read are de, en"
    assert ClaimDetector(languages=["de"], vocabulary=Vocabulary(language="de")).vocabulary == (
        Vocabulary(language="de"),
    )


def test_words_of_one_language_claim_in_it_only() -> None:
    """Those of no language claim in each that is read."""
    texts = ["I have bevorratet it.", "Ich habe es bevorratet."]
    found = {
        code: [
            claim.language
            for text in texts
            for claim in ClaimDetector(
                languages=["de", "en"], vocabulary=Vocabulary(verbs=["bevorratet"], language=code)
            ).claims(text)
        ]
        for code in (None, "de", "en")
    }

    assert found == {None: ["en", "de"], "de": ["de"], "en": ["en"]}


def test_a_verb_that_is_an_everyday_word_of_one_language_is_refused_where_that_is_read() -> None:
    """Compiled or not: the error comes when the detector is made."""
    words = Vocabulary(verbs=["nicht"])

    with pytest.raises(VocabularyError):
        ClaimDetector(languages=["de", "en"], vocabulary=words)
    assert ClaimDetector(languages=["en"], vocabulary=words).claims_change("I have nicht it.")
