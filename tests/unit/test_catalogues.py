"""
Texts of a host, and the notes of a card (F2, T11).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import InvalidValueError
from nr_agent_core.domain.notices import Notice, NoticeCode, ReplyCode
from nr_agent_core.domain.texts import (
    SHIPPED_LANGUAGES,
    Catalogues,
    notice_label,
    render,
    reply_sentence,
)
from nr_agent_core.domain.texts.cards import age
from nr_agent_core.domain.tool_result import Outcome
from nr_agent_core.ports.translator import Translator
from tests.unit.shown_texts import LANGUAGES, RECORDS, call, notes


class Answering:
    """A translator whose answer, or failure, is given."""

    def __init__(self, answer):
        self.answer = answer

    def translate(self, key, arguments, language):
        """The given answer."""
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@LANGUAGES
@pytest.mark.parametrize("answer", [None, "", "  ", 3, b"text", ["text"], "\ud800", KeyError("tools"), RuntimeError()])
def test_a_host_that_has_no_text_gets_the_shipped_one(language, answer):
    """A translator that raises, or returns nonsense, is passed over (V10)."""
    expected = reply_sentence(ReplyCode.SUPERSEDED, language)

    assert expected == reply_sentence(ReplyCode.SUPERSEDED, language, Answering(answer))


def test_a_hosts_text_comes_first():
    """A host overrides a text or adds a language without touching this package (V10)."""
    translator: Translator = Answering("Nee.")

    assert notice_label(Notice(NoticeCode.NOTHING_SAVED), "nl", translator) == "Nee."


def test_a_host_gets_arguments_fit_to_be_shown():
    """A translator puts texts into texts; it need not know how a record is stored."""

    class Own:
        def translate(self, key, arguments, language):
            return f"<{arguments['records']}>" if key == "notice.savedBeforeEnd" else None

    label = notice_label(Notice(NoticeCode.SAVED_BEFORE_END, {"records": RECORDS}), "en", Own())

    assert label == "<pages:42 (created), news:a-7 (deleted)>"


DUTCH = {
    "notice": {"nothingSaved": "In deze stap is niets opgeslagen", "savedBeforeEnd": "Eerder opgeslagen: {records}"},
    "record.created": "{reference} (aangemaakt)",
    "card": {"moreLines": {"one": "{tool}: nog {count} regel", "other": "{tool}: nog {count} regels"}},
}


def test_catalogues_add_a_language_as_data():
    """A host's catalogue is a mapping; what it lacks comes from the shipped ones (V10)."""
    dutch = Catalogues(extra={"nl": DUTCH})
    label = notice_label(Notice(NoticeCode.SAVED_BEFORE_END, {"records": RECORDS}), "nl-BE", dutch)

    assert dutch.languages == ("de", "en", "nl")
    assert label == "Eerder opgeslagen: pages:42 (aangemaakt), news:a-7 (deleted)"
    assert render("card.moreLines", {"tool": "t", "count": 1}, "nl", dutch) == "t: nog 1 regel"
    assert render("card.moreLines", {"tool": "t", "count": 4}, "nl", dutch) == "t: nog 4 regels"
    assert notice_label(Notice(NoticeCode.NOTHING_SAVED), "en", dutch) == "Nothing was saved in this step"


def test_catalogues_override_a_shipped_text():
    """A host may put a shipped text in its own words."""
    own = Catalogues(extra={"de-AT": {"card.approve": "Passt"}})

    assert render("card.approve", {}, "de-AT", own) == "Passt"
    assert render("card.approve", {}, "de", own) == "Freigeben"


@pytest.mark.parametrize(
    "catalogue",
    [
        {"notice.unheard": "x"},
        {"notice": {"nothingSaved": "x {count}"}},
        {"notice": {"nothingSaved": " "}},
        {"notice": {"nothingSaved": 3}},
        {"notice": {}},
        {"card.moreLines": {"one": "x"}},
        {"card.moreLines": {"one": "x", "other": 3}},
    ],
)
def test_a_wrong_catalogue_is_refused(catalogue):
    """A mistake in a catalogue is an error at start-up, not a gap in front of a reader."""
    with pytest.raises(InvalidValueError):
        Catalogues(extra={"nl": catalogue})


def test_the_notes_of_a_plain_card():
    """A card with a preview says how old it is (T11)."""
    assert notes(call(lines=("Title: Team",))) == (
        "The previews show how things were 2 hours ago; they may have changed since.",
    )


@pytest.mark.parametrize(
    ("waiting", "note"),
    [
        ({"failed": True}, "create_page: no preview: you are deciding without one."),
        ({"failed": True, "generated": True}, "create_page: no preview: you are deciding without one."),
        ({"generated": True}, "create_page: this preview was made from the arguments of the call."),
        ({"withheld": True}, "create_page: you may not see the preview: you are deciding without one."),
        ({"more": 1}, "create_page: 1 more line"),
        ({"before": Outcome.ERROR}, "create_page: second attempt; the same call failed earlier in this request."),
    ],
)
def test_what_an_approver_must_know_of_a_call(waiting, note):
    """Each call says what is special about its preview and its past (T11, A6)."""
    assert notes(call(**waiting)) == (note,)


def test_equal_calls_are_named_once():
    """Two equal calls under two ids are two, and the card says so (T12)."""
    found = notes(call(copies=2), call(copies=2))

    assert found == ("create_page: the same call stands here 2 times and would be carried out each time.",)


def test_four_eyes_and_expiry_come_first():
    """Who may decide, and until when (A3, A4)."""
    found = notes(call(failed=True), can_approve=False, expires_at=7200.0 + 86400.0)

    assert found[0].startswith("You asked for this yourself")
    assert found[1] == "To be decided within 1 day."
    assert notes(call(), expires_at=7000.0) == ("The time to decide is over.",)


@given(st.floats(), st.sampled_from(SHIPPED_LANGUAGES))
def test_any_span_of_time_is_shown(seconds, language):
    """A clock that went back, or a damaged time, does not cost the card."""
    assert age(seconds, language)[0] in "123456789"
