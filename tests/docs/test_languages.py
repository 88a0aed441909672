"""
The languages that the reference names are those that ship.
"""

import re
from pathlib import Path

import pytest

from nr_agent_core import ClaimDetector, ClaimPolicy
from nr_agent_core.domain.continue_phrases import SHIPPED_LANGUAGES

SETTINGS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "settings.md"


def named(beginning: str) -> tuple[list[str], list[str]]:
    """The codes in the one row of the settings that begins so: before its bracket, and in it."""
    lines = SETTINGS.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith(f"| `languages` | `None` | {beginning}")]
    told, _, bracket = row.removeprefix(f"| `languages` | `None` | {beginning}").partition("(")
    return re.findall(r"`([a-z]{2})`", told), re.findall(r"`([a-z]{2})`", bracket)


@pytest.mark.parametrize(
    ("beginning", "shipped", "literal"),
    [
        ("codes of", ClaimDetector().languages, ClaimDetector(ClaimPolicy.SEED_RULE).languages),
        ("which", SHIPPED_LANGUAGES, ()),
    ],
)
def test_the_languages_of_a_setting_are_those_that_ship(
    beginning: str, shipped: tuple[str, ...], literal: tuple[str, ...]
) -> None:
    """A language that is added is named where its setting is, for claims and for go-on phrases."""
    assert named(beginning) == (sorted(shipped), sorted(literal))
