"""
A host adds words of its trade to the detector (V2).
"""

import attrs
import pytest

from nr_agent_core import ClaimDetector, ClaimPolicy, InvalidValueError, Vocabulary, VocabularyError

BOTH = ["de", "en"]


def test_a_verb_of_the_host_claims_like_any_other() -> None:
    """What is asserted is found, what is denied, asked or planned is not: the rules are the same."""
    detector = ClaimDetector(languages=BOTH, vocabulary=Vocabulary(verbs=["quetzled", "gequetzelt"]))

    assert not ClaimDetector(languages=BOTH).claims_change("The batch was quetzled.")
    for claim in ("The batch was quetzled.", "I have quetzled the batch.", "Ich habe die Charge gequetzelt."):
        assert detector.claims_change(claim)
    for honest in ("The batch was not quetzled.", "Shall I have it quetzled?", "Soll die Charge gequetzelt werden?"):
        assert not detector.claims_change(honest)


def test_a_noun_of_the_host_names_a_record() -> None:
    """A record that is shut is a claim, and a record is no actor."""
    plain = ClaimDetector(languages=BOTH)
    detector = ClaimDetector(languages=BOTH, vocabulary=Vocabulary(nouns=["Dossier", "team"]))

    assert not plain.claims_change("Das Dossier ist zu.")
    assert detector.claims_change("Das Dossier ist zu.")
    assert not plain.claims_change("Die Änderung wurde vom Team freigegeben.")
    assert detector.claims_change("Die Änderung wurde vom Team freigegeben.")


@pytest.mark.parametrize(
    ("ignored", "text"),
    [("stored", "The parcel was stored."), ("money was saved", "Money was saved.")],
)
def test_what_is_ignored_claims_nothing(ignored: str, text: str) -> None:
    """A word or a phrase of the trade that only looks like a claim is left alone; the rest of the text is read."""
    detector = ClaimDetector(languages=BOTH, vocabulary=Vocabulary(ignore=[ignored]))

    assert ClaimDetector(languages=BOTH).claims_change(text)
    assert not detector.claims_change(text)
    assert detector.claims_change(f"{text} I have renamed the page.")


def test_a_vocabulary_of_one_language_stays_in_it() -> None:
    """Its words are added to that language alone."""
    detector = ClaimDetector(languages=BOTH, vocabulary=Vocabulary(verbs=["quetzled"], language="en"))

    assert detector.claims_change("I have quetzled it.")
    assert [claim.language for claim in detector.claims("I have quetzled it.")] == ["en"]


def test_vocabularies_are_merged_and_never_changed() -> None:
    """Two become one, each entry once and in order; neither is changed, nor can be."""
    first, second = Vocabulary(verbs=["Quetzled"]), Vocabulary(verbs=["blorted", "quetzled"], ignore=["so be it"])
    merged = first | second

    assert merged == Vocabulary(verbs=["blorted", "quetzled"], ignore=["so be it"])
    assert first == Vocabulary(verbs=["quetzled"])
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        merged.verbs = ()  # type: ignore[misc]


def test_several_vocabularies_are_read_one_after_the_other() -> None:
    """A host may hold one for each language."""
    words = [Vocabulary(verbs=["quetzled"], language="en"), Vocabulary(verbs=["gequetzelt"], language="de")]
    detector = ClaimDetector(languages=BOTH, vocabulary=words)

    assert detector.vocabulary == tuple(words)
    assert detector.claims_change("It was quetzled.")
    assert detector.claims_change("Es wurde gequetzelt.")


def test_the_shipped_words_are_untouched() -> None:
    """What one detector is given, another does not read."""
    ClaimDetector(languages=BOTH, vocabulary=Vocabulary(ignore=["saved"])).claims_change("It was saved.")

    assert ClaimDetector(languages=BOTH).claims_change("It was saved.")


@pytest.mark.parametrize("entry", ["", " ", "two words", "a1", "x" * 81, 7, None, "no.dots", "<b>"])
def test_a_damaged_verb_is_named(entry: object) -> None:
    """The error names the entry, and nothing is made."""
    with pytest.raises(VocabularyError) as raised:
        Vocabulary(verbs=["quetzled", entry])  # type: ignore[list-item]

    assert raised.value.entry == entry
    assert raised.value.subject == "verbs"


def test_a_text_in_place_of_a_list_is_named() -> None:
    """One text would be read as its letters."""
    with pytest.raises(VocabularyError, match="a list of texts is meant"):
        Vocabulary(verbs="quetzled")


def test_a_verb_that_is_ignored_too_is_named() -> None:
    """The two contradict each other, in one vocabulary and in a merged one."""
    with pytest.raises(VocabularyError, match="quetzled"):
        Vocabulary(verbs=["quetzled"], ignore=["quetzled"])
    with pytest.raises(VocabularyError, match="quetzled"):
        Vocabulary(verbs=["quetzled"]) | Vocabulary(ignore=["quetzled"])


@pytest.mark.parametrize("verb", ["not", "is", "nicht", "wurde", "if"])
def test_an_everyday_word_is_no_verb_of_the_host(verb: str) -> None:
    """It would turn every sentence into a claim."""
    with pytest.raises(VocabularyError, match="everyday word"):
        ClaimDetector(languages=BOTH, vocabulary=Vocabulary(verbs=[verb]))


def test_a_language_that_is_not_read_is_named() -> None:
    """Its words would never be looked up."""
    with pytest.raises(VocabularyError, match="de"):
        ClaimDetector(languages=["en"], vocabulary=Vocabulary(verbs=["quetzled"], language="de"))
    with pytest.raises(VocabularyError, match="xx"):
        Vocabulary(language="xx") | Vocabulary()


def test_the_literal_rule_takes_no_vocabulary() -> None:
    """Its lists are frozen (V3)."""
    with pytest.raises(InvalidValueError, match="vocabulary"):
        ClaimDetector(ClaimPolicy.SEED_RULE, vocabulary=Vocabulary(verbs=["quetzled"]))
    with pytest.raises(InvalidValueError, match="Vocabulary"):
        ClaimDetector(vocabulary=["quetzled"])  # type: ignore[list-item]
