"""
Sentences for readers: every catalogue is whole, and rendering never fails (P2, V10, V11, F2, T11).
"""

import datetime as dt
import itertools
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain import texts
from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.gate import DenialReason
from nr_agent_core.domain.notices import Notice, NoticeCode, ReplyCode
from nr_agent_core.domain.run_status import RunReason, RunStatus
from nr_agent_core.domain.texts import (
    SHIPPED_LANGUAGES,
    denial_sentence,
    failure_sentence,
    notice_label,
    render,
    reply_sentence,
    request_sentence,
    status_label,
)
from nr_agent_core.domain.texts.cards import age, card_labels
from nr_agent_core.domain.texts.catalogues import (
    placeholders,
    shipped,
    shipped_catalogue,
    unreviewed_languages,
    written_forms,
)
from nr_agent_core.domain.texts.moments import moment
from nr_agent_core.domain.texts.rendering import LONGEST_LIST, LONGEST_VALUE
from nr_agent_core.domain.tool_result import Outcome, WriteKind
from tests.unit.shown_texts import LANGUAGES, RECORDS, call, notes


def every_text(language, translator=None):
    """Asks every function of the package for everything that it can say."""
    for code, arguments in itertools.product(
        NoticeCode, ({}, {"tools": ["a"]}, {"records": RECORDS, "tools": ["a", "b"]})
    ):
        for status, reason in itertools.product((*RunStatus, None), (*RunReason, None)):
            ended = {"status": status and status.value, "reason": reason and reason.value, "references": ["pages:9"]}
            notice_label(Notice(code, {**arguments, **ended}), language, translator)
    for carried_out, records in itertools.product((True, False, None), ([], RECORDS)):
        known = [{"tool": "a", "carriedOut": carried_out, "records": records}]
        notice_label(Notice(NoticeCode.WRITE_OUTCOME_UNKNOWN, {"tools": ["a"], "known": known}), language, translator)
    for kind in WriteKind:
        record = {"reference": "pages:1", "kind": kind.value}
        notice_label(Notice(NoticeCode.SAVED_BEFORE_END, {"records": [record] * 30}), language, translator)
    notice_label(Notice(NoticeCode.RUN_FINISHED_OUTSIDE, {"declined": ["save"]}), language, translator)
    for code in ReplyCode:
        reply_sentence(code, language, translator)
    for failure in FailureCode:
        failure_sentence(failure, language, translator)
    for reason in DenialReason:
        denial_sentence(reason, language, translator)
    for code in ("invalidRequest", "notFound", "accessDenied", "messageRejected"):
        request_sentence(code, language, translator)
    for status in RunStatus:
        status_label(status, language, translator)
    card_labels(language, translator)
    for span in (1, 60, 3600, 86400):
        age(span, language, translator)
    moment(dt.datetime(2026, 3, 5, 9, 7, tzinfo=dt.UTC), language, translator)
    calls = [call(failed=True), call(generated=True, more=3), call(withheld=True), call(lines=("x",), copies=2)]
    calls += [call(before=Outcome.ERROR), call(before=Outcome.UNKNOWN)]
    for expires_at in (None, 7100.0, 9000.0):
        notes(*calls, language=language, translator=translator, expires_at=expires_at, can_approve=False)


class Recording:
    """A translator without texts that remembers what it was asked for."""

    def __init__(self):
        self.keys = set()

    def translate(self, key, arguments, language):
        """Nothing, noted down."""
        self.keys.add(key)


@LANGUAGES
def test_the_catalogues_have_the_same_keys_and_arguments(language):
    """What English can say, every language that ships can, with the same arguments: no English unawares (V10)."""
    catalogue, english = shipped_catalogue(language), shipped("en")

    assert set(catalogue.entries) == set(english)
    for key, entry in catalogue.entries.items():
        assert placeholders(entry) == placeholders(english[key]), key
        assert isinstance(entry, str) or set(entry) == set(catalogue.language.forms), key
        assert isinstance(entry, str) <= isinstance(english[key], str), key


@LANGUAGES
def test_a_form_leaves_out_no_argument_but_the_count(language):
    """Every plural form holds what the others hold; only one thing needs no number."""
    for key, entry in shipped(language).items():
        for form in written_forms(entry):
            assert placeholders(entry) - placeholders(form) <= {"count"}, key
            assert form == written_forms(entry)[0] or placeholders(entry) == placeholders(form), key


@LANGUAGES
def test_no_text_is_the_english_one(language):
    """A text that was forgotten, and still is the English one, is found."""
    same = {key for key, entry in shipped(language).items() if entry == shipped("en")[key]}

    assert language == "en" or same - {"age.minutes"} == {"notice.runEnded"}


@LANGUAGES
def test_a_catalogue_says_what_its_language_is(language):
    """Every file names its language in its own words; who is not reviewed says so in the first lines as well."""
    path = Path(texts.__file__).with_name(f"{language}.toml")
    content = path.read_text(encoding="utf-8")
    said = tomllib.loads(content)["language"]

    assert set(said) == {"name", "reviewed", "group", "group_from", "plural"}
    assert (language in unreviewed_languages()) is ("UNREVIEWED" in content.partition("[")[0]) is (not said["reviewed"])
    assert {found.stem for found in path.parent.glob("*.toml")} == set(SHIPPED_LANGUAGES)


def test_german_and_english_are_reviewed():
    """The two languages of the specification are; the others wait for somebody who speaks them (V10)."""
    assert set(SHIPPED_LANGUAGES) - set(unreviewed_languages()) == {"de", "en"}


def test_french_signs_stand_behind_spaces_that_do_not_break():
    """No line ends before a French colon."""
    for key, entry in shipped("fr").items():
        for form in written_forms(entry):
            assert not any(f" {sign}" in form for sign in ":;!?"), key


def test_every_text_is_used_and_every_used_text_is_there():
    """There is no key that nothing asks for, and none is asked for that does not exist."""
    recording = Recording()
    every_text("en", recording)

    assert set(shipped("en")) == recording.keys


@LANGUAGES
@pytest.mark.parametrize(
    ("group", "codes"),
    [
        ("notice", NoticeCode),
        ("reply", ReplyCode),
        ("failure", FailureCode),
        ("denial", DenialReason),
        ("status", RunStatus),
        ("record", WriteKind),
    ],
)
def test_every_code_has_a_text(language, group, codes):
    """A new code must be given a text in every language (V10, V11, F2)."""
    assert {f"{group}.{code.value}" for code in codes} <= set(shipped(language))


@LANGUAGES
def test_every_way_to_end_has_a_sentence(language):
    """An ended run is rendered by its reason; completed runs leave an answer and need none (F5)."""
    needed = {f"ended.{reason.value}" for reason in RunReason} - {"ended.completed", "ended.max_iterations"}

    assert needed <= set(shipped(language))


@LANGUAGES
def test_no_text_is_blank_or_strange(language):
    """Every text is one trimmed line, and every brace belongs to an argument."""
    for key, entry in shipped(language).items():
        for text in written_forms(entry):
            assert text == text.strip() != "", key
            assert "\n" not in text, key
            assert text.count("{") == text.count("}") == len(placeholders_in(text)), key


def placeholders_in(text):
    """The arguments of one text, repeated ones too."""
    return [part for part in text.split("{")[1:] if part.split("}")[0].isidentifier()]


@pytest.mark.parametrize(
    ("language", "counted"),
    [
        ("de", {1: "1 Tag", 2: "2 Tagen", 0: "0 Tagen", 1234: "1.234 Tagen"}),
        ("en", {1: "1 day", 2: "2 days", 0: "0 days", 1234: "1,234 days"}),
        ("es", {1: "1 día", 2: "2 días", 0: "0 días", 1234: "1234 días", 12345: "12.345 días"}),
        ("fr", {0: "0 jour", 1: "1 jour", 2: "2 jours", 1234: "1\u202f234 jours"}),
        ("it", {1: "1 giorno", 2: "2 giorni", 1234: "1234 giorni", 12345: "12.345 giorni"}),
        ("nl", {1: "1 dag", 2: "2 dagen", 1234: "1.234 dagen"}),
        ("pt", {0: "0 dia", 1: "1 dia", 2: "2 dias", 1234: "1.234 dias"}),
    ],
)
def test_numbers_are_written_as_each_language_does(language, counted):
    """A count takes the plural form of its language, nothing included, and its thousands are set apart (V10)."""
    assert {count: render("age.days", {"count": count}, language) for count in counted} == counted


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "jeszcze 1 wiersz"),
        (2, "jeszcze 2 wiersze"),
        (4, "jeszcze 4 wiersze"),
        (5, "jeszcze 5 wierszy"),
        (0, "jeszcze 0 wierszy"),
        (11, "jeszcze 11 wierszy"),
        (12, "jeszcze 12 wierszy"),
        (14, "jeszcze 14 wierszy"),
        (21, "jeszcze 21 wierszy"),
        (22, "jeszcze 22 wiersze"),
        (112, "jeszcze 112 wierszy"),
        (1022, "jeszcze 1022 wiersze"),
        (12_022, "jeszcze 12\u00a0022 wiersze"),
        (None, "jeszcze (nie odnotowano) wierszy"),
    ],
)
def test_polish_has_three_forms(count, text):
    """One, few and many; what is no number takes the last one."""
    assert render("card.moreLines", {"tool": "t", "count": count}, "pl") == f"t: {text}"


@given(st.integers(-(10**9), 10**9), st.sampled_from(SHIPPED_LANGUAGES))
def test_grouping_changes_no_digit(value, language):
    """Whatever stands between the digits, the number is the same one, and groups hold three."""
    said = shipped_catalogue(language).language
    shown = said.number(value)

    assert int(shown.replace(said.group, "")) == value
    assert all(len(part) == 3 for part in shown.split(said.group)[1:])


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("de", "05.03.2026, 09:07 Uhr"),
        ("en", "2026-03-05 09:07"),
        ("es", "05/03/2026, 09:07"),
        ("fr", "05/03/2026 09:07"),
        ("it", "05/03/2026, 09:07"),
        ("nl", "05-03-2026 09:07"),
        ("pl", "05.03.2026, 09:07"),
        ("pt", "05/03/2026, 09:07"),
        ("sv", "2026-03-05 09:07"),
    ],
)
def test_a_moment_is_written_in_the_order_of_the_language(language, text):
    """Day and month cannot be taken for each other: English writes the year first."""
    assert moment(dt.datetime(2026, 3, 5, 9, 7, tzinfo=dt.UTC), language) == text


def test_a_count_has_both_forms():
    """Where a count is shown and changes the words, there are two forms."""
    plural = {key for key, entry in shipped("en").items() if not isinstance(entry, str)}

    assert {"notice.unknownReference", "notice.notCarriedOut", "card.moreLines", "shown.more"} <= plural
    assert render("card.moreLines", {"tool": "t", "count": 1}, "de") == "t: 1 weitere Zeile"
    assert render("card.moreLines", {"tool": "t", "count": 2}, "de") == "t: 2 weitere Zeilen"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Nothing was saved in this step"),
        ("de", "In diesem Schritt wurde nichts gespeichert"),
        ("de-AT", "In diesem Schritt wurde nichts gespeichert"),
        ("DE_ch", "In diesem Schritt wurde nichts gespeichert"),
        ("fr-CA", "Rien n'a été enregistré à cette étape"),
        ("pt-PT", "Nada foi salvo nesta etapa"),
        ("sv", "Nothing was saved in this step"),
        ("", "Nothing was saved in this step"),
        (None, "Nothing was saved in this step"),
    ],
)
def test_nothing_saved_reads_exactly_so(language, text):
    """This step, nothing more; a language without a catalogue gets English (V10)."""
    assert text == notice_label(Notice(NoticeCode.NOTHING_SAVED), language)


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "Saved before the end: pages:42 (created), news:a-7 (deleted)."),
        ("de", "Vor dem Abbruch gespeichert: pages:42 (angelegt), news:a-7 (gelöscht)."),
    ],
)
def test_records_are_shown_with_their_kind(language, text):
    """A record is its reference and, in the reader's words, what became of it."""
    assert text == notice_label(Notice(NoticeCode.SAVED_BEFORE_END, {"records": RECORDS}), language)


def test_a_long_list_is_counted():
    """Of a long list the beginning is shown and the rest counted."""
    records = [{"reference": f"pages:{uid}", "kind": "updated"} for uid in range(1, LONGEST_LIST + 6)]
    label = notice_label(Notice(NoticeCode.SAVED_BEFORE_END, {"records": records}), "en")

    assert label.endswith(f"pages:{LONGEST_LIST} (changed), 5 more.")


def test_an_ended_run_names_its_reason_and_what_was_not_done():
    """The label says how it ended and which proposed calls were not carried out (F5)."""
    arguments = {"status": "cancelled", "reason": "approval_expired", "code": None, "tools": ["create_page"]}

    assert notice_label(Notice(NoticeCode.RUN_ENDED, arguments), "en") == (
        "This request was dropped: nobody decided on it in time. Not carried out: create_page. Nothing of it was saved."
    )


def test_a_call_of_unknown_outcome_is_told_as_known_now():
    """The label names what became known since: carried out with its records, not carried out, still unknown (R7)."""
    known = [
        {"tool": "a", "carriedOut": True, "records": RECORDS[:1]},
        {"tool": "b", "carriedOut": False, "records": []},
        {"tool": "c", "carriedOut": None, "records": []},
    ]
    label = notice_label(Notice(NoticeCode.WRITE_OUTCOME_UNKNOWN, {"tools": ["a", "b", "c"], "known": known}), "en")

    assert label == (
        "a was carried out after all: pages:42 (created). b was not carried out, or changed nothing. "
        "It is still unknown whether c was carried out. Check before you ask for it again."
    )


def test_a_run_finished_outside_names_status_records_and_unknown_tools():
    """The label holds what C4 asks for."""
    arguments = {"status": "completed", "records": RECORDS[:1], "tools": ["send"]}
    label = notice_label(Notice(NoticeCode.RUN_FINISHED_OUTSIDE, arguments), "de")

    assert "erledigt" in label
    assert "pages:42 (angelegt)" in label
    assert "send" in label


@LANGUAGES
def test_a_run_declined_outside_is_never_told_as_done(language):
    """A denial that was taken elsewhere says so, and what was not carried out (C4, C7)."""
    arguments = {"status": "completed", "records": [], "tools": [], "declined": ["send"]}
    label = notice_label(Notice(NoticeCode.RUN_FINISHED_OUTSIDE, arguments), language)
    saved = notice_label(Notice(NoticeCode.RUN_FINISHED_OUTSIDE, {**arguments, "records": RECORDS[:1]}), language)

    done = notice_label(Notice(NoticeCode.RUN_FINISHED_OUTSIDE, {**arguments, "declined": []}), language)

    assert "send" in label
    assert status_label(RunStatus.COMPLETED, language) in done
    assert status_label(RunStatus.COMPLETED, language) not in label
    assert "pages:42" in saved


@LANGUAGES
@pytest.mark.parametrize("code", [FailureCode.PROVIDER_NOT_CONFIGURED, FailureCode.CHAT_NOT_CONFIGURED])
def test_the_set_up_codes_send_to_the_administration(language, code):
    """Whoever cannot mend it is told whom to ask (F2)."""
    words = {
        "de": "die Administration",
        "en": "ask the administration",
        "es": "Diríjase a la administración",
        "fr": "vous adresser à l'administration",
        "it": "Si rivolga all'amministrazione",
        "nl": "Neem contact op met de beheerder",
        "pl": "zwrócić się do administratora",
        "pt": "Procure a administração",
    }

    assert words[language] in failure_sentence(code, language)


@LANGUAGES
@pytest.mark.parametrize("code", [None, "", "somethingElse"])
def test_a_failure_without_a_code_is_internal(language, code):
    """Rows that a host brings along are rendered as internal (F4)."""
    assert failure_sentence(FailureCode.INTERNAL, language) == failure_sentence(code, language)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["reference", "kind", "tool", "carriedOut", "records", "x"]), inner, max_size=4
        ),
    ),
    max_leaves=8,
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(
        ["status", "reason", "code", "tools", "records", "references", "claimed", "written", "known", "count"]
    ),
    JSON,
)


@LANGUAGES
@pytest.mark.parametrize("number", [10**199, 10**200, -(10**200), 10**5000, [10**5000], [-(10**300), 7]], ids=range(6))
def test_a_number_that_nobody_can_write_is_no_failure(language, number):
    """Python refuses to write numbers of thousands of digits; a reader gets a text all the same."""
    text = render("age.minutes", {"count": number}, language)

    assert text.strip()
    assert len(text) < 500


@given(st.sampled_from(NoticeCode), st.one_of(ARGUMENTS, JSON), st.sampled_from([*SHIPPED_LANGUAGES, "x-y", ""]))
def test_a_damaged_notice_is_still_readable(code, arguments, language):
    """Rendering never raises: what is missing or strange is shown as not recorded (V10)."""
    label = notice_label(Notice(code, arguments), language)

    assert label.strip()
    assert "{" not in label or "{" in str(arguments)
    assert label.replace("\u00a0", " ").replace("\u202f", " ").isprintable()


def test_a_missing_argument_is_named_as_missing():
    """The gap is visible, in the reader's language."""
    assert notice_label(Notice(NoticeCode.CALL_NOT_MADE), "en").count("(not recorded)") == 1
    assert notice_label(Notice(NoticeCode.CALL_NOT_MADE, {"tools": []}), "de").count("(nicht festgehalten)") == 1


@given(st.text(), st.sampled_from(SHIPPED_LANGUAGES))
def test_an_argument_is_data(value, language):
    """Nothing inside an argument is looked at again, and no value floods the label."""
    label = render("notice.callNotMade", {"tools": ["{claimed}{tools}", value]}, language)

    assert "{claimed}{tools}" in label
    assert len(label) < 2 * LONGEST_VALUE + 150


@pytest.mark.parametrize("key", ["reply.unheard", "unheard", "", "reply."])
def test_an_unknown_key_is_shown_by_its_name(key):
    """A code of a newer release is no error."""
    assert render(key, {}, "de") == key.rpartition(".")[2]
