"""
What the tools of the site say to people, in the language that the host sets around a call; German without one.

A preview and a result are stored as they were said.
"""

from contextvars import ContextVar

LANGUAGE: ContextVar[str] = ContextVar("language", default="de")
"""Of the person for whom a tool is at work, whoever decided on the call."""

_TEXTS = {
    "draft_mark": (" (Entwurf)", " (draft)"),
    "no_page_found": ("Keine Seite gefunden.", "No page was found."),
    "no_page": ("Es gibt keine Seite pages:{uid}.", "There is no page pages:{uid}."),
    "draft_saved": ("Entwurf gespeichert: pages:{uid}", "Draft saved: pages:{uid}"),
    "new_draft": ("Neuer Entwurf '{title}' unter pages:{parent}", "New draft '{title}' under pages:{parent}"),
    "twin": (
        "Achtung: Dort gibt es schon eine Seite '{title}' (pages:{uid})",
        "Note: there is a page '{title}' already (pages:{uid})",
    ),
    "description_saved": ("Beschreibung gespeichert: pages:{uid}", "Description saved: pages:{uid}"),
    "changed_meanwhile": (
        "pages:{uid} wurde seit der Vorschau geändert; nichts gespeichert.",
        "pages:{uid} was changed since the preview; nothing was saved.",
    ),
    "empty": ("(leer)", "(empty)"),
    "deleted": ("Gelöscht: content:{uid}", "Deleted: content:{uid}"),
    "no_content": ("Es gibt kein Element content:{uid}.", "There is no element content:{uid}."),
    "deletes": ("Löscht content:{uid} von pages:{page}: {text}", "Deletes content:{uid} of pages:{page}: {text}"),
    "cleared": ("{count} Seiten aus dem Cache entfernt.", "{count} pages were removed from the cache."),
    "published": ("Veröffentlicht: pages:{uid}", "Published: pages:{uid}"),
}


def said(key: str, **arguments: object) -> str:
    """The text of *key* in the language of the call."""
    german, english = _TEXTS[key]
    return (german if LANGUAGE.get() == "de" else english).format(**arguments)
