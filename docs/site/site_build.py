"""
The part of the build that is this project's own: navigation, pages from docstrings, and a last look.
"""

import re
from pathlib import Path
from typing import Any

import api_pages
from sphinx.errors import ExtensionError

from tests.docs.test_specification import defined

ROOT = Path(__file__).resolve().parents[2]
GENERATED = ROOT / "docs" / "generated"

# What the index of the documents gets in the site: in a checkout its tables lead the way.
NAVIGATION = (
    ("Begin", ("why", "README <../README>", "tutorial/starlette", "tutorial/django", "glossary")),
    ("Concepts", ("concepts/the-way-of-a-message", "concepts/the-run", "concepts/executed-at-most-once", "concepts/*")),
    ("How to", ("how-to/embed-a-chat", "how-to/*")),
    ("Reference", ("specification", "reference/*", "generated/index")),
    (
        "About",
        (
            "comparison",
            "security",
            "benchmarks",
            "claim-quality",
            "Labelled answers <../tests/data/README>",
            "generated/decisions",
            "../CHANGELOG",
            "../CONTRIBUTING",
            "../SECURITY",
            "../RELEASING",
            "../changelog.d/README",
        ),
    ),
)
# What a browser would fetch from elsewhere while it shows a page.
ELSEWHERE = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"(?:https?:)?//"
    r"|<link\b[^>]*\brel=\"(?:stylesheet|preload|icon)\"[^>]*\bhref=\"(?:https?:)?//"
    r"|@import|url\(\s*[\"']?(?:https?:)?//"
)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", _write_pages)
    app.connect("autodoc-process-docstring", _keep_whole, priority=400)  # before napoleon, at 500
    app.connect("source-read", _add_navigation)
    app.connect("build-finished", _look)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write_pages(_: Any) -> None:
    api_pages.made_present()
    api_pages.write(GENERATED)


def _keep_whole(_: Any, what: str, *rest: Any) -> None:
    """A value or a property has a sentence; napoleon would take what stands before a colon for its type."""
    lines = rest[-1]
    if what in {"attribute", "data", "property"} and lines:
        lines[:0] = ["..", ""]  # an empty comment


def _add_navigation(app: Any, name: str, source: list[str]) -> None:
    if name != app.config.root_doc:
        return
    for caption, entries in NAVIGATION:
        lines = "\n".join(entries)
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n{lines}\n```\n"


def _look(app: Any, error: Exception | None) -> None:
    """
    Every public name is described, every rule is found by the search, and no page needs a network.

    Raises:
        ExtensionError: something is missing, or comes from elsewhere.
    """
    if error or app.builder.name != "html":
        return
    known = set(app.env.domaindata["py"]["objects"])
    missing = sorted({place for place in api_pages.described_at().values() if place not in known})
    if missing:
        raise ExtensionError(f"{len(missing)} public names are described nowhere: {', '.join(missing[:20])}")
    fetching = [
        str(path.relative_to(app.outdir))
        for path in Path(app.outdir).rglob("*")
        if path.suffix in {".html", ".css"} and ELSEWHERE.search(path.read_text(encoding="utf-8"))
    ]
    if fetching:
        raise ExtensionError(f"pages that fetch something from elsewhere: {', '.join(fetching[:20])}")
    terms = (Path(app.outdir) / "searchindex.js").read_text(encoding="utf-8")
    lost = [rule for rule in defined() if not re.search(rf'["{{,]{rule.lower()}"?:', terms)]
    if lost:
        raise ExtensionError(f"rules that the search does not find: {', '.join(lost)}")
    index = Path(app.outdir) / "index.html"
    index.write_text('<!doctype html><meta http-equiv="refresh" content="0; url=docs/index.html">\n', encoding="utf-8")
