"""
How the site of the documents is built: ``make site``.

The source is the whole checkout, of which the documents are taken. So their links to each other, to
the README and to files of the code are the ones that work in the checkout, too.
"""

import logging
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "docs" / "site")]

logging.getLogger("procrastinate").setLevel(logging.WARNING)  # it greets whoever imports it

project = "nr_agent_core"
author = "the nr_agent_core authors"
copyright = author  # noqa: A001  the name that Sphinx reads
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "site_build"]

root_doc = "docs/index"
include_patterns = ["*.md", "docs/**", "tests/data/README.md", "changelog.d/README.md"]
exclude_patterns = [".*", "build", "mutants", "docs/site"]
nitpicky = False

myst_heading_anchors = 4
myst_enable_extensions = ["deflist"]

autodoc_default_options = {"show-inheritance": True, "undoc-members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 88
add_module_names = False
toc_object_entries = False
napoleon_numpy_docstring = False
napoleon_use_ivar = True

html_theme = "furo"
html_title = "nr_agent_core"
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"top_of_page_buttons": []}
