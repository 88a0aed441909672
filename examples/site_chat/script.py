"""
What the model of the story says: a table, so that the story needs no key and no network.

A real model stands behind the same port. This one is asked the same questions, reads the same
prompt and notes, and gets the same tool results; it is only more predictable.
"""

from collections.abc import Callable

from nr_agent_core import ModelAnswer, ModelRequest
from nr_agent_core.testing.scripted_model import ScriptedModel, call, round_of

CLAIM = "Trag bei der Seite Über uns eine Beschreibung ein."
DOUBT = "Ist das wirklich gespeichert?"
WITHHELD = "Kannst du den Cache leeren? Was darfst du hier nicht?"
FORCED = "Leere den Cache trotzdem."
DRAFT = "Lege unter pages:2 eine Seite 'Team' an."
PRICES = "Lege unter pages:3 eine Seite 'Preise' an."
TIDY = "Beschreibe pages:2 mit 'Wer wir sind' und lösche content:2."
GO_ON = "weiter"


# It calls no tool, and it is the answer that an editor would believe.
_CLAIM = "Erledigt. Die Beschreibung von pages:2 ist gespeichert."
_WHY = {"it is for administrators only": "nur für die Administration", "it is switched off": "hier ausgeschaltet"}
_DRAFT = call("create_page_draft", parent=2, title="Team")


def story_model() -> ScriptedModel:
    """The model of the story; it answers each question from the table below."""
    return ScriptedModel(otherwise=_answer)


def _answer(request: ModelRequest) -> str | ModelAnswer:
    last = request.messages[-1]
    if last.role == "tool":
        if "withheld" in last.text:
            return "Das geht nicht: Den Cache zu leeren ist der Administration vorbehalten."
        results = [message.text for message in request.messages if message.role == "tool"]
        return f"So ist es ausgegangen: {' '.join(results)}"
    said = _ANSWERS[last.text]
    return said(request) if callable(said) else said


def _doubt(request: ModelRequest) -> str:
    noted = any("nothingSaved" in message.text for message in request.messages)
    return "Nein, es wurde nichts gespeichert; ich habe kein Werkzeug aufgerufen." if noted else _CLAIM


def _withheld(request: ModelRequest) -> str:
    lines = [line.removeprefix("- ").split(": ") for line in request.system.splitlines()]
    named = [line for line in lines if line[-1] in _WHY]
    reasons = "; ".join(f"{name} ({_WHY[why]})" for name, why in named)
    return f"Das gibt es hier, aber nicht für mich: {reasons}. Bitte wende dich an die Administration."


_ANSWERS: dict[str, str | ModelAnswer | Callable[[ModelRequest], str]] = {
    CLAIM: _CLAIM,
    DOUBT: _doubt,
    WITHHELD: _withheld,
    FORCED: call("clear_page_cache"),
    DRAFT: _DRAFT,
    # If this gets through to the model, the same page is drafted again. It should not.
    GO_ON: _DRAFT,
    PRICES: call("create_page_draft", parent=3, title="Preise"),
    TIDY: round_of(
        call("update_page_metadata", uid=2, description="Wer wir sind"), call("delete_content_element", uid=2)
    ),
}
