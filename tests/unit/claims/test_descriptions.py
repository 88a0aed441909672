"""
The sentences, headings and leads around a weak use decide whether it describes a record or claims a change (V4, V5).
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.claims import ClaimDetector

DETECTOR = ClaimDetector(languages=["de", "en"])

STATES = {
    "en": ["The page is published.", "The form is moved.", "The invoice is posted."],
    "de": ["Die Seite ist veröffentlicht.", "Das Formular ist verschoben.", "Die Rechnung ist gebucht."],
}
DESCRIBING = {
    "en": [
        "Two of them are hidden.",
        "There are six entries in the list.",
        "Since Monday it has been with Ms Orlov.",
        "Last week it was with the support.",
    ],
    "de": ["Es gibt sechs Einträge.", "Zwei davon sind ausgeblendet.", "Im August wurde sie vom Support geprüft."],
}
TELLING = {
    "en": ["From now on it forwards.", "As agreed.", "I changed the rest, too."],
    "de": ["Ab sofort leitet sie weiter.", "Wie besprochen.", "Den Rest habe ich auch geändert."],
}
DEED = {"en": "I have renamed the page.", "de": "Ich habe die Seite umbenannt."}
STATE = st.sampled_from(["de", "en"]).flatmap(lambda code: st.tuples(st.just(code), st.sampled_from(STATES[code])))


@given(STATE, st.data(), st.booleans())
def test_a_state_beside_a_description_is_none(state: tuple[str, str], data: st.DataObject, first: bool) -> None:
    """Counts and dates make a description of a paragraph, whichever comes first."""
    code, sentence = state
    beside = data.draw(st.lists(st.sampled_from(DESCRIBING[code]), min_size=1, max_size=3))

    assert DETECTOR.claims_change(sentence)
    assert not DETECTOR.claims_change(" ".join([sentence, *beside] if first else [*beside, sentence]))


@given(STATE, st.data())
def test_what_tells_of_a_change_wins(state: tuple[str, str], data: st.DataObject) -> None:
    """Beside "from now on", "as agreed" or a deed of the speaker, the same state is a claim."""
    code, sentence = state
    others = [data.draw(st.sampled_from(kind[code])) for kind in (DESCRIBING, TELLING)]

    assert DETECTOR.claims_change(" ".join(data.draw(st.permutations([sentence, *others]))))


@given(STATE, st.data())
def test_a_deed_of_the_speaker_is_a_claim_beside_any_description(state: tuple[str, str], data: st.DataObject) -> None:
    """Only what can describe as well is taken back."""
    code, sentence = state
    beside = data.draw(st.lists(st.sampled_from(DESCRIBING[code]), min_size=1, max_size=3))

    assert DETECTOR.claims_change(" ".join([sentence, *beside, DEED[code]]))


@pytest.mark.parametrize(
    ("first", "later"),
    [
        ("The invoice is due on Friday and the amount is 40.", "A reminder was sent."),
        ("Half of the rooms face the yard and are quiet.", "Breakfast is booked."),
        ("Der Vertrag läuft bis März und kostet 40 Euro.", "Eine Erinnerung wurde verschickt."),
    ],
)
def test_a_state_that_follows_others_is_none(first: str, later: str) -> None:
    """In a paragraph of three sentences a weak use behind statements goes on with them; first, it claims."""
    last = "The file is in the archive." if first.isascii() else "Die Akte liegt im Keller."

    assert not DETECTOR.claims_change(f"{first} {later} {last}")
    assert DETECTOR.claims_change(f"{later} {last}")


@pytest.mark.parametrize("greeting", ["Good morning!", "Sure.", "Thanks for the quick answer, Robin.", "Gern!"])
def test_a_greeting_is_no_statement(greeting: str) -> None:
    """What stands behind it stands first."""
    assert DETECTOR.claims_change(f"{greeting} The page was published. It is in the menu. Anyone can see it there.")


@pytest.mark.parametrize(
    "lead", ["Draft for the mail: ", "Draft of the letter:\n\n", "Entwurf für die Mail: ", "Textvorschlag:\n\n"]
)
def test_a_proposed_text_claims_nothing(lead: str) -> None:
    """What the reader is to send is not what the run did; a lead that says that it was saved is a claim."""
    letter = "Dear Ms Orlov, we have changed your contract and waived the fee. Kind regards."

    assert not DETECTOR.claims_change(lead + letter)
    assert DETECTOR.claims_change("I have saved the draft: " + letter)
    assert DETECTOR.claims_change(letter)


@pytest.mark.parametrize(
    ("heading", "item"),
    [
        ("## Options", "- Added a cache"),
        ("## Current status", "- Added a cache"),
        ("# Pros and cons", "- Added a cache"),
        ("## Vorschläge", "- Zwischenspeicher ergänzt"),
    ],
)
def test_headings_that_plan_or_list_states_block_what_is_below(heading: str, item: str) -> None:
    """Whatever lies between, down to the next heading of that rank."""
    assert DETECTOR.claims_change(item)
    assert not DETECTOR.claims_change(f"{heading}\n\n### First\n\n{item}")
    assert DETECTOR.claims_change(f"{heading}\n\n- more speed\n\n{heading.split(maxsplit=1)[0]} Files\n\n{item}")


@pytest.mark.parametrize(
    "text", ["The page is written but not published.", "Die Seite ist erstellt, aber nicht online."]
)
def test_what_is_not_so_yet_reports_a_status(text: str) -> None:
    """A sentence that says what is done and what is not describes how far things are."""
    assert not DETECTOR.claims_change(text)


@pytest.mark.parametrize(
    "text",
    [
        "Done, it was like that already, no edit needed.",
        "Everything is green now.",
        "The transfer failed, it did not work: another lot is booked there.",
    ],
)
def test_what_changed_nothing_is_no_claim(text: str) -> None:
    """Nothing had to be done, a check found it so, or it explains a failure."""
    assert not DETECTOR.claims_change(text)


@pytest.mark.parametrize(
    "text",
    [
        "From today, the shop closes at six.",
        "And with that, the form asks for a date.",
        "Her access is working again.",
        "The reminder is out.",
        "Wrote off the difference.",
        "Damit ist Frau Orlov Ihre Ansprechpartnerin.",
        "Der Zugang läuft wieder.",
        "Die Laufzeit endet nun im März.",
        "Der Urlaub von Frau Orlov ist vom 3. bis 14. August eingetragen.",
    ],
)
def test_claims_without_a_participle_or_beside_a_date_are_found(text: str) -> None:
    """What begins now, works again or is out claims; a date that says from when to when is none of the deed."""
    assert DETECTOR.claims_change(text)
