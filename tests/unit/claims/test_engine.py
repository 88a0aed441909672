"""
What the engine must be: blind to languages, and safe on any text.
"""

import ast
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nr_agent_core.domain.claims as package
from nr_agent_core.domain.claims import ClaimDetector, ClaimPolicy
from nr_agent_core.domain.package_data import read_toml

MODULES = sorted(Path(package.__file__).parent.glob("*.py"))
PACKAGE = "nr_agent_core.domain.claims"
CODES = {code for codes in read_toml(PACKAGE, "languages.toml").values() for code in codes}
NAMES = {"german", "english", "french", "spanish", "italian", "dutch", "polish", "portuguese", "chinese"}
KEYS = {"adjacent", "neutral"}
"""Words of the data format itself."""


def listed_words():
    """Every word of three letters or more that a data file lists."""
    tables = [read_toml(PACKAGE, f"{code}.toml") for code in CODES]
    return {w for table in tables for words in table["words"].values() for w in words.split() if len(w) > 2}


def compared_strings(tree):
    """String constants that the code compares something with, or looks something up in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for part in [node.left, *node.comparators]:
                yield from (n.value for n in ast.walk(part) if isinstance(n, ast.Constant) and isinstance(n.value, str))


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_the_engine_names_no_language(module):
    """No module holds the code or name of a language, or compares with a word of one: languages are data (V2)."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    constants = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    names = {n.id.lower() for n in ast.walk(tree) if isinstance(n, ast.Name)}

    assert not constants & CODES
    assert not any(name in identifier for identifier in names for name in NAMES)
    assert not any(name in constant.lower() for constant in constants for name in NAMES)
    assert not {s for s in compared_strings(tree) if s in listed_words()} - KEYS


SETTINGS = {
    *("shape", "any_agent", "generic_plural", "participle_endings", "progressive", "present_endings", "adverb_endings"),
    *("rarer", "hyphen_prefixes", "abbreviations", "respelled", "split_verbs", "words", "phrases"),
    *("exact", "elision", "enclitics", "shared", "derived", "named_agent", "dated_perfect", "past_forms"),
}


def test_data_files_name_known_classes_and_settings_only():
    """A misspelt class or setting in a data file would be silently dead."""
    from nr_agent_core.domain.claims.word_class import BY_NAME

    for code in CODES:
        table = read_toml(PACKAGE, f"{code}.toml")
        assert set(table) <= SETTINGS
        assert set(table["words"]) <= {*BY_NAME, "verbs"}
        assert set(table["phrases"]) <= {*BY_NAME, "neutral"}


def test_no_negator_is_a_claiming_form():
    """A word that both claims and negates could never do either."""
    for code in CODES:
        words = read_toml(PACKAGE, f"{code}.toml")["words"]
        assert not set(words["neg"].split()) & {*words["participle"].split(), *words["alone"].split()}


def agrees_with_itself(detector, text):
    """Whether the answers about *text* fit each other and the text: claims in order, each of some of its characters."""
    claims = detector.claims(text)
    places = [0, *(place for claim in claims for place in (claim.start, claim.end)), len(text)]
    in_order = places == sorted(places) and all(claim.start < claim.end for claim in claims)
    return in_order and detector.claims_change(text) is bool(claims)


@given(st.text(st.characters(), max_size=80))
def test_no_text_is_too_odd(text):
    """Any string gets an answer, lone surrogates and NUL included (V2)."""
    for policy in ClaimPolicy:
        assert agrees_with_itself(ClaimDetector(policy), text), policy


PIECES = [
    "saved ",
    "not ",
    "\ud800",
    "\x00",
    "```\n",
    "> ",
    "| ",
    "**",
    "„",
    '"',
    "[",
    "{",
    '{"a": "',
    "(was ",
    "\u0301",
    "\u00ad",
    "\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_no_markup_is_too_broken(text):
    """Fences, quotations, tables and JSON that never close get an answer too."""
    assert agrees_with_itself(ClaimDetector(), text)


REPEATED = [
    "saved, ",
    "not saved ",
    "if it is saved, ",
    "[",
    '"',
    '"\\"',
    "„a",
    "*a",
    "| saved ",
    "|saved\n",
    "- a:\n",
    "a.",
    "a\u0301",
    "saved\n",
    "(was ",
    "and ",
    "```\n",
    "now is ",
    "saved by the ",
    "3 → a\n",
    "- 3 → a\n",
    "saved. ",
    "✅\n",
    "x: on\n",
    "pages:a:b_",
    "a.b/c-",
    "#a@b",
]


@pytest.mark.slow
@pytest.mark.parametrize("piece", REPEATED)
@pytest.mark.parametrize("policy", list(ClaimPolicy))
def test_time_grows_with_the_text_only(policy, piece):
    """Four times the text costs about four times the time: no text makes the detector hang."""
    detector = ClaimDetector(policy)
    small, large = piece * (10_000 // len(piece)), piece * (40_000 // len(piece))

    assert _cpu(detector, large) < 10 * _cpu(detector, small) + 0.1


@pytest.mark.parametrize("decoy", ["It is not saved. ", "not saved\n", "if it is saved, ", "3 files, none saved; "])
def test_no_amount_of_text_hides_a_claim(decoy):
    """Only so much of an answer is judged; what is left unread with a claiming word in it counts as a claim."""
    detector = ClaimDetector()

    assert detector.claims(decoy * 100) == ()
    (claim,) = detector.claims(decoy * (550_000 // len(decoy)) + "\n\nI have saved it.")
    assert (claim.word, claim.why) == ("saved", "not read")


def test_unread_text_adds_nothing_to_a_claim():
    """An answer that claims something is not said to hold more because it is long."""
    text = "I have saved it. " + "It is not saved. " * 32_000

    assert [claim.why for claim in ClaimDetector().claims(text)] == ["I have done"]


def _cpu(detector, text):
    detector.claims("x")
    start = time.process_time()
    detector.claims(text)
    return time.process_time() - start
