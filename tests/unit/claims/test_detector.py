"""
What a host sees of the claim detector (V2).
"""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nr_agent_core
from nr_agent_core.domain.claims import Claim, ClaimDetector, ClaimPolicy
from nr_agent_core.domain.errors import InvalidValueError

POLICIES = list(ClaimPolicy)


def test_asserted_is_the_default():
    """A detector made without arguments reads by the asserted rule, in all languages (V5)."""
    assert ClaimPolicy.ASSERTED is ClaimDetector().policy
    assert {"de", "en"} <= set(ClaimDetector().languages)


@pytest.mark.parametrize("policy", POLICIES)
def test_an_unknown_language_is_refused_at_once(policy):
    """A code without a data file is the caller's error, named with what would do."""
    with pytest.raises(InvalidValueError, match=r"'xx'.*de, en"):
        ClaimDetector(policy, ["de", "xx"])


def test_no_language_at_all_is_refused():
    """A detector that could find nothing is no detector."""
    with pytest.raises(InvalidValueError):
        ClaimDetector(languages=[])


def test_a_policy_is_a_policy():
    """The name of a policy is not one."""
    with pytest.raises(InvalidValueError):
        ClaimDetector("asserted")  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", POLICIES)
def test_only_the_chosen_languages_are_read(policy):
    """A detector for one language finds nothing in a sentence of another (V2)."""
    german, english = ClaimDetector(policy, ["de"]), ClaimDetector(policy, ["en"])

    assert german.claims_change("Die Seite wurde angelegt.")
    assert not english.claims_change("Die Seite wurde angelegt.")
    assert english.claims_change("The page has been created.")
    assert not german.claims_change("The page has been created.")


@pytest.mark.parametrize("policy", POLICIES)
def test_the_order_of_languages_is_of_no_account(policy):
    """Equal choices read alike, whatever order or repeats they came in."""
    assert ClaimDetector(policy, ["en", "de", "en"]).languages == ClaimDetector(policy, ("de", "en")).languages


def test_a_claim_says_where_what_and_why():
    """A claim names its place in the original, the word, the language and the reason (V2)."""
    text = "Hallo! Ich habe die Seite **angelegt**."

    (claim,) = ClaimDetector().claims(text)

    assert Claim(text.index("angelegt"), text.index("**."), "angelegt", "de", claim.why) == claim
    assert claim.why


def test_detectors_cannot_be_changed():
    """A detector has no attribute to set: it may be shared."""
    with pytest.raises(AttributeError):
        ClaimDetector().policy = ClaimPolicy.SEED_RULE  # type: ignore[misc]


@given(st.text(max_size=60))
def test_the_two_questions_agree(text):
    """Whether there is a claim and which claims there are never contradict each other."""
    for policy in POLICIES:
        detector = ClaimDetector(policy)
        assert detector.claims_change(text) is bool(detector.claims(text))


def test_threads_may_share_a_detector():
    """Several threads that read at once get what one gets."""
    detector = ClaimDetector()
    texts = ["I have saved it.", "Nothing was saved.", "Ich habe es gelöscht.", "Soll ich es löschen?"] * 5
    expected = [detector.claims(text) for text in texts]
    found: dict[int, list[tuple[Claim, ...]]] = {}

    def read(number):
        found[number] = [detector.claims(text) for text in texts]

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [expected] * 4 == [found[number] for number in range(4)]


def test_importing_compiles_nothing():
    """The import loads the small modules of the interface; data and rules come with the first text."""
    script = (
        "import sys, nr_agent_core; before = set(sys.modules);"
        "import nr_agent_core.domain.claims as c; c.ClaimDetector();"
        "print([m for m in sys.modules if m.startswith('nr_agent_core.domain.claims.') or"
        " m in {'tomllib', 'regex', 'unicodedata'} - before])"
    )
    source = str(Path(nr_agent_core.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source}
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)

    small = ("claim", "claim_detector")
    assert shown.stdout.strip() == str([f"nr_agent_core.domain.claims.{name}" for name in small])
