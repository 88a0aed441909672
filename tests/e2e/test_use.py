"""
What people do with the web chat in a browser, and what must not come of it.
"""

import re
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Route, expect

from examples.site_chat.site import Site
from examples.web_chat.script import QUESTIONS
from nr_agent_core.domain.texts import reply_sentence
from tests.e2e.browsing import CLAIM, DRAFT, LONG, LOOKS, PATIENCE, TIDY, Look, Stage, Visitor
from tests.web.test_bad_input import until
from tests.web_server import Served, process_of

pytestmark = pytest.mark.e2e


@pytest.fixture
def look() -> Look:
    """English, wide."""
    return LOOKS[3]


def stops_after(served: Served, words: int) -> threading.Event:
    """Close the gate behind so many words of the next answer; set once it is closed."""
    left, stopped = iter(range(words)), threading.Event()
    gate, pause = served.gate, served.gate.pause

    async def counted() -> None:
        if next(left, None) is None and not stopped.is_set():
            gate.close()
            stopped.set()
        await pause()

    served.pauses = counted
    return stopped


def test_an_answer_is_read_while_it_is_made(served: Served, stage: Stage) -> None:
    """The first words stand there while the model still talks; at the end the whole answer, as it is stored."""
    editor = stage.person("editor")
    stops_after(served, 12)
    editor.begin(QUESTIONS["en"][LONG])
    expect(editor.page.locator(".message.assistant .plain")).to_contain_text("This answer comes")
    assert "There is nothing more to it" not in editor.page.inner_text("#messages")
    served.gate.open()

    editor.sees("#messages h2").sees("#messages table")
    expect(editor.page.locator("#live")).to_have_text("The answer is there.")
    assert editor.wrong == []


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_a_double_click_decides_once(served: Served, stage: Stage, decision: str) -> None:
    """However fast it is, one decision is taken and one answer comes."""
    administrator = stage.person("administrator").ask(DRAFT)
    administrator.page.locator(f".card .{decision}").dblclick()
    administrator.sees(".card", count=0).sees("#messages > li", count=2)

    assert len(served.host.site.pages()) == 3 + (decision == "approve")
    assert administrator.page.locator("#reply:not([hidden])").count() == 0


def test_a_double_click_in_the_inbox_decides_once(served: Served, stage: Stage) -> None:
    """A form without a script of its own is sent once."""
    stage.person("editor").ask(DRAFT)
    approver = stage.person("approver").go("/inbox")
    approver.page.locator(".card .approve").dblclick()
    approver.sees(".card", count=0).sees(".told")

    assert len(served.host.site.pages()) == 4


def test_a_double_click_on_send_sends_once(stage: Stage) -> None:
    """One message, one answer."""
    editor = stage.person("editor").sees("#composer[aria-busy=false]")
    editor.page.locator("#text").fill(QUESTIONS["en"][CLAIM])
    editor.page.locator("#send").dblclick()

    editor.sees("[data-code=nothingSaved]").sees("#messages > li[id]", count=2)
    expect(editor.page.locator("#text")).to_have_value("")


def test_two_tabs_agree(served: Served, stage: Stage) -> None:
    """What one tab decides the other shows by itself; a click there before is refused, and says so."""
    first = stage.person("administrator").ask(DRAFT)
    second = first.tab().sees(".card")
    away = True
    second.page.route("**/thread", lambda route: route.abort() if away else route.continue_())
    first.decide("deny")
    with second.page.expect_response("**/turn"):
        second.page.locator(".card .approve").click()
    away = False

    second.sees(".card", count=0)
    expect(second.page.locator("#reply-text")).to_have_text(reply_sentence("alreadyDecided", "en"))
    third = first.tab()
    first.ask(CLAIM)
    third.sees("[data-code=nothingSaved]")
    assert len(served.host.site.pages()) == 3


def test_back_to_a_decided_card(served: Served, stage: Stage) -> None:
    """The page is made anew, without the card."""
    administrator = stage.person("administrator").ask(DRAFT)
    administrator.decide("deny").go("/records")
    administrator.page.go_back()

    administrator.sees("#messages > li", count=2).sees(".card", count=0)
    assert len(served.host.site.pages()) == 3


def test_a_sign_in_that_ends_amid_an_answer(served: Served, stage: Stage) -> None:
    """The page says so and leads to a sign-in, and from there to the answer, which came all the same."""
    editor = stage.person("editor").ask(CLAIM)
    stopped = stops_after(served, 6)
    editor.begin(QUESTIONS["en"][LONG])
    stopped.wait(20)
    served.clock.advance(9 * 3600)
    served.gate.open()
    editor.page.locator("#reply a").click()
    editor.page.locator("button[name=person][value=editor]").click()

    editor.sees("#messages table")


def test_a_connection_that_breaks_amid_an_answer(served: Served, stage: Stage) -> None:
    """The page says so; once there is a network again it shows the answer that came meanwhile."""
    editor = stage.person("editor").ask(CLAIM)
    # A proxy that cuts the stream behind its first frames.
    editor.page.route("**/turn", cut)
    editor.begin(QUESTIONS["en"][LONG])

    expect(editor.page.locator("#reply-text")).to_have_text(
        "The connection broke. The run goes on; this is how far it is."
    )
    editor.sees("#messages table")


def cut(route: Route) -> None:
    """Answer with the beginning of the stream alone."""
    whole = route.fetch()
    route.fulfill(response=whole, body=whole.text()[: whole.text().index("\n\n") + 2])


def test_without_a_network_nothing_is_sent(stage: Stage) -> None:
    """What was typed stays in its field."""
    editor = stage.person("editor").ask(CLAIM)
    editor.context.set_offline(True)
    editor.say("Hello?")

    expect(editor.page.locator("#text")).to_have_value("Hello?")
    editor.sees("#reply:not([hidden])").sees("#messages > li", count=2)
    editor.context.set_offline(False)
    editor.page.locator("#send").click()
    editor.sees("#messages > li[id]", count=4)


def test_all_can_be_done_by_keyboard(served: Served, stage: Stage) -> None:
    """Skip link, message, decision; focus is never lost."""
    administrator = stage.person("administrator").sees("#composer[aria-busy=false]")
    keys = administrator.page.keyboard
    keys.press("Tab")
    expect(administrator.page.locator(".skip")).to_be_focused()
    keys.press("Enter")
    administrator.page.locator("#text").focus()
    keys.type(QUESTIONS["en"][TIDY])
    keys.press("Enter")
    administrator.sees(".card")
    expect(administrator.page.locator("#text")).to_be_focused()
    expect(administrator.page.locator("#live")).to_have_text("A decision is waiting.")
    keys.press("Shift+Tab")
    keys.press("Shift+Tab")
    keys.press("Shift+Tab")
    expect(administrator.page.locator(".card .approve")).to_be_focused()
    keys.press("Enter")
    administrator.sees(".did a.record", count=2)

    expect(administrator.page.locator("#main")).to_be_focused()
    assert len(served.host.site.content()) == 1


def test_without_a_script(browser: Browser, stage: Stage) -> None:
    """Messages, decisions and replies work by forms alone."""
    visitor = stage.person(scripts=False)
    visitor.sign_in("approver")
    visitor.begin(QUESTIONS["en"][DRAFT])
    visitor.sees(".card")
    visitor.begin("go on")
    expect(visitor.page.locator("#reply-text")).to_have_text(reply_sentence("approvalPending", "en"))
    expect(visitor.page.locator("#text")).to_have_value("go on")
    visitor.page.locator(".card .approve").click()

    visitor.sees(".did a.record")


def test_a_look_that_is_never_answered_is_not_the_last_one(stage: Stage) -> None:
    """Over a connection that went silent the page looks again after a while, and shows what was decided meanwhile."""
    editor = stage.person("editor").ask(DRAFT).sees(".state.waiting")
    silent: list[Route] = []
    editor.page.route("**/thread", lambda route: route.continue_() if silent else silent.append(route))
    with editor.page.expect_request("**/thread"):
        pass
    stage.person("approver").go("/inbox").decide("approve")

    editor.sees("[data-code=runFinishedOutside]")
    assert len(silent) == 1
    editor.wrong.clear()  # the request that was given up


def test_what_was_told_while_it_waited_goes_when_it_was_decided(stage: Stage) -> None:
    """That a decision is needed is true no more once somebody took it; the page says so by itself."""
    editor = stage.person("editor").ask(DRAFT).go_on().sees("#reply:not([hidden])")
    stage.person("approver").go("/inbox").decide("approve")

    editor.sees("[data-code=runFinishedOutside]")
    expect(editor.page.locator("#reply")).to_be_hidden(timeout=PATIENCE)


def test_html_in_a_message_is_text(stage: Stage) -> None:
    """While it is told and when it is stored."""
    editor = stage.person("editor")
    editor.say("<img src=x onerror=alert(1)><script>alert(2)</script>")

    expect(editor.page.locator(".message.user .plain")).to_have_text(
        "<img src=x onerror=alert(1)><script>alert(2)</script>"
    )
    assert editor.page.locator("#messages img, #messages script").count() == 0
    assert editor.wrong == []


def test_a_server_that_is_killed_amid_an_answer(browser: Browser, tmp_path: Path) -> None:
    """The open page says that the connection broke, and at the next server that a run is at work; it can be ended."""
    with process_of(tmp_path, pace=3600.0) as (address, kill):
        context = browser.new_context(locale="en")
        visitor = Visitor(context, context.new_page(), LOOKS[3], address).sign_in("editor")
        visitor.begin(QUESTIONS["en"][LONG])
        expect(visitor.page).to_have_url(re.compile("/chat/."))
        visitor.sees("#messages .state.running")
        until_it_runs(tmp_path)
        kill()
        expect(visitor.page.locator("#reply")).to_be_visible(timeout=PATIENCE)
        with process_of(tmp_path, port=int(address.rpartition(":")[2])):
            visitor.sees("#now .state.running").page.locator("#cancel").click()
            visitor.sees("[data-code=runEnded]").ask(DRAFT).sees(".state.waiting")
        context.close()
    assert len(Site(tmp_path / "site.db").pages()) == 3


def until_it_runs(folder: Path) -> None:
    """Wait until a run is stored."""
    with closing(sqlite3.connect(folder / "chat.db", timeout=10)) as connection:
        until(lambda: connection.execute("SELECT count(*) FROM run").fetchone()[0] == 1)
