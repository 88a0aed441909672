"""
What is stored and logged of a failure: no secret of any exception of its chain (F1, F3, T10).
"""

import itertools
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import AgentCoreError, FailureClass, ProviderError
from nr_agent_core.domain.sanitiser import (
    STORED_LIMIT,
    failure_text,
    sanitise,
    sanitised_chain,
)
from tests.unit.secrets_in_texts import CARRIERS, PASSWORDS, leaks


class UnreadableError(Exception):
    """An exception whose text cannot be made."""

    def __str__(self):
        raise RuntimeError("no text")


def raised(error):
    """*error* with a traceback of its own."""
    try:
        raise error
    except type(error) as caught:
        return caught


def placed(errors, how):
    """*errors* as one failure: chained by cause or context, or as members of a group."""
    if how == "group":
        return ExceptionGroup("several", errors)
    for outer, inner in itertools.pairwise(errors):
        setattr(outer, how, inner)
    return errors[0]


@given(
    st.lists(st.sampled_from(CARRIERS), min_size=1, max_size=5),
    PASSWORDS,
    st.sampled_from(["__cause__", "__context__", "group"]),
)
def test_no_secret_survives_anywhere_in_a_chain(carriers, secret, how):
    """Causes, contexts and members of groups are sanitised like the outermost text, log included (F3, T10)."""
    error = placed([ValueError(carrier.format(secret, secret)) for carrier in carriers], how)

    assert not leaks(failure_text(error))
    assert not leaks(sanitised_chain(error))


def test_the_stored_text_names_the_chain():
    """The stored text holds types and sanitised texts, outermost first (F1)."""
    error = placed(
        [ProviderError("not reachable", FailureClass.CONNECTION), OSError("no route to 10.0.0.1")], "__cause__"
    )

    assert failure_text(error) == "ProviderError: not reachable <- OSError: no route to [address]"


def test_the_stored_text_is_cut_and_at_rest():
    """Cut at 500 characters over the whole chain, and a fixed point of the sanitiser (F3)."""
    text = failure_text(placed([ValueError("a lot " * 50) for _ in range(30)], "__cause__"))

    assert len(text) == STORED_LIMIT
    assert sanitise(text) == text


def test_the_log_holds_frames_without_paths():
    """The log names module, function and line, never a file (T10)."""
    log = sanitised_chain(placed([raised(ValueError("outer")), raised(KeyError("inner"))], "__cause__"))

    assert [line.split(":")[0].split()[0] for line in log.splitlines()] == ["ValueError", "at", "from", "at"]
    assert f"  at {__name__}.raised:" in log
    assert ".py" not in log
    assert "/" not in log


def test_the_log_is_uncut():
    """The 500 characters are for the stored text only."""
    assert len(sanitised_chain(ValueError("a lot " * 500))) > 2 * STORED_LIMIT


def test_deep_recursion_does_not_fill_the_log():
    """Of very many frames both ends are shown."""

    def deeper(depth):
        if depth == 0:
            raise ValueError("deep")
        deeper(depth - 1)

    with pytest.raises(ValueError, match="deep") as caught:
        deeper(200)

    assert "more frames)" in sanitised_chain(caught.value)
    assert len(sanitised_chain(caught.value).splitlines()) < 50


@pytest.mark.parametrize("make", [failure_text, sanitised_chain])
def test_an_exception_without_readable_text_is_named(make):
    """An exception whose text cannot be made does no further harm."""
    assert make(UnreadableError()).startswith("UnreadableError: [withheld]")


@pytest.mark.parametrize("make", [failure_text, sanitised_chain])
def test_an_exception_without_text_is_its_type(make):
    """Nothing is added to an empty text."""
    assert make(AgentCoreError()) == "AgentCoreError"


def test_the_name_of_a_type_is_no_way_in():
    """A type made at run time may be named like anything."""
    error = types.new_class("password=Zq7", (Exception,))("x")

    assert failure_text(error) == "Exception: x"
