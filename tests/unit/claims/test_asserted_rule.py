"""
The asserted rule (V4, V5) as properties: reach of negation, clauses, case, spelling, markup, spans.
"""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.claims import ClaimDetector
from nr_agent_core.domain.package_data import read_toml

PACKAGE = "nr_agent_core.domain.claims"
SPECIAL = ("world", "stative", "reads", "base", "label", "instruction", "finite", "date", "looked_at")
DETECTOR = ClaimDetector()


def plain_forms(code):
    """Participles of one language that are nothing else."""
    listed = {name: words.split() for name, words in read_toml(PACKAGE, f"{code}.toml")["words"].items()}
    other = {word for name, words in listed.items() if name != "participle" for word in words}
    return sorted({w for w in listed["participle"] if w not in other and w.isalpha()})


GERMAN_FILLING = ["auf", "Wunsch", "hin", "in", "diesem", "ersten", "langen", "Schritt", "wirklich"]
ENGLISH_FILLING = ["of", "the", "twelve", "long", "records", "in", "that", "upper", "list"]
GERMAN, ENGLISH = plain_forms("de"), plain_forms("en")
german, english = st.sampled_from(GERMAN), st.sampled_from(ENGLISH)
cases = st.sampled_from([str.lower, str.upper, str.title])

CLAIMING = st.one_of(
    german.map(lambda word: (f"Ich habe die Seite {word}.", word)),
    german.map(lambda word: (f"Die Seite wurde {word}.", word)),
    english.map(lambda word: (f"I have {word} the page.", word)),
    english.map(lambda word: (f"The page has been {word}.", word)),
)
NEGATED = st.one_of(
    german.map(lambda word: f"Ich habe die Seite nicht {word}."),
    german.map(lambda word: f"Keine der Seiten wurde {word}."),
    english.map(lambda word: f"I haven't {word} the page."),
    english.map(lambda word: f"The page has not been {word}."),
)


@given(CLAIMING)
def test_a_perfect_claims_at_the_word(pair):
    """A first person perfect or a passive perfect is one claim, at the participle."""
    text, word = pair

    (claim,) = DETECTOR.claims(text)

    assert (text.index(word), text.index(word) + len(word), word) == (claim.start, claim.end, claim.word)


@given(CLAIMING, st.sampled_from(["NFC", "NFD"]), cases)
def test_composition_and_case_change_nothing(pair, form, case):
    """Composed or decomposed, in any case: the same claim, and its span holds the written word."""
    text = unicodedata.normalize(form, case(pair[0]))

    (claim,) = DETECTOR.claims(text)

    written = unicodedata.normalize("NFC", text[claim.start : claim.end])
    assert case(pair[1]).lower() == written.lower()


@given(CLAIMING, st.data())
def test_soft_hyphens_change_nothing(pair, data):
    """A soft hyphen inside the word does not hide it; the span covers it."""
    text, word = pair
    at = text.index(word) + data.draw(st.integers(1, len(word) - 1))
    hyphenated = f"{text[:at]}\u00ad{text[at:]}"

    (claim,) = DETECTOR.claims(hyphenated)

    assert word == hyphenated[claim.start : claim.end].replace("\u00ad", "")


@given(CLAIMING, st.sampled_from(["*{}*", "**{}**", "_{}_", "__{}__", "***{}***"]))
def test_emphasis_changes_nothing(pair, markup):
    """An emphasised participle claims like a plain one."""
    text, word = pair

    (claim,) = DETECTOR.claims(text.replace(word, markup.format(word)))

    assert word == claim.word


@given(NEGATED, st.sampled_from(["**not**", "_not_", "not", "NOT"]), st.booleans())
def test_negation_takes_a_claim_back(text, shown, curly):
    """A negated perfect is no claim, with emphasis on the negator and with either apostrophe."""
    written = text.replace("not", shown)
    if curly:
        written = written.replace("'", "\u2019")

    assert not DETECTOR.claims_change(written)


@given(german, st.lists(st.sampled_from(GERMAN_FILLING), max_size=9))
def test_negation_reaches_through_its_clause_de(word, between):
    """No number of words between takes a negator out of its clause, before or behind the form."""
    filling = " ".join(between)

    assert not DETECTOR.claims_change(f"Nichts wurde {filling} {word}.")
    assert not DETECTOR.claims_change(f"{word.title()} wurde {filling} nichts.")


@given(english, st.lists(st.sampled_from(ENGLISH_FILLING), max_size=9))
def test_negation_reaches_through_its_clause_en(word, between):
    """No number of words between takes a negator out of its clause."""
    assert not DETECTOR.claims_change(f"None {' '.join(between)} have been {word}.")


@given(english, english)
def test_negation_runs_over_an_enumeration(first, second):
    """Both forms of "no page created or updated" are negated, those of "neither ... nor" too."""
    assert not DETECTOR.claims_change(f"No page {first} or {second}.")
    assert not DETECTOR.claims_change(f"The page was neither {first} nor {second}.")


@given(german, german)
def test_negation_runs_over_an_enumeration_de(first, second):
    """Both halves of "weder ... noch" are negated."""
    assert not DETECTOR.claims_change(f"Die Seite wurde weder {first} noch {second}.")


@given(NEGATED, CLAIMING, st.sampled_from([" ", "\n", "\n\n"]), st.booleans())
def test_one_unnegated_claim_is_enough(negated, pair, between, first):
    """A negated sentence beside a claim hides nothing."""
    parts = [pair[0], negated] if first else [negated, pair[0]]

    assert [pair[1]] == [claim.word for claim in DETECTOR.claims(between.join(parts))]


@given(english)
def test_a_contrast_ends_negation(word):
    """What stands behind "but" is not negated by what stands before it."""
    assert DETECTOR.claims_change(f"The old page is not there, but the new one has been {word}.")


@given(german)
def test_a_contrast_ends_negation_de(word):
    """Was hinter „aber“ steht, verneint das Wort davor nicht."""
    assert DETECTOR.claims_change(f"Die alte Seite fehlt nicht, aber die neue wurde {word}.")


@pytest.mark.parametrize("opening", ["Kein Problem, ich", "Keine Sorge, ich", "Nicht schlimm – ich"])
@given(word=german)
def test_pseudo_negations_do_not_negate_de(opening, word):
    """Phrases that only hold a negator leave the claim alone."""
    assert DETECTOR.claims_change(f"{opening} habe die Seite {word}.")


@pytest.mark.parametrize("opening", ["No problem, I've", "No worries, I've", "Not only that, I've"])
@given(word=english)
def test_pseudo_negations_do_not_negate_en(opening, word):
    """Phrases that only hold a negator leave the claim alone."""
    assert DETECTOR.claims_change(f"{opening} {word} the page.")


@given(CLAIMING, st.sampled_from(["```\n{}\n```", "~~~\n{}", "> {}", "```text\n{}", '"{}"', "„{}“", "`{}`"]))
def test_code_and_quotations_are_left_out(pair, frame):
    """What stands in a fence, a quoted line, a quotation or inline code is not the answer's own statement."""
    assert not DETECTOR.claims_change(frame.format(pair[0]))


@given(english, german)
def test_questions_conditions_and_plans_are_no_claims(word, wort):
    """What is asked, supposed or announced has not been claimed."""
    for text in (
        f"Has the page been {word}?",
        f"If the page has been {word}, you will see it.",
        f"The page will be {word}.",
        f"Wurde die Seite {wort}?",
        f"Falls die Seite {wort} wurde, sehen Sie das.",
        f"Die Seite wird später {wort}.",
    ):
        assert not DETECTOR.claims_change(text), text


@given(english, german)
def test_others_and_earlier_times_are_no_claims(word, wort):
    """What somebody else did, or was done some time ago, is a report (V5)."""
    for text in (
        f"The customer has {word} the page.",
        f"Yesterday I {word} the page.",
        f"The page was {word} last week.",
        f"Der Kunde hat die Seite {wort}.",
        f"Gestern habe ich die Seite {wort}.",
        f"Die Seite wurde letzte Woche {wort}.",
    ):
        assert not DETECTOR.claims_change(text), text


WORDLIKE = st.sampled_from(
    [
        "saved",
        "angelegt",
        "gea\u0308ndert",
        "I've",
        "nicht",
        "not",
        "**",
        "*",
        "\u00ad",
        "\n",
        ". ",
        ", ",
        "ſ",
        "İ",
        "|",
        "```",
    ]
)


@given(st.lists(WORDLIKE | st.text(max_size=4), max_size=12).map(" ".join))
def test_spans_point_into_the_original(text):
    """Spans are in order, apart, not empty, within the text, and hold the letters of the word."""
    end = 0
    for claim in DETECTOR.claims(text):
        assert end <= claim.start < claim.end <= len(text)
        end = claim.end
        written = unicodedata.normalize("NFC", text[claim.start : claim.end]).lower()
        assert set(written) - set("\u00ad*- \n\u200b\ufe0f\u0307") <= set(claim.word) or not claim.word.isalpha()
