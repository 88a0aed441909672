"""
Bugs planted on purpose into a copy of the package: the chaos finds each of them within a few seeds of its short form.
"""

from pathlib import Path

import pytest

from tests.chaos.planting import TRIES, WANTED, bug_named, tries_until_found

QUICK = {
    "late outcome dropped",
    "harmful write repeated",
    "PostgreSQL, a message outside the host's transaction",
}
"""Those that the first seeds find: the part that every check runs."""


@pytest.mark.chaos
@pytest.mark.process
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in sorted(WANTED)]
)
def test_the_chaos_finds_a_planted_bug(tmp_path: Path, name: str, request: pytest.FixtureRequest) -> None:
    """(P5, R3, R6, R7, W1) A suite that stays green with one of these in place would prove nothing."""
    if bug_named(name).needs_server:
        request.getfixturevalue("postgres")

    seed, report = tries_until_found(tmp_path, name)

    assert seed, f"{TRIES} seeds did not find: {name}\n{report[-4000:]}"
