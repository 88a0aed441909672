"""
What is said and done in every workload: the user's messages, the model's answer, and the two tools.
"""

import json

FINAL_BODY = (
    "Ich habe mir die Seite angesehen. Der Titel passt zum Inhalt, die Beschreibung ist etwas kurz "
    "und das zweite Inhaltselement hat keine Überschrift. The page is visible in the menu and was "
    "last changed by the editor group. Wenn du möchtest, schlage ich einen neuen Text für die "
    "Beschreibung vor; dafür brauche ich nur die gewünschte Zielgruppe und den Tonfall. "
    "Es wurde noch nichts geändert. Nothing was saved in this step. "
)

WRITES: list[int] = []
"""What the writing tool was executed for, in this process."""


def user_text(i: int) -> str:
    """A message that makes the model read a page."""
    return f"Bitte prüfe Seite {i} und sag mir, ob der Titel zum Inhalt passt. Please check page {i} as well."


def write_text(i: int) -> str:
    """A message that makes the model change a page."""
    return f"Setze den Titel von Seite {i} auf 'Neuer Titel {i}' und speichere das bitte."


def final_text(i: int) -> str:
    """The model's answer, about 600 bytes."""
    return f"Seite {i}: {FINAL_BODY}"


def page_record(uid: int) -> str:
    """What the reading tool returns."""
    return json.dumps(
        {
            "uid": uid,
            "pid": 1,
            "title": f"Titel der Seite {uid}",
            "slug": f"/bereich/titel-der-seite-{uid}",
            "doktype": 1,
            "hidden": 0,
            "description": "Kurze Beschreibung der Seite, wie sie in der Suche erscheint.",
            "content": [{"uid": uid * 10 + k, "CType": "text", "header": f"Abschnitt {k}"} for k in range(3)],
        },
        ensure_ascii=False,
    )


def do_write(uid: int, title: str) -> str:
    """The effect of the writing tool."""
    WRITES.append(uid)
    return json.dumps({"ok": True, "record": f"pages:{uid}", "title": title}, ensure_ascii=False)


def is_write(text: str) -> bool:
    """Whether a user's message asks for a change."""
    return text.startswith("Setze")


def num_after_seite(text: str) -> int:
    """The number of the page that a message is about."""
    words = text.replace("Page", "Seite").split()
    return int(words[words.index("Seite") + 1].strip(":"))
