"""
What the sanitiser takes out of the texts of many programs, and what it leaves (F3, T10).
"""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nr_agent_core.domain.sanitiser import failure_text, sanitise, sanitised_chain
from tests.cases.carriers import PLACES, SECRETS

# A word that looks like nothing: neither digits nor a vendor's beginning give it away.
WORD = "kolibrifarn"


@pytest.mark.parametrize("carrier", SECRETS + PLACES)
@pytest.mark.parametrize("before", ["", "could not go on: ", "first line\n", '{"error": "', "\\n"])
def test_an_ordinary_word_goes_where_its_place_says_what_it_is(carrier: str, before: str) -> None:
    """(F3) A secret need not look like one."""
    text = before + carrier.format(WORD)

    assert WORD not in sanitise(text)
    assert WORD not in sanitise(text, limit=None)


@example(["dial tcp: lookup {} on 10.0.0.2:53: no such host"] * 2, " ")
@given(st.lists(st.sampled_from(SECRETS + PLACES), min_size=1, max_size=5), st.sampled_from([" ", "\n", "; ", " <- "]))
def test_no_carrier_hides_another_one(carriers: list[str], joint: str) -> None:
    """(F3) Several in one text, in any order: all go, and a second pass finds nothing more."""
    text = joint.join(carrier.format(WORD) for carrier in carriers)

    once = sanitise(text, limit=None)

    assert WORD not in once
    assert sanitise(once, limit=None) == once


@pytest.mark.parametrize("address", ["10.9.8.7", "192.168.1.20:443", "172.16.0.9:5432", "[fd00::1]:80"])
@pytest.mark.parametrize("after", ["", ": connect: connection refused", ":", " is down", ")", ", then"])
def test_an_address_goes_as_a_whole_and_what_follows_stays(address: str, after: str) -> None:
    """(F3) Neither half of an address stays, and the reason behind it is not taken for a value."""
    assert sanitise(f"dial tcp {address}{after}").removeprefix("dial tcp [address]") in (after, after.lstrip(":"))


@pytest.mark.parametrize(
    "text",
    [
        "exit 1: duplicate of K-30",
        "重复被拦截, 已有 K-30",
        "The ticket was not created: K-30 is the same",
        "CALL FAILED",
        "the signature does not match",
        "cookies are switched off",
        "expected 3 tokens, found 2",
        "unsupported parameters: top_k",
        "// a comment",
        "model <key> is missing",
    ],
)
def test_the_true_reason_is_not_taken_for_a_secret(text: str) -> None:
    """(F2) An administrator reads why it failed."""
    assert sanitise(text) == text


@pytest.mark.parametrize("carrier", SECRETS + PLACES)
@pytest.mark.parametrize("shape", ["cause", "context", "member", "cause of a member", "member of a cause", "argument"])
def test_wherever_in_a_failure_it_stands(carrier: str, shape: str) -> None:
    """(F3, T10) Causes, contexts and members of groups, nested: neither the stored text nor the log holds it."""
    inner = OSError(carrier.format(WORD))
    outer = RuntimeError("the request failed")
    if shape == "cause":
        outer.__cause__ = inner
    elif shape == "context":
        outer.__context__ = inner
    elif shape == "member":
        outer = ExceptionGroup("several", [ValueError("one"), inner])
    elif shape == "cause of a member":
        member = ValueError("one")
        member.__cause__ = inner
        outer = ExceptionGroup("several", [ExceptionGroup("more", [member])])
    elif shape == "member of a cause":
        outer.__cause__ = ExceptionGroup("several", [inner])
    else:
        outer = OSError(5, carrier.format(WORD), f"/srv/{WORD}")

    assert WORD not in failure_text(outer)
    assert WORD not in sanitised_chain(outer)


@pytest.mark.parametrize(("left", "right"), [("x" * 480, "y" * 200), ("x " * 240, ""), ("", "y " * 300)])
def test_a_secret_is_not_cut_into_view(left: str, right: str) -> None:
    """(F3) The cut at 500 characters comes after the redaction, so no half of a secret is left at the end."""
    for length in range(470, 500):
        text = left.ljust(length)[:length] + f" password={WORD} {right}"
        assert WORD[:4] not in sanitise(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "<key ",
        "<key>",
        "&amp;",
        "\\u0022",
        "'key', ",
        "('a",
        "a_token ",
        "_",
        "token_",
        "-u a:",
        "//a",
        "\\",
        "A_",
        "&",
    ],
)
def test_the_cost_of_a_text_grows_with_its_length(unit: str) -> None:
    """(F3) No text is a way to keep the process busy: ten times the length takes no hundred times the time."""

    def seconds(size: int) -> float:
        started = time.process_time()
        sanitise(unit * (size // len(unit)), limit=None)
        return time.process_time() - started

    seconds(500)
    assert min(seconds(20_000) for _ in range(2)) < 40 * max(min(seconds(2_000) for _ in range(3)), 0.004)
