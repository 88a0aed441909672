"""
The specification defines every rule once, and every rule that is cited anywhere.
"""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPECIFICATION = ROOT / "docs" / "specification.md"

RULE = r"[PTGREVMFCAWO]\d{1,2}"
DEFINED = re.compile(rf"^\*\*({RULE})\*\* ", re.MULTILINE)
_MORE = rf"(?:(?:, | and |; | to |-){RULE})*"
# Cited are "(R6)", "(P9, F2)", "(see V3: why)", and "rule R7". A single letter with a digit elsewhere
# may be anything: a cell, a key, a name in a sample text.
CITED = re.compile(rf"\((?:see |rules? )?({RULE}{_MORE})(?:[,;:] [^()]*)?\)|\brules? ({RULE}{_MORE})\b")

# How many rules each section has, counting from 1 (G: from 0).
SECTIONS = {"P": 9, "T": 13, "G": 4, "R": 12, "E": 7, "V": 12, "M": 5, "F": 5, "C": 7, "A": 6, "W": 4, "O": 4}


def defined() -> list[str]:
    """The ids that the specification defines, in order."""
    return DEFINED.findall(SPECIFICATION.read_text(encoding="utf-8"))


def cited(text: str) -> set[str]:
    """The ids that a text cites."""
    return {rule for match in CITED.finditer(text) for rule in re.findall(RULE, match.group(0))}


def citing_files() -> list[Path]:
    """Everything written by hand that may cite a rule."""
    found = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    for folder, patterns in {
        "src": ("*.py", "*.toml", "*.sql"),
        "tests": ("*.py", "*.toml"),
        "docs": ("*.md",),
        "examples": ("*.py", "*.md"),
        "bench": ("*.py", "*.md"),
        "changelog.d": ("*.md",),
    }.items():
        found += [path for pattern in patterns for path in (ROOT / folder).rglob(pattern)]
    return sorted(path for path in found if path.is_file() and path != Path(__file__))


FENCED = re.compile(r"^ *```.*?^ *```[ ]*$", re.MULTILINE | re.DOTALL)
# Fewer words around an id are a list or an aside.
EXPLAINING = 12


def explained(page: str) -> set[str]:
    """The ids in the prose of a page: in a paragraph or a point of a list, not in a heading, a table or code."""
    lines = FENCED.sub("", page).splitlines()
    prose = "\n".join("" if line.lstrip().startswith(("|", "#", "<!--")) else line for line in lines)
    return {
        rule
        for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", prose)
        if len(re.findall(r"\b[a-z]{2,}", paragraph)) >= EXPLAINING
        for rule in cited(paragraph)
    }


def test_every_rule_is_explained_on_a_page() -> None:
    """Who searches for a rule finds more than its wording: a page that says what it is for, or how it shows."""
    pages = [
        path for path in (ROOT / "docs").rglob("*.md") if path != SPECIFICATION and path.parent.name != "decisions"
    ]
    found = {rule for path in pages for rule in explained(path.read_text(encoding="utf-8"))}

    assert [rule for rule in defined() if rule not in found] == []


def test_a_bare_list_explains_nothing() -> None:
    """A table, a heading, code or a handful of words beside an id is no explanation."""
    nothing = "| (P1) | a b |\n\n## About (P2)\n\n```text\n(P3)\n```\n\nSee (P4, P5).\n"
    point = "- because a reader has to be able to look at what was said about it (P6).\n"

    assert explained(nothing + point) == {"P6"}


def test_every_rule_is_defined_exactly_once() -> None:
    """A number means one rule, and no section has a gap."""
    twice = [rule for rule, times in Counter(defined()).items() if times > 1]
    expected = [
        f"{letter}{number}"
        for letter, last in SECTIONS.items()
        for number in range(0 if letter == "G" else 1, last + 1)
    ]

    assert twice == []
    assert defined() == expected


def test_every_rule_that_is_cited_is_defined() -> None:
    """Whoever follows a citation in code, tests or documents finds the rule."""
    known = set(defined())
    dangling = {
        f"{path.relative_to(ROOT)}: {rule}"
        for path in citing_files()
        for rule in cited(path.read_text(encoding="utf-8")) - known
    }

    assert dangling == set()


def test_the_specification_refers_to_its_own_rules_only() -> None:
    """Inside the specification every id, in brackets or not, is one that it defines."""
    prose = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)", "", SPECIFICATION.read_text(encoding="utf-8"))

    assert set(re.findall(rf"\b{RULE}\b", prose)) - set(defined()) == set()


def test_the_package_cites_rules() -> None:
    """The search is no search in the void: the code does cite rules."""
    found = {
        rule
        for path in citing_files()
        if ROOT / "src" in path.parents
        for rule in cited(path.read_text(encoding="utf-8"))
    }

    assert {"T5", "V10", "R7"} <= found


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("Nothing was stored (R3).", {"R3"}),
        ("(P9, F2) and (V10 and V11)", {"P9", "F2", "V10", "V11"}),
        ("see rule R77 and rules T1 to T3", {"R77", "T1", "T3"}),
        ("(V3: within three words)", {"V3"}),
        ("the keys A1 and T1000, B2 (B2), f(x1), 'P1'", set()),
    ],
)
def test_citations_are_recognised(text: str, rules: set[str]) -> None:
    """A citation is an id in brackets or behind the word rule, and nothing else is."""
    assert cited(text) == rules


def test_words_of_the_specification_are_in_the_glossary() -> None:
    """The short list of words and the long one know the same words."""
    table = SPECIFICATION.read_text(encoding="utf-8").split("## Words")[1].split("## ")[0]
    words = re.findall(r"^\| ([a-z][^|]*?) \|", table, re.MULTILINE)
    glossary = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")

    assert len(words) > 15
    assert [w for w in words if w != "word" and not re.search(rf"^\| [^|]*{re.escape(w)}", glossary, re.MULTILINE)] == [
        "effect (of a tool)"
    ]
    assert "| tool effect |" in glossary
