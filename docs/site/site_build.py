"""
The part of the build that is this project's own: navigation, pages from docstrings, and a last look.
"""

import re
from pathlib import Path
from typing import Any

import api_pages

ROOT = Path(__file__).resolve().parents[2]

# What the index of the documents gets in the site: in a checkout its tables do.
NAVIGATION = (
    ("Begin", ("../README", "glossary")),
    ("Concepts", ("concepts/the-run", "concepts/*")),
    ("How to", ("how-to/embed-a-chat", "how-to/*")),
    ("Reference", ("reference/*", "reference/api/index", "specification")),
    ("About", ("benchmarks", "claim-quality", "../CHANGELOG", "decisions/*")),
)


def setup(app: Any) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("builder-inited", lambda app: api_pages.write(ROOT / "docs" / "reference" / "api"))
    app.connect("source-read", _add_navigation)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _add_navigation(app: Any, name: str, source: list[str]) -> None:
    if name != app.config.root_doc:
        return
    for caption, entries in NAVIGATION:
        source[0] += f"\n```{{toctree}}\n:hidden:\n:glob:\n:caption: {caption}\n\n" + "\n".join(entries) + "\n```\n"
