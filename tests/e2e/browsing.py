"""
People with browsers: what they do on a page, what they see, and what an examiner of accessibility says.
"""

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Browser, BrowserContext, Page, expect

from examples.web_chat.script import QUESTIONS
from tests.web_server import Served

LOOK, CLAIM, DOUBT, WITHHELD, FORCED, DRAFT, PRICES, TIDY, LONG = range(9)
GO_ON = {"de": "weiter", "en": "go on"}
PATIENCE = 60_000
PEOPLE = ("editor", "approver", "administrator")


class Look(NamedTuple):
    """
    A language, a width and a colour scheme.
    """

    language: str
    width: int
    scheme: str

    def __str__(self) -> str:
        return f"{self.language}-{self.width}-{self.scheme}"


LOOKS = [Look("de", 1280, "light"), Look("de", 360, "dark"), Look("en", 360, "light"), Look("en", 1280, "dark")]


class Visitor:
    """
    Somebody with one tab; ``wrong`` is what the browser complained about.
    """

    def __init__(self, context: BrowserContext, page: Page, look: Look, address: str, *, scripts: bool = True) -> None:
        self.context, self.page, self.look, self.address, self._scripts = context, page, look, address, scripts
        self.wrong: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked: None if asked.url.startswith(address) else self.wrong.append(asked.url))

    def sign_in(self, person: str) -> "Visitor":
        """Choose who to be."""
        self.page.goto(f"{self.address}/sign-in")
        self.page.locator(f"button[name=person][value={person}]").click()
        expect(self.page.locator("#composer")).to_be_visible()
        return self

    def go(self, path: str) -> "Visitor":
        """Open a page."""
        self.page.goto(f"{self.address}{path}")
        return self

    def tab(self) -> "Visitor":
        """The same person and page in another tab."""
        other = Visitor(self.context, self.context.new_page(), self.look, self.address)
        other.page.goto(self.page.url)
        return other

    def ask(self, question: int) -> "Visitor":
        """Send a question of the script, and wait until it was dealt with."""
        return self.say(QUESTIONS[self.look.language][question])

    def go_on(self) -> "Visitor":
        """Say "go on"."""
        return self.say(GO_ON[self.look.language])

    def say(self, text: str) -> "Visitor":
        """Send *text*, and wait until it was dealt with."""
        self.begin(text)
        expect(self.page.locator("#composer")).to_have_attribute("aria-busy", "false", timeout=PATIENCE)
        return self

    def begin(self, text: str) -> None:
        """Send *text*, and do not wait."""
        if self._scripts:
            # A click before the script is there is a form like any other, and loads the page anew.
            expect(self.page.locator("#composer")).to_have_attribute("aria-busy", "false", timeout=PATIENCE)
        self.page.locator("#text").fill(text)
        self.page.locator("#send").click()

    def decide(self, decision: str) -> "Visitor":
        """Click on the card, and wait until it is gone."""
        cards = self.page.locator(".card")
        before = cards.count()
        self.page.locator(f".card button.{decision}").first.click()
        expect(cards).to_have_count(before - 1, timeout=PATIENCE)
        return self

    def sees(self, selector: str, *, count: int = 1) -> "Visitor":
        """Wait until *selector* is on the page so many times."""
        expect(self.page.locator(selector)).to_have_count(count, timeout=PATIENCE)
        return self

    def codes(self) -> list[str | None]:
        """The codes of the notices on the page."""
        return [notice.get_attribute("data-code") for notice in self.page.locator(".notice").all()]

    def measured(self, expression: str) -> Any:
        """What *expression* is on this page; the page's own policy stays in force."""
        session = self.context.new_cdp_session(self.page)
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        answer = session.send("Runtime.evaluate", asked)
        session.detach()
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")


class Stage:
    """
    A served chat, everybody who came to it, and where their screenshots go.
    """

    def __init__(self, browser: Browser, served: Served, look: Look, folder: Path) -> None:
        self._browser, self.served, self.look, self._folder = browser, served, look, folder
        self._here: list[Visitor] = []

    def person(self, person: str | None = None, *, scripts: bool = True) -> Visitor:
        """Somebody with a browser of their own, signed in as *person*."""
        height = 800 if self.look.width > 600 else 740
        context = self._browser.new_context(
            viewport={"width": self.look.width, "height": height},
            color_scheme="dark" if self.look.scheme == "dark" else "light",
            locale=self.look.language,
            reduced_motion="reduce",
            java_script_enabled=scripts,
        )
        page = context.new_page()
        visitor = Visitor(context, page, self.look, self.served.address, scripts=scripts)
        self._here.append(visitor)
        return visitor if person is None else visitor.sign_in(person)

    def shown(self, visitor: Visitor, name: str, *, whole: bool = False) -> None:
        """
        Keep a screenshot of what *visitor* sees, and hold it to what every page must be.

        It fits into its width, has no violation that axe-core knows of, and the browser complained of nothing.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        visitor.page.screenshot(path=self._folder / f"{name}-{self.look}.png", full_page=whole)
        visitor.measured(_axe())
        result = visitor.measured("axe.run(document, {resultTypes: ['violations']})")
        violations = [
            (found["id"], [node["html"][:200] for node in found["nodes"]][:3], found["nodes"][0].get("failureSummary"))
            for found in result["violations"]
        ]
        assert not violations, f"{name}: {violations}"
        assert visitor.measured("document.documentElement.scrollWidth - window.innerWidth") <= 0, name
        assert not visitor.wrong, f"{name}: {visitor.wrong}"

    def set(self, **settings: str) -> None:
        """What administrators set."""
        self.served.host.settings.change(**settings)

    def close(self) -> None:
        """All go."""
        for visitor in self._here:
            visitor.context.close()


def _axe() -> str:
    found = find_spec("axe_playwright_python")
    assert found is not None
    assert found.origin is not None
    return (Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8") + "; undefined"
