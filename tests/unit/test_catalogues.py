"""
Texts of a host, and the notes of a card (F2, T11).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.errors import CatalogueError
from nr_agent_core.domain.notices import Notice, NoticeCode, ReplyCode
from nr_agent_core.domain.texts import (
    SHIPPED_LANGUAGES,
    Catalogues,
    notice_label,
    render,
    reply_sentence,
)
from nr_agent_core.domain.texts.cards import age
from nr_agent_core.domain.texts.catalogues import shipped, unreviewed_languages
from nr_agent_core.domain.texts.plural_rules import holds
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


SWEDISH = {
    "notice": {
        "nothingSaved": "Ingenting sparades i det här steget",
        "savedBeforeEnd": "Sparat före slutet: {records}",
    },
    "record.created": "{reference} (skapad)",
    "card": {"moreLines": {"one": "{tool}: {count} rad till", "other": "{tool}: {count} rader till"}},
}


def whole(**more):
    """A catalogue of every text, all of them written alike, for a language with the two usual forms."""
    texts = {
        key: {form: f"{form} {entry[form]}" for form in ("one", "other")} if isinstance(entry, dict) else f"x {entry}"
        for key, entry in shipped("en").items()
    }
    return texts | more


def test_catalogues_add_a_language_as_data():
    """A host's catalogue is a mapping; what it may lack comes from the shipped ones (V10)."""
    swedish = Catalogues(extra={"sv": SWEDISH}, partial=True)
    label = notice_label(Notice(NoticeCode.SAVED_BEFORE_END, {"records": RECORDS}), "sv-FI", swedish)

    assert swedish.languages == (*SHIPPED_LANGUAGES, "sv")
    assert label == "Sparat före slutet: pages:42 (skapad), news:a-7 (deleted)"
    assert render("card.moreLines", {"tool": "t", "count": 1}, "sv", swedish) == "t: 1 rad till"
    assert render("card.moreLines", {"tool": "t", "count": 4}, "sv", swedish) == "t: 4 rader till"
    assert notice_label(Notice(NoticeCode.NOTHING_SAVED), "en", swedish) == "Nothing was saved in this step"


def test_a_language_more_has_to_be_whole():
    """A gap in a new language is an error that names it, unless the host says that gaps are meant (V10)."""
    texts = whole()
    assert Catalogues(extra={"sv": texts}).translate("card.deny", {}, "sv") == "x Deny"

    del texts["card.deny"], texts["card.title"]
    with pytest.raises(CatalogueError, match=r"'card\.title' is missing, and so are 1 more") as refused:
        Catalogues(extra={"sv": texts})
    assert (refused.value.language, refused.value.key) == ("sv", "card.title")
    assert Catalogues(extra={"sv": texts}, partial=True).translate("card.deny", {}, "sv") is None


def test_the_order_in_which_texts_are_looked_for():
    """The host's language, its base, the shipped ones likewise, the host's English, the shipped English (V10)."""
    own = Catalogues(
        extra={
            "pt-PT": {"card.approve": "own pt-pt"},
            "pt": {"card.approve": "own pt", "card.deny": "own pt"},
            "en": {"card.approve": "own en"},
        }
    )

    def found(key, language):
        return render(f"card.{key}", {}, language, own)

    assert [found("approve", tag) for tag in ("pt-PT", "pt-BR", "fr", "sv", "en-GB")] == [
        "own pt-pt",
        "own pt",
        "Approuver",
        "own en",
        "own en",
    ]
    assert [found("deny", tag) for tag in ("pt-PT", "fr", "sv")] == ["own pt", "Refuser", "Deny"]
    assert found("waiting", "pt-PT") == "Aguardando aprovação"


def test_a_hosts_language_brings_its_own_plural_forms():
    """The rules are taken over from Unicode's tables as they are; a variant has those of its base (V10)."""
    czech = {
        "language": {
            "name": "čeština",
            "group": " ",
            "plural": {"one": "i = 1 and v = 0", "few": "i = 2..4 and v = 0", "many": "v != 0", "other": ""},
        },
        "age.days": {"one": "{count} dnem", "few": "{count} dny", "many": "{count} dnu", "other": "{count} dny."},
    }
    own = Catalogues(extra={"cs": czech, "cs-x": {"language": {}, "card.deny": "Ne"}}, partial=True)

    shown = [own.translate("age.days", {"count": count}, "cs") for count in (1, 2, 4, 5, 1000)]
    assert shown == ["1 dnem", "2 dny", "4 dny", "5 dny.", "1 000 dny."]
    assert own.translate("card.deny", {}, "cs-x") == "Ne"


@pytest.mark.parametrize(
    ("rule", "numbers"),
    [
        ("n = 0..1", {0, 1}),
        ("i % 10 = 1 and i % 100 != 11", {1, 21, 31}),
        ("n = 2, 4..5 or n = 30", {2, 4, 5, 30}),
        ("n != 0..39", set()),
        ("", set(range(40))),
    ],
)
def test_a_rule_means_what_unicode_means_by_it(rule, numbers):
    """Remainders, ranges, lists, and, or."""
    assert {number for number in range(40) if holds(rule, number)} == numbers
    assert {number for number in range(40) if holds(rule, -number)} == numbers


def test_a_host_says_what_is_reviewed():
    """A catalogue of a host says it as the shipped ones do; one that says nothing is the host's own (V10)."""
    own = Catalogues(
        extra={"sv": {"language": {"reviewed": False}}, "fr": {"language": {"reviewed": True}}}, partial=True
    )

    assert own.unreviewed == ("es", "it", "nl", "pl", "pt", "sv")
    assert Catalogues(extra={}).unreviewed == unreviewed_languages()


def test_catalogues_override_a_shipped_text():
    """A host may put a shipped text in its own words."""
    own = Catalogues(extra={"de-AT": {"card.approve": "Passt"}})

    assert render("card.approve", {}, "de-AT", own) == "Passt"
    assert render("card.approve", {}, "de", own) == "Freigeben"


@pytest.mark.parametrize(
    ("catalogue", "key"),
    [
        ({"notice.unheard": "x"}, "notice.unheard"),
        ({"notice": {"nothingSaved": "x {count}"}}, "notice.nothingSaved"),
        ({"notice": {"nothingSaved": "x {"}}, "notice.nothingSaved"),
        ({"notice": {"callNotMade": "x { tools }"}}, "notice.callNotMade"),
        ({"notice": {"nothingSaved": " "}}, "notice.nothingSaved"),
        ({"notice": {"nothingSaved": 3}}, "notice.nothingSaved"),
        ({"notice": {"nothingSaved": {"one": "x", "other": "x"}}}, "notice.nothingSaved"),
        ({"notice": {}}, "notice"),
        ({"card.moreLines": {"one": "x"}}, "card.moreLines"),
        ({"card.moreLines": {"one": "x", "few": "x", "other": "x"}}, "card.moreLines"),
        ({"card.moreLines": {"one": "x", "other": 3}}, "card.moreLines"),
        ({"language": 3}, "language"),
        ({"language": {"names": "x"}}, "language.names"),
        ({"language": {"name": 3}}, "language.name"),
        ({"language": {"reviewed": "no"}}, "language.reviewed"),
        ({"language": {"group_from": 3}}, "language.group_from"),
        ({"language": {"plural": "x"}}, "language.plural"),
        ({"language": {"plural": {"some": "n = 1"}}}, "language.plural.some"),
        ({"language": {"plural": {"one": "n is 1"}}}, "language.plural.one"),
        ({"language": {"plural": {"one": "n = 1..2..3"}}}, "language.plural.one"),
        ({"language": {"plural": {"one": "n % 0 = 1"}}}, "language.plural.one"),
        ({"language": {"plural": {"one": "n % 00 = 1"}}}, "language.plural.one"),
        ({"language": {"plural": {"one": 1}}}, "language.plural.one"),
        ({"language": {"plural": {"one": "", "other": ""}}}, "language.plural.other"),
        ({"language": {"plural": {"other": "n = 1"}}}, "language.plural.other"),
        ("x", ""),
    ],
)
def test_a_wrong_catalogue_is_refused(catalogue, key):
    """A mistake in a catalogue is an error at start-up that names the key, not a gap in front of a reader (V10)."""
    with pytest.raises(CatalogueError) as refused:
        Catalogues(extra={"nl": catalogue})

    assert (refused.value.language, refused.value.key) == ("nl", key)
    assert key in str(refused.value)


def test_a_bottomless_catalogue_is_refused():
    """Depth ends as an error, not as a crash."""
    deep: dict[str, object] = {"x": "x"}
    for _ in range(2000):
        deep = {"a": deep}

    with pytest.raises(CatalogueError):
        Catalogues(extra={"nl": deep})


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
