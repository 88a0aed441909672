"""
Every state that a person can see, in each look: shown, kept as a screenshot, and accessible.
"""

from collections.abc import Callable

import pytest

from tests.e2e.browsing import (
    CLAIM,
    DOUBT,
    DRAFT,
    FORCED,
    LONG,
    LOOK,
    LOOKS,
    PRICES,
    TIDY,
    WITHHELD,
    Look,
    Stage,
    Visitor,
)

pytestmark = pytest.mark.e2e

State = Callable[[Stage], Visitor]


def sign_in(stage: Stage) -> Visitor:
    """Who are you?"""
    return stage.person().go("/")


def empty(stage: Stage) -> Visitor:
    """Nothing was said yet."""
    return stage.person("editor")


def answer(stage: Stage) -> Visitor:
    """Markdown, a table, a list."""
    return stage.person("editor").ask(LOOK).ask(LONG)


def nothing_saved(stage: Stage) -> Visitor:
    """A change was claimed, none was made; then the model knows."""
    visitor = stage.person("editor").ask(CLAIM).ask(DOUBT)
    assert "nothingSaved" in visitor.codes()
    return visitor


def withheld_tools(stage: Stage) -> Visitor:
    """What exists and is not for this person."""
    return stage.person("editor").ask(WITHHELD).ask(FORCED)


def waiting_with_card(stage: Stage) -> Visitor:
    """Still waiting, for somebody who decides: "go on" is held."""
    return stage.person("approver").ask(DRAFT).go_on().sees(".card").sees("#reply:not([hidden])")


def waiting_without_card(stage: Stage) -> Visitor:
    """Still waiting, for somebody who does not."""
    return stage.person("editor").ask(DRAFT).go_on().sees(".state.waiting").sees(".card", count=0)


def card_with_two_calls(stage: Stage) -> Visitor:
    """Two calls, a difference, the age of the previews."""
    return stage.person("administrator").ask(TIDY).sees(".call", count=2)


def four_eyes(stage: Stage) -> Visitor:
    """An owner can only deny."""
    stage.set(four_eyes="on")
    return stage.person("administrator").ask(DRAFT).sees(".card .deny").sees(".card .approve", count=0)


def expiring(stage: Stage) -> Visitor:
    """A card with a time."""
    stage.set(expiry="minutes")
    return stage.person("administrator").ask(DRAFT).sees(".card")


def withheld_preview(stage: Stage) -> Visitor:
    """A decision without a preview."""
    stage.set(previews="administrators")
    stage.person("editor").ask(DRAFT)
    return stage.person("approver").go("/inbox").sees(".card").sees(".preview", count=0)


def running_elsewhere(stage: Stage) -> Visitor:
    """Another tab drives the run; a message is not taken."""
    visitor = stage.person("editor").ask(CLAIM)
    other = visitor.tab()
    stage.served.gate.close()
    visitor.begin("Noch etwas.")
    stage.served.gate.held.wait()
    return other.say("?").sees(".state.running").sees("#reply:not([hidden])")


def approved_elsewhere(stage: Stage) -> Visitor:
    """The page that waits shows by itself what became of it."""
    editor = stage.person("editor").ask(DRAFT)
    stage.person("approver").go("/inbox").decide("approve")
    return editor.sees("[data-code=runFinishedOutside]").go_on().sees("[data-code=runFinishedOutside]", count=2)


def declined_elsewhere(stage: Stage) -> Visitor:
    """The same for a denial."""
    editor = stage.person("editor").ask(DRAFT)
    stage.person("approver").go("/inbox").decide("deny")
    return editor.sees("[data-code=runFinishedOutside]").go_on().sees("[data-code=runFinishedOutside]", count=2)


def cancelled_elsewhere(stage: Stage) -> Visitor:
    """An administrator ended the run from its timeline."""
    editor = stage.person("editor").ask(DRAFT)
    administrator = stage.person("administrator").go("/inbox")
    administrator.page.locator("a[href^='/runs/']").click()
    administrator.page.locator("form[action$='/cancel'] button").click()
    return editor.sees("[data-code=runEnded]").go_on().sees("[data-code=runFinishedOutside]")


def expired_elsewhere(stage: Stage) -> Visitor:
    """Nobody decided in time."""
    stage.set(expiry="seconds")
    editor = stage.person("editor").ask(DRAFT)
    stage.served.clock.advance(21)
    return editor.sees("[data-code=runEnded]").go_on().sees("[data-code=runFinishedOutside]")


def failed_elsewhere(stage: Stage) -> Visitor:
    """Approved and saved, and then the model could not be asked."""
    editor = stage.person("editor").ask(DRAFT)
    stage.set(service="unreachable")
    stage.person("approver").go("/inbox").decide("approve")
    return editor.sees("[data-code=savedBeforeEnd]").go_on().sees("[data-code=runFinishedOutside]", count=2)


def unknown_elsewhere(stage: Stage) -> Visitor:
    """Approved elsewhere, and the answer of the write was lost."""
    editor = stage.person("editor").ask(DRAFT)
    stage.set(mishap="lost")
    stage.person("approver").go("/inbox").decide("approve")
    return editor.sees("[data-code=writeOutcomeUnknown]").go_on().sees("[data-code=runFinishedOutside]", count=2)


def superseded_card(stage: Stage) -> Visitor:
    """A card of before another message, clicked in the tab that still shows it."""
    visitor = stage.person("approver").ask(DRAFT)
    old = visitor.tab().sees(".card")
    away = True
    # The route stays: a request that is caught while its route is taken away would never be answered.
    old.page.route("**/thread", lambda route: route.abort() if away else route.continue_())
    visitor.ask(WITHHELD).sees("[data-code=runEnded]")
    with old.page.expect_response("**/turn"):
        old.page.locator(".card .approve").click()
    away = False
    old.sees(".card", count=0).sees("#reply:not([hidden])").sees("[data-code=runEnded]")
    old.wrong.clear()  # the requests that were kept from it
    return old


def unknown_outcome(stage: Stage) -> Visitor:
    """A write whose answer was lost."""
    stage.set(mishap="lost")
    return stage.person("administrator").ask(PRICES).decide("approve").sees("[data-code=writeOutcomeUnknown]")


def failure_for_an_editor(stage: Stage) -> Visitor:
    """A sentence."""
    stage.set(service="keyless")
    return stage.person("editor").ask(CLAIM).sees(".failure").sees(".failure a", count=0)


def failure_for_an_administrator(stage: Stage) -> Visitor:
    """The cause, and a link."""
    stage.set(service="keyless")
    return stage.person("administrator").ask(CLAIM).sees(".failure a[href='/settings#providers']")


def not_configured(stage: Stage) -> Visitor:
    """The chat is switched off."""
    stage.set(chat="off")
    return stage.person("editor").ask(CLAIM).sees(".failure")


def saved(stage: Stage) -> Visitor:
    """What was written stands beside the answer, as links."""
    return stage.person("administrator").ask(TIDY).decide("approve").sees(".did a.record", count=2)


def denied(stage: Stage) -> Visitor:
    """A denial goes on with an answer."""
    return stage.person("administrator").ask(DRAFT).decide("deny")


def inbox(stage: Stage) -> Visitor:
    """What waits, oldest first."""
    stage.person("editor").ask(DRAFT)
    stage.person("administrator").ask(TIDY)
    return stage.person("approver").go("/inbox").sees(".card", count=2)


def empty_inbox(stage: Stage) -> Visitor:
    """Nothing waits."""
    return stage.person("approver").go("/inbox")


def written(stage: Stage, path: str) -> Visitor:
    """Somebody at *path*, when an AI has written something."""
    return stage.person("administrator").ask(TIDY).decide("approve").go(path)


def records(stage: Stage) -> Visitor:
    """What an AI wrote."""
    return written(stage, "/records").sees("tbody tr", count=2)


def site(stage: Stage) -> Visitor:
    """The site, with labels."""
    return written(stage, "/site").sees(".kind.ai")


def record(stage: Stage) -> Visitor:
    """One record with its label."""
    return written(stage, "/site/pages/2").sees(".kind.ai")


def timeline(stage: Stage) -> Visitor:
    """The facts of a run."""
    visitor = written(stage, "/records")
    visitor.page.locator("td a[href^='/runs/']").first.click()
    return visitor.sees(".event.completed")


def settings(stage: Stage) -> Visitor:
    """What is set."""
    return stage.person("administrator").go("/settings#providers")


def not_found(stage: Stage) -> Visitor:
    """A page that is not there."""
    visitor = stage.person("editor").go("/nope")
    visitor.wrong.clear()  # the browser says 404, too
    return visitor


STATES: list[State] = [
    sign_in,
    empty,
    answer,
    nothing_saved,
    withheld_tools,
    waiting_with_card,
    waiting_without_card,
    card_with_two_calls,
    four_eyes,
    expiring,
    withheld_preview,
    running_elsewhere,
    approved_elsewhere,
    declined_elsewhere,
    cancelled_elsewhere,
    expired_elsewhere,
    failed_elsewhere,
    unknown_elsewhere,
    superseded_card,
    unknown_outcome,
    failure_for_an_editor,
    failure_for_an_administrator,
    not_configured,
    saved,
    denied,
    inbox,
    empty_inbox,
    records,
    site,
    record,
    timeline,
    settings,
    not_found,
]


@pytest.mark.parametrize("look", LOOKS, ids=str)
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_a_state_is_shown_and_accessible(stage: Stage, look: Look, state: State) -> None:
    """It fits into the width, axe-core finds no violation, the browser loads nothing from elsewhere."""
    visitor = state(stage)

    stage.shown(visitor, state.__name__)
