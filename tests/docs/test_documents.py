"""
Documents hold together: links lead somewhere, decisions have their form, fragments their names.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DOCUMENTS = sorted([*ROOT.glob("*.md"), ROOT / "changelog.d" / "README.md", *DOCS.rglob("*.md")])
DECISIONS = sorted((DOCS / "decisions").glob("*.md"))

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FRAGMENT = re.compile(r"\+[a-z0-9-]+\.(breaking|added|changed|fixed)\.md")


def name_of(path: Path) -> str:
    """The path of a document, as a test id."""
    return str(path.relative_to(ROOT))


def targets(document: Path) -> list[Path]:
    """The files that a document links to. Links to the web are not followed."""
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [link.split("#")[0] for link in LINK.findall(text)]
    return [(document.parent / link).resolve() for link in links if link and "://" not in link]


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_links_lead_to_files(document: Path) -> None:
    """A reader who follows a link arrives."""
    assert [str(target) for target in targets(document) if not target.exists()] == []


def test_the_index_links_every_document() -> None:
    """What is not in the index is not found: every document is one or two links away from it."""
    reached = {DOCS / "index.md", *targets(DOCS / "index.md")}
    reached |= {target for document in reached if document.suffix == ".md" for target in targets(document)}

    assert [name_of(document) for document in DOCS.rglob("*.md") if document not in reached] == []


@pytest.mark.parametrize("decision", DECISIONS, ids=name_of)
def test_a_decision_has_its_form(decision: Path) -> None:
    """Context, decision, consequences, on one screen; the number in the name is the one in the title."""
    lines = decision.read_text(encoding="utf-8").splitlines()

    assert len(lines) <= 60
    assert re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", decision.name)
    assert lines[0].startswith(f"# {decision.name[:4]} ")
    assert lines[2].startswith(("Status: accepted", "Status: superseded by "))
    assert [line for line in lines if line.startswith("## ")] == ["## Context", "## Decision", "## Consequences"]


def test_decisions_are_numbered_without_a_gap() -> None:
    """A number is used once and none is left out."""
    assert [int(decision.name[:4]) for decision in DECISIONS] == list(range(1, len(DECISIONS) + 1))


def test_fragments_of_the_changelog_have_their_names() -> None:
    """A fragment with another name would be left out of the changelog without a word."""
    names = [path.name for path in (ROOT / "changelog.d").iterdir() if path.name != "README.md"]

    assert [name for name in names if not FRAGMENT.fullmatch(name)] == []
