"""
What was said, as HTML that can do no harm; and references that become links.

A model's text may hold Markdown. HTML in it is text, images are not loaded, and what the renderer
makes is cleaned once more by a sanitiser.
"""

import functools
import re
from collections.abc import Iterable, Mapping

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from nr_agent_core import RecordReference

LONGEST_MARKDOWN = 20_000
"""Characters; a longer text is shown as it is, so that no text makes the server think for long."""

_TAGS = {
    "p",
    "br",
    "hr",
    "strong",
    "em",
    "s",
    "code",
    "pre",
    "blockquote",
    "ul",
    "ol",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "a",
}
_MARKDOWN = (
    MarkdownIt("commonmark", {"html": False})
    .enable(["table", "strikethrough"])
    .disable(["image", "html_inline", "html_block"])
)
_HEADING = re.compile(r"<h([1-6])>(.*?)</h\1>", re.DOTALL)


@functools.lru_cache(maxsize=64)
def said(text: str) -> Markup:
    """A model's *text* as HTML. A page asks for the same ones every two seconds; some take a second to make."""
    if len(text) > LONGEST_MARKDOWN:
        return Markup('<div class="plain">{}</div>').format(text)
    cleaned = nh3.clean(
        _below_the_pages_own(_MARKDOWN.render(text)),
        tags=_TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    # A wide table is scrolled by itself, with the keyboard too.
    framed = cleaned.replace("<table>", '<div class="table" tabindex="0"><table>').replace("</table>", "</table></div>")
    return Markup(framed)  # noqa: S704 - it was cleaned


def _below_the_pages_own(rendered: str) -> str:
    """The headings of an answer from the second level on, none left out: readers walk along them."""
    ranks = {level: rank for rank, level in enumerate(sorted({found[1] for found in _HEADING.finditer(rendered)}), 2)}
    before = 1

    def placed(found: re.Match[str]) -> str:
        nonlocal before
        before = min(ranks[found[1]], before + 1, 6)
        return f"<h{before}>{found[2]}</h{before}>"

    return _HEADING.sub(placed, rendered)


def linked(text: str, references: Iterable[str]) -> Markup:
    """*text*, with each of *references* in it a link to its record."""
    known = sorted({reference for reference in references if _is_reference(reference)}, key=len, reverse=True)
    if not known:
        return escape(text)
    pattern = re.compile("|".join(rf"(?<![\w:.~-]){re.escape(reference)}(?![\w~-])" for reference in known))
    parts, end = [], 0
    for found in pattern.finditer(text):
        parts += [escape(text[end : found.start()]), record_link(found[0])]
        end = found.end()
    return Markup("").join([*parts, escape(text[end:])])


def record_link(reference: str) -> Markup:
    """The link to a record's page."""
    table, _, uid = reference.partition(":")
    return Markup('<a class="record" href="/site/{}/{}">{}</a>').format(table, uid, reference)


def references_in(arguments: Mapping[str, object]) -> list[str]:
    """The records that a notice's arguments name as written."""
    found = []
    for name in ("records", "written", "known"):
        entries = arguments.get(name)
        for entry in entries if isinstance(entries, (list, tuple)) else ():
            if isinstance(entry, str):
                found.append(entry)
            elif isinstance(entry, Mapping):
                found += references_in(entry)
                found += [entry["reference"]] if isinstance(entry.get("reference"), str) else []
    return found


def _is_reference(text: str) -> bool:
    table, colon, uid = text.partition(":")
    try:
        return bool(colon) and str(RecordReference(table, int(uid) if uid.isdecimal() else uid)) == text
    except ValueError:
        return False
