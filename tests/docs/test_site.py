"""
What the site of the documents is built from is complete. Building it is `make site`, which takes no warning.
"""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def api_pages() -> ModuleType:
    """The module that says which name stands on which page; it needs no Sphinx."""
    spec = importlib.util.spec_from_file_location("api_pages", DOCS / "site" / "api_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_public_name_is_described(api_pages: ModuleType) -> None:
    """Each name of the snapshot, members included, has a place in the pages that are made from docstrings."""
    places = api_pages.described_at()
    text = "\n".join(api_pages.pages().values())
    names = {place.rpartition(".")[0] if member else place for (_, _, member), place in places.items()}

    assert len(places) > 500
    assert [place for place in places.values() if place.startswith("nowhere")] == []
    assert [name for name in sorted(names) if not _on_a_page(name, text)] == []


def _on_a_page(name: str, text: str) -> bool:
    module, _, last = name.rpartition(".")
    if f".. py:data:: {last}\n   :module: {module}\n" in text:
        return True
    members = re.search(rf"^\.\. automodule:: {re.escape(module)}\n   :members: (.*)$", text, re.MULTILINE)
    return members is not None and last in members[1].split(", ")


def test_the_snapshot_is_read_as_it_is_written(
    api_pages: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Classes, functions, values and members are told apart, and a signature is no name."""
    path = tmp_path / "api.txt"
    path.write_text(
        "# m\nclass A(B)\n    (x: int) -> None\n    RED = 'red'\n    async go(self) -> None\n    property p -> int\n"
        "    classmethod over(cls) -> A\nmake(x) -> A\nasync run() -> None\nLIMIT = 5\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(api_pages, "SNAPSHOT", path)

    assert list(api_pages.snapshot()) == [
        ("m", "A", None),
        ("m", "A", "RED"),
        ("m", "A", "go"),
        ("m", "A", "p"),
        ("m", "A", "over"),
        ("m", "make", None),
        ("m", "run", None),
        ("m", "LIMIT", None),
    ]


def test_figures_of_the_comparison_are_those_of_the_benchmarks() -> None:
    """What the comparison says of a turn's cost is what was measured last."""
    measured = {row[0].split(" ")[0]: row for row in _rows(DOCS / "benchmarks.md", "| system | W1 first")}
    told = {row[0].split(" ")[0]: row for row in _rows(DOCS / "comparison.md", "| system | a turn, at the beginning")}
    names = {"the": "limit", **{name: name for name in told if name != "the"}}

    assert {"nr_agent_core", "langgraph"} <= set(told)
    for name, row in told.items():
        first, last, turns, _, stored, approval = measured[names[name]][1:7]
        assert row[1:] == [first, last, turns, f"{stored} KiB", approval]


def _rows(page: Path, head: str) -> list[list[str]]:
    lines = page.read_text(encoding="utf-8").splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith(head)) + 2
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows
