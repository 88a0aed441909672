"""
The story of the chat, over HTTP and without a script, in both languages.
"""

import pytest

from examples.web_chat.script import QUESTIONS
from nr_agent_core.domain.notices import Notice, NoticeCode
from nr_agent_core.domain.texts import failure_sentence, notice_label, render, reply_sentence
from tests.web.visitors import People, codes, digest_in, seen
from tests.web_server import Served

LANGUAGES = ("de", "en")
_, CLAIM, DOUBT, WITHHELD, FORCED, DRAFT, PRICES, TIDY, LONG = range(9)
GO_ON = {"de": "weiter", "en": "go on"}

both = pytest.mark.parametrize("language", LANGUAGES)


def ask(question: int, language: str) -> str:
    """A question of the script."""
    return QUESTIONS[language][question]


@both
def test_a_false_claim_is_labelled_and_left_as_it_was(people: People, language: str) -> None:
    """The answer stands as it was given, the label stands beside it, and the next answer knows (V6, P3)."""
    editor = people("editor", language=language)
    page = editor.say(ask(CLAIM, language)).text
    later = editor.say(ask(DOUBT, language)).text

    assert notice_label(Notice(NoticeCode.NOTHING_SAVED), language) in seen(page)
    assert codes(page)[0] == "nothingSaved"
    assert ("Erledigt." if language == "de" else "Done.") in seen(page)
    assert ("wurde nichts gespeichert" if language == "de" else "nothing was saved") in seen(later)
    assert codes(later) == codes(page)


@both
@pytest.mark.parametrize(
    ("settings", "code", "raw", "part"),
    [
        ({"service": "keyless"}, "providerNotConfigured", "API key identifier is required", "providers"),
        ({"chat": "off"}, "chatNotConfigured", None, "tasks"),
        ({"service": "unreachable"}, "providerUnavailable", "no connection to the AI service", None),
    ],
)
def test_a_failure_is_told_per_reader(
    people: People, language: str, settings: dict[str, str], code: str, raw: str | None, part: str | None
) -> None:
    """An editor reads a sentence; an administrator the cause, and a link where one helps (F2)."""
    administrator, editor = people("administrator", language=language), people("editor", language=language)
    administrator.set(**settings)
    for_editor = editor.say(ask(CLAIM, language)).text
    administrator.conversation = editor.conversation
    for_administrator = administrator.look()

    assert failure_sentence(code, language) in seen(for_editor)
    assert raw is None or raw not in for_editor
    assert "/settings" not in for_editor
    assert raw is None or raw in seen(for_administrator)
    assert part is None or f'href="/settings#{part}"' in for_administrator
    assert f'data-code="{code}"' in for_editor


@both
def test_withheld_tools_are_named_with_their_reasons(people: People, language: str) -> None:
    """The model says which tools exist and are not for this person, and calling one all the same is refused (G3)."""
    editor = people("editor", language=language)
    page = editor.say(ask(WITHHELD, language)).text
    forced = editor.say(ask(FORCED, language)).text

    assert "clear_page_cache" in seen(page)
    assert "publish_page" in seen(page)
    assert codes(forced) == []
    assert editor.get("/records").text.count("<tr>") == 0


@both
def test_go_on_without_a_card_is_held(served: Served, people: People, language: str) -> None:
    """While it waits nothing is stored, and who may not decide hears where it is decided (C2)."""
    editor = people("editor", language=language)
    waiting = editor.say(ask(DRAFT, language)).text
    held = editor.say(GO_ON[language])

    assert held.status_code == 409
    assert reply_sentence("approvalPendingElsewhere", language) in seen(held.text)
    assert 'name="digest"' not in waiting + held.text
    assert f">\n{GO_ON[language]}</textarea>" in held.text
    assert held.text.count('class="message user"') == 1
    assert len(served.host.site.pages()) == 3


@both
def test_a_preview_and_a_result_are_in_the_language_of_whoever_asked(people: People, language: str) -> None:
    """A result, too, when somebody with another language decided on it."""
    editor = people("editor", language=language)
    editor.say(ask(DRAFT, language))
    other = people("approver", language={"de": "en", "en": "de"}[language])
    waiting = other.get("/inbox").text
    other.decide_in_inbox("approve")

    assert {"de": "Neuer Entwurf 'Team'", "en": "New draft 'Team'"}[language] in seen(waiting)
    assert {"de": "Entwurf gespeichert: pages:4", "en": "Draft saved: pages:4"}[language] in seen(editor.look())


@both
def test_go_on_with_a_card_is_held(people: People, language: str) -> None:
    """Who may decide is shown to the card (C2)."""
    approver = people("approver", language=language)
    waiting = approver.say(ask(DRAFT, language)).text
    held = approver.say(GO_ON[language])

    assert held.status_code == 409
    assert reply_sentence("approvalPending", language) in seen(held.text)
    assert digest_in(held.text) == digest_in(waiting)
    # The preview's age: made this moment.
    assert ("vor 1 Sekunde" if language == "de" else "1 second ago") in seen(waiting)


@both
def test_what_was_approved_elsewhere_is_delivered_with_its_records(
    served: Served, people: People, language: str
) -> None:
    """Decided in the inbox: the answer has the label with the record as a link, and "go on" starts no run (C4, C7)."""
    editor, approver = people("editor", language=language), people("approver", language=language)
    editor.say(ask(DRAFT, language))
    decided = approver.decide_in_inbox("approve")
    page = editor.look()
    delivered = editor.say(GO_ON[language]).text

    assert render("status.completed", {}, language) in seen(decided.text)
    assert codes(page) == ["runFinishedOutside"]
    assert '<a class="record" href="/site/pages/4">pages:4</a>' in page
    assert codes(delivered) == ["runFinishedOutside", "runFinishedOutside"]
    assert [page.title for page in served.host.site.pages()][3:] == ["Team"]


@both
@pytest.mark.parametrize("way", ["declined", "cancelled", "expired", "failed", "unknown"])
def test_each_way_of_ending_elsewhere_is_told(served: Served, people: People, language: str, way: str) -> None:
    """Whatever ended a run outside its chat, the conversation says how, and that it was not the chat (C4, C7, F5)."""
    editor, administrator = people("editor", language=language), people("administrator", language=language)
    approver = people("approver", language=language)
    if way == "expired":
        administrator.set(expiry="seconds")
    editor.say(ask(DRAFT, language))
    match way:
        case "declined":
            approver.decide_in_inbox("deny")
        case "cancelled":
            run = administrator.get("/inbox").text.split('href="/runs/')[1].split('"')[0]
            administrator.post(f"/runs/{run}/cancel")
        case "expired":
            served.clock.advance(21)
        case "failed":
            administrator.set(service="unreachable")
            approver.decide_in_inbox("approve")
        case "unknown":
            administrator.set(mishap="lost")
            approver.decide_in_inbox("approve")
    page = editor.look()
    said = editor.say(GO_ON[language]).text

    expected = {
        "declined": ["runFinishedOutside"],
        "cancelled": ["runEnded"],
        "expired": ["runEnded"],
        "failed": ["runEnded", "savedBeforeEnd", "runFinishedOutside"],
        "unknown": ["writeOutcomeUnknown", "runFinishedOutside"],
    }[way]
    assert codes(page) == expected
    assert codes(said) == [*expected, "runFinishedOutside"]
    assert said.count('class="message user"') == 2


@both
def test_a_superseded_card_decides_nothing(served: Served, people: People, language: str) -> None:
    """Another message ended what waited; the card of before says so when it is clicked (C6, A1)."""
    approver = people("approver", language=language)
    old = approver.say(ask(DRAFT, language)).text
    page = approver.say(ask(WITHHELD, language)).text
    late = approver.decide("approve", old).text

    assert codes(page)[0] == "runEnded"
    assert render("ended.superseded", {}, language) in seen(page)
    assert reply_sentence("superseded", language) in seen(late)
    assert len(served.host.site.pages()) == 3


@both
def test_four_eyes_lets_an_owner_deny_alone(served: Served, people: People, language: str) -> None:
    """Whoever asked gets a card that can only deny; a posted approval is refused all the same (A3)."""
    administrator, approver = people("administrator", language=language), people("approver", language=language)
    administrator.set(four_eyes="on")
    page = administrator.say(ask(DRAFT, language)).text
    refused = administrator.decide("approve", page).text

    assert 'value="approve"' not in page
    assert 'value="deny"' in page
    assert render("card.fourEyes", {}, language) in seen(page)
    assert reply_sentence("secondPersonNeeded", language) in seen(refused)
    approver.decide_in_inbox("approve")
    assert len(served.host.site.pages()) == 4


@both
def test_a_withheld_preview_says_so(people: People, language: str) -> None:
    """Who may decide and not read the preview decides without one, and is told (T11, O4)."""
    administrator, approver = people("administrator", language=language), people("approver", language=language)
    editor = people("editor", language=language)
    administrator.set(previews="administrators")
    editor.say(ask(DRAFT, language))

    hidden, shown = approver.get("/inbox").text, administrator.get("/inbox").text
    assert render("card.withheld", {"tool": "create_page_draft"}, language) in seen(hidden)
    preview = {"de": "Neuer Entwurf", "en": "New draft"}[language]
    assert preview not in hidden
    assert preview in shown


@both
def test_an_unknown_outcome_is_said_to_be_unknown(served: Served, people: People, language: str) -> None:
    """The page was made and its answer was lost: neither saved nor not saved is said (V6, P4)."""
    administrator = people("administrator", language=language)
    administrator.set(mishap="lost")
    administrator.say(ask(PRICES, language))
    page = administrator.decide("approve").text

    assert codes(page) == ["writeOutcomeUnknown"]
    assert render("notice.writeOutcomeUnknown", {"tools": ["create_page_draft"]}, language) in seen(page)
    assert len(served.host.site.pages()) == 4


@both
def test_a_denial_carries_nothing_out(served: Served, people: People, language: str) -> None:
    """The run goes on with its answer; no record was written (A2)."""
    administrator = people("administrator", language=language)
    administrator.say(ask(TIDY, language))
    page = administrator.decide("deny").text

    assert ("abgelehnt" if language == "de" else "declined") in seen(page)
    assert len(served.host.site.content()) == 2
    assert codes(page) == []


@both
def test_what_was_written_is_listed_and_linked(people: People, language: str) -> None:
    """Records stand beside the answer, in the list of what an AI wrote, and at the record (W1, W4)."""
    administrator = people("administrator", language=language)
    administrator.say(ask(TIDY, language))
    page = administrator.decide("approve").text
    records, site = administrator.get("/records").text, administrator.get("/site").text
    gone = administrator.get("/site/content/2")

    assert codes(page) == ["written"]
    assert 'href="/site/pages/2">pages:2</a>' in page
    assert records.count("/runs/") == 2
    assert ("gelöscht" if language == "de" else "deleted") in seen(records)
    assert ("Von einer KI: geändert" if language == "de" else "By an AI: changed") in seen(site)
    assert gone.status_code == 200


@both
def test_a_busy_conversation_takes_no_second_message(served: Served, people: People, language: str) -> None:
    """While a run is at work elsewhere, a message is not stored, and the page says that it is at work (C3)."""
    editor, elsewhere = people("editor", language=language), people("editor", language=language)
    editor.say(ask(DOUBT, language))
    elsewhere.conversation = editor.conversation
    served.gate.close()
    events = editor.turn_of(ask(LONG, language))
    assert next(events)["type"] == "RUN_STARTED"
    served.gate.held.wait()

    busy = elsewhere.say(ask(CLAIM, language))

    assert busy.status_code == 409
    assert reply_sentence("conversationBusy", language) in seen(busy.text)
    assert 'class="state running"' in busy.text
    served.gate.open()
    assert [event["type"] for event in events][-1] == "RUN_FINISHED"
    assert 'class="state running"' not in elsewhere.look()


@both
def test_a_failed_turn_can_be_tried_again(people: People, language: str) -> None:
    """A run that failed and wrote nothing is repeated on the same message (F5)."""
    administrator = people("administrator", language=language)
    administrator.set(service="refuses_more")
    failed = administrator.say(ask(CLAIM, language)).text
    administrator.set(service="answers")
    page = administrator.post(f"/chat/{administrator.conversation}/retry").text

    assert 'id="retry"' in failed
    assert codes(failed) == ["runEnded"]
    assert 'id="retry"' not in page
    assert page.count('class="message user"') == 1


def test_an_inbox_is_oldest_first_and_for_deciders(people: People) -> None:
    """What waits longest stands first; an editor's inbox is empty (A5)."""
    editor, approver = people("editor"), people("approver")
    for question in (DRAFT, PRICES):
        editor.conversation = ""
        editor.say(ask(question, "en"))
    page = approver.get("/inbox").text

    assert page.index("Team") < page.index("Prices")
    assert 'class="card"' not in editor.get("/inbox").text


def test_a_timeline_shows_facts_to_administrators_alone(people: People) -> None:
    """Kinds, numbers, tools and records; no text of a message, an answer, an argument or a result (E4)."""
    editor, administrator = people("editor"), people("administrator")
    administrator.say(ask(DRAFT, "en"))
    administrator.decide("approve")
    run = administrator.look().split('href="/runs/')[1].split('"')[0]
    page = administrator.get(f"/runs/{run}").text

    for event in ("started", "model", "approval_requested", "approval", "tool_started", "tool", "completed"):
        assert f'class="event {event}"' in page
    assert "pages:4 created" in seen(page)
    assert "Draft saved" not in page
    assert ask(DRAFT, "en") not in seen(page)
    assert editor.get(f"/runs/{run}").status_code == 404
    assert administrator.get("/runs/none").status_code == 404
