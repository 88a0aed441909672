"""
Failure classes, codes, and the walk along an exception's chain (F1, F2, R10).
"""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import FailureClass, ProviderError
from nr_agent_core.domain.failures import (
    LONGEST_WALK,
    FailureCode,
    chain,
    classify,
    code_of,
    failure_code,
    link_target,
)

CLASSES = st.sampled_from(FailureClass)
DECISIVE = (FailureClass.AUTHENTICATION, FailureClass.CONFIGURATION)


def linked(errors, *, by="__cause__"):
    """The first of *errors*, each one raised from the next."""
    for outer, inner in itertools.pairwise(errors):
        setattr(outer, by, inner)
    return errors[0]


def test_a_lone_error_is_its_own_chain():
    """An exception without cause, context or members is walked once."""
    error = ValueError()

    assert [error] == list(chain(error))


@pytest.mark.parametrize("by", ["__cause__", "__context__"])
def test_causes_and_contexts_are_followed_outermost_first(by):
    """The walk goes from the outermost exception inwards (R10)."""
    errors = [ValueError(), KeyError(), OSError()]

    assert errors == list(chain(linked(errors, by=by)))


def test_a_cause_hides_the_context():
    """At each level the cause, else the context (R10)."""
    outer, cause, context = ValueError(), KeyError(), OSError()
    outer.__context__ = context
    outer.__cause__ = cause

    assert [outer, cause] == list(chain(outer))


def test_a_suppressed_context_is_not_followed():
    """``raise ... from None`` ends the walk (R10)."""
    outer = ValueError()
    outer.__context__ = OSError()
    outer.__suppress_context__ = True

    assert [outer] == list(chain(outer))


def test_members_come_after_the_cause_and_in_order():
    """After what an exception was raised from come the members of a group, each with its own chain (R10)."""
    first, below_first, second, cause = ValueError(), KeyError(), OSError(), TypeError()
    first.__cause__ = below_first
    group = ExceptionGroup("both", [first, second])
    group.__cause__ = cause

    assert [group, cause, first, below_first, second] == list(chain(group))


def test_a_group_of_base_exceptions_is_walked():
    """Groups of BaseExceptions count like others."""
    inner = KeyboardInterrupt()

    assert inner in list(chain(BaseExceptionGroup("stop", [inner])))


@given(st.integers(1, 6), st.integers(0, 5))
def test_a_cycle_ends_the_walk(length, back):
    """Each exception of a cycle is met once (R10)."""
    errors = [ValueError(number) for number in range(length)]
    linked(errors)
    errors[-1].__context__ = errors[back % length]

    assert errors == list(chain(errors[0]))


def test_a_very_long_chain_is_bounded():
    """The walk is no recursion and has an end."""
    errors = [ValueError(number) for number in range(LONGEST_WALK + 5)]
    found = sum(1 for _ in chain(linked(errors)))
    for error in errors:  # unlink by hand: freeing a chain this long recurses in the interpreter
        error.__cause__ = None

    assert found == LONGEST_WALK


@given(st.lists(CLASSES, min_size=1, max_size=6), st.sampled_from(["__cause__", "__context__"]))
def test_the_classifier_follows_its_rule(classes, by):
    """Authentication or configuration anywhere decides, else the first hit, else unknown (R10)."""
    decisive = [found for found in classes if found in DECISIVE]
    known = [found for found in classes if found is not FailureClass.UNKNOWN]
    expected = (decisive or known or [FailureClass.UNKNOWN])[0]

    assert expected is classify(linked([ProviderError("x", found) for found in classes], by=by))


@given(st.lists(CLASSES, min_size=1, max_size=6))
def test_the_rule_holds_for_members_of_a_group(classes):
    """Group members are looked at in order, by the same rule (R10)."""
    members = [ProviderError("x", found) for found in classes]

    assert classify(linked([ProviderError("x", found) for found in classes])) is classify(ExceptionGroup("x", members))


@pytest.mark.parametrize("error", [ConnectionRefusedError(), ConnectionResetError(), BrokenPipeError(), TimeoutError()])
def test_connection_errors_of_the_standard_library_count(error):
    """ConnectionError and TimeoutError are connection failures (R10)."""
    assert FailureClass.CONNECTION is classify(error)
    assert FailureClass.CONNECTION is classify(linked([RuntimeError("x"), error]))


@pytest.mark.parametrize("error", [OSError(), ValueError(), FileNotFoundError(), KeyboardInterrupt()])
def test_other_errors_are_unknown(error):
    """No hit in the chain is UNKNOWN (R10)."""
    assert FailureClass.UNKNOWN is classify(error)


def test_an_unknown_provider_error_hides_nothing():
    """A provider error without a class is no hit: what it was raised from decides (R10)."""
    assert FailureClass.RATE_LIMIT is classify(
        linked([ProviderError("x"), ProviderError("y", FailureClass.RATE_LIMIT)])
    )


class DeclaringError(Exception):
    """An exception of somebody else that carries an attribute of that name."""

    def __init__(self, failure_class):
        super().__init__()
        self.failure_class = failure_class


class FailingError(ConnectionError):
    """An exception whose attribute cannot be read."""

    @property
    def failure_class(self):
        """Fail."""
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DeclaringError(FailureClass.QUOTA), FailureClass.QUOTA),
        (DeclaringError("quota"), FailureClass.UNKNOWN),
        (DeclaringError(None), FailureClass.UNKNOWN),
        (FailingError(), FailureClass.CONNECTION),
    ],
)
def test_a_foreign_exception_may_declare_its_class(error, expected):
    """An attribute of the enum's type counts; anything else says nothing, and a failing one does no harm."""
    assert expected is classify(error)


@pytest.mark.parametrize(
    ("failure_class", "code"),
    [
        (FailureClass.AUTHENTICATION, "providerNotConfigured"),
        (FailureClass.CONFIGURATION, "providerNotConfigured"),
        (FailureClass.CONNECTION, "providerUnavailable"),
        (FailureClass.SERVER_ERROR, "providerUnavailable"),
        (FailureClass.RATE_LIMIT, "rateLimited"),
        (FailureClass.QUOTA, "rateLimited"),
        (FailureClass.CONTEXT_TOO_LONG, "contextTooLong"),
        (FailureClass.CONTENT_REFUSED, "contentRefused"),
        (FailureClass.CLIENT_ERROR, "internal"),
        (FailureClass.UNKNOWN, "internal"),
    ],
)
def test_every_class_has_its_code(failure_class, code):
    """The table of F1."""
    assert code == code_of(failure_class).value


def test_no_class_is_without_code():
    """A new failure class must be given a code."""
    assert all(isinstance(code_of(failure_class), FailureCode) for failure_class in FailureClass)


@pytest.mark.parametrize("code", FailureCode)
def test_link_targets(code):
    """Only the two set-up codes lead an administrator somewhere (F2)."""
    expected = {"providerNotConfigured": "providers", "chatNotConfigured": "tasks"}.get(code.value)

    assert expected == link_target(code)


@pytest.mark.parametrize("value", [None, "", "somethingElse", 3, [], FailureCode.INTERNAL, "internal"])
def test_a_failure_without_a_code_is_internal(value):
    """Rows that a host brings along may have no code or a strange one (F4)."""
    assert FailureCode.INTERNAL is failure_code(value)


@pytest.mark.parametrize("code", FailureCode)
def test_a_stored_code_is_read_back(code):
    """A code is stored as its value."""
    assert code is failure_code(code.value)
