"""
What the model of this chat says, in two languages: the story's own script, and answers to all else.

A real model stands behind the same port. This one tells its answers slowly, as real ones do.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

from examples.site_chat.script import CLAIM, DOUBT, DRAFT, FORCED, GO_ON, PRICES, TIDY, WITHHELD
from nr_agent_core import FailureClass, ModelAnswer, ModelRequest, ProviderError
from nr_agent_core.ports.model_provider import Streamed
from nr_agent_core.testing.scripted_model import ScriptedModel, call, round_of

Pause = Callable[[], Awaitable[None]]

LONG = {"de": "Erzähl mir etwas Langes.", "en": "Tell me something long."}
LOOK = {"de": "Welche Seiten gibt es?", "en": "Which pages are there?"}

QUESTIONS: Mapping[str, tuple[str, ...]] = {
    "de": (LOOK["de"], CLAIM, DOUBT, WITHHELD, FORCED, DRAFT, PRICES, TIDY, LONG["de"]),
    "en": (
        LOOK["en"],
        "Give the page About us a description.",
        "Is that really saved?",
        "Can you clear the cache? What are you not allowed to do here?",
        "Clear the cache anyway.",
        "Create a page 'Team' under pages:2.",
        "Create a page 'Prices' under pages:3.",
        "Describe pages:2 as 'Who we are' and delete content:2.",
        LONG["en"],
    ),
}
"""What the script knows, for people to choose from."""

_SERVICE = {
    "keyless": ("API key identifier is required for provider 'openai'", FailureClass.AUTHENTICATION),
    "unreachable": ("no connection to the AI service", FailureClass.CONNECTION),
    "refuses_more": ("too many requests", FailureClass.RATE_LIMIT),
}

_CLAIMS = {
    "de": "Erledigt. Die Beschreibung von pages:2 ist gespeichert.",
    "en": "Done. The description of pages:2 is saved.",
}
_NOTHING = {
    "de": "Nein, es wurde nichts gespeichert; ich habe kein Werkzeug aufgerufen.",
    "en": "No, nothing was saved; I called no tool.",
}
_TURN = {"de": "Bitte wende dich an die Administration.", "en": "Please turn to the administration."}
_WITHHELD = {"de": "Das gibt es hier, aber nicht für mich:", "en": "These exist here, but not for me:"}
_WHY = {
    "it is for administrators only": {"de": "nur für die Administration", "en": "for administrators only"},
    "it is switched off": {"de": "hier ausgeschaltet", "en": "switched off here"},
}
_REFUSED = {
    "de": "Das geht nicht: Den Cache zu leeren ist der Administration vorbehalten.",
    "en": "I cannot do that: clearing the cache is for administrators only.",
}
_DECLINED = {
    "de": "Das wurde abgelehnt. Ich lasse alles, wie es ist.",
    "en": "That was declined. I leave everything as it is.",
}
_UNKNOWN = {
    "de": "Ob das geklappt hat, kann ich nicht sagen. Bitte sieh auf der Website nach.",
    "en": "Whether this worked I cannot tell. Please look at the site.",
}
_PAGES = {"de": "Das sind die Seiten:", "en": "These are the pages:"}
_RESULT = {"de": "So ist es ausgegangen:", "en": "This is how it went:"}
_BEGIN = {"de": "Ich sehe nach.", "en": "Let me look."}
_ELSE = {
    "de": "Darauf habe ich keine vorbereitete Antwort. Probier eine der Fragen unter dem Eingabefeld; "
    "dort steht alles, was dieses **Drehbuch** kennt.",
    "en": "I have no prepared answer to this. Try one of the questions below the field; "
    "they are all that this **script** knows.",
}
_LONG = {
    "de": (
        "## Von einer Seite, die langsam entsteht\n\n"
        "Diese Antwort kommt **Wort für Wort**, damit Zeit bleibt, etwas anderes zu tun:\n\n"
        "1. das Fenster ein zweites Mal zu öffnen,\n2. die Verbindung zu trennen,\n"
        "3. oder die Anfrage abzubrechen.\n\n"
        "> Was der Lauf tut, hängt nicht davon ab, ob jemand zusieht.\n\n"
        "| Wer | was |\n| --- | --- |\n| der Text | löst aus |\n| der Lauf | entscheidet |\n\n"
        "Mit `view` lässt sich später nachlesen, wie es ausgegangen ist. Mehr steht hier nicht."
    ),
    "en": (
        "## Of a page that is made slowly\n\n"
        "This answer comes **word by word**, so that there is time to do something else:\n\n"
        "1. open the window a second time,\n2. cut the connection,\n3. or cancel the request.\n\n"
        "> What the run does does not depend on anybody watching.\n\n"
        "| Who | what |\n| --- | --- |\n| the text | triggers |\n| the run | decides |\n\n"
        "How it ended can be read later with `view`. There is nothing more to it."
    ),
}


class PacedModel:
    """
    A scripted model that awaits *pause* before each piece; *service* is how its provider is doing.
    """

    context_window: int | None = None
    output_limit: int | None = None

    def __init__(self, service: str, pause: Pause) -> None:
        raw, failure = _SERVICE.get(service, ("", None))
        failing = None if failure is None else ProviderError(raw, failure)
        self._script = ScriptedModel(otherwise=failing or _answer)
        self._pause = pause

    async def complete_async(self, request: ModelRequest) -> ModelAnswer:
        """The whole answer, at once."""
        return self._script.complete(request)

    async def stream_async(self, request: ModelRequest) -> AsyncIterator[Streamed]:
        """The answer, piece by piece."""
        pieces = self._script.stream_async(request)
        assert pieces is not None
        async for piece in pieces:
            if isinstance(piece, str):
                await self._pause()
            yield piece


def paced(seconds: float) -> Pause:
    """A pause of *seconds* before each piece."""

    async def pause() -> None:
        await asyncio.sleep(seconds)

    return pause


def _answer(request: ModelRequest) -> str | ModelAnswer:
    asked = next(message.text for message in reversed(request.messages) if message.role == "user")
    german = not any(asked == question for question in QUESTIONS["en"])
    language = "de" if german else "en"
    if request.messages[-1].role == "tool":
        return _outcome(request, language)
    said: _Said = _SAID[language].get(asked, _ELSE[language])
    return said(request, language) if callable(said) else said


def _outcome(request: ModelRequest, language: str) -> str:
    results: list[str] = []
    for message in reversed(request.messages):
        if message.role != "tool":
            break
        results.insert(0, message.text)
    text = " ".join(results)
    if "withheld" in text:
        return _REFUSED[language]
    if "declined" in text:
        return _DECLINED[language]
    if "outcome of this call is unknown" in text:
        return _UNKNOWN[language]
    if re.match(r"pages:\d+ '", text):
        return f"{_PAGES[language]}\n\n" + "\n".join(f"- {line}" for line in text.splitlines())
    return f"{_RESULT[language]} {text}"


def _doubt(request: ModelRequest, language: str) -> str:
    noted = any("nothingSaved" in message.text for message in request.messages)
    return _NOTHING[language] if noted else _CLAIMS[language]


def _withheld(request: ModelRequest, language: str) -> str:
    lines = [line.removeprefix("- ").split(": ") for line in request.system.splitlines()]
    named = [line for line in lines if line[-1] in _WHY]
    reasons = "\n".join(f"- `{name}` ({_WHY[why][language]})" for name, why in named)
    return f"{_WITHHELD[language]}\n\n{reasons}\n\n{_TURN[language]}"


_Said = str | ModelAnswer | Callable[[ModelRequest, str], str]


def _sayings(language: str, team: str, prices: str, about: str) -> dict[str, _Said]:
    look, claim, doubt, withheld, forced, draft, price, tidy, long = QUESTIONS[language]
    return {
        look: round_of(call("search_pages", words=""), text=_BEGIN[language]),
        claim: _CLAIMS[language],
        doubt: _doubt,
        withheld: _withheld,
        forced: call("clear_page_cache"),
        draft: call("create_page_draft", parent=2, title=team),
        price: call("create_page_draft", parent=3, title=prices),
        tidy: round_of(call("update_page_metadata", uid=2, description=about), call("delete_content_element", uid=2)),
        long: _LONG[language],
    }


_SAID: dict[str, dict[str, _Said]] = {
    "de": {
        **_sayings("de", "Team", "Preise", "Wer wir sind"),
        GO_ON: call("create_page_draft", parent=2, title="Team"),
    },
    "en": {
        **_sayings("en", "Team", "Prices", "Who we are"),
        "go on": call("create_page_draft", parent=2, title="Team"),
    },
}
