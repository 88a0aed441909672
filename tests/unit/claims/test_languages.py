"""
What every language must be: a data file passes these tests or fails them by itself (V2, V4).

Nothing here knows a language. A language brings ``<code>.toml`` and ``tests/vectors/frames.<code>.toml``, sentences
with a gap into which its forms are put.
"""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.claims import ClaimDetector
from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.lexicon import Lexicon
from nr_agent_core.domain.package_data import read_toml

PACKAGE = "nr_agent_core.domain.claims"
VECTORS = Path(__file__).parents[2] / "vectors"
CODES = tuple(read_toml(PACKAGE, "languages.toml")["asserted"])
TABLES = {code: read_toml(PACKAGE, f"{code}.toml") for code in CODES}
LEXICONS = {code: Lexicon(code, table) for code, table in TABLES.items()}
DETECTOR = ClaimDetector()
HONEST_KINDS = ("negated", "asked", "conditional", "planned", "others")
every_language = pytest.mark.parametrize("code", CODES)

BESIDES = wc.WORLD | wc.READS | wc.STATIVE | wc.EITHER | wc.PHRASE
"""Classes of forms that claim in some sentences only."""


def frames(code):
    """The sentences with a gap of one language."""
    return tomllib.loads((VECTORS / f"frames.{code}.toml").read_text(encoding="utf-8"))


FRAMES = {code: frames(code) for code in CODES}


def listed(code, *names):
    """The words that the data file of a language lists under *names*, repeats included."""
    return [word for name in names for word in TABLES[code]["words"].get(name, "").split()]


def phrases(code):
    """Class and phrase of everything in the table of phrases."""
    for name, text in TABLES[code].get("phrases", {}).items():
        yield from ((name, " ".join(phrase.split())) for phrase in text.split("|") if phrase.strip())


def plain_forms(code):
    """The forms of a language, without misspellings, that claim with the auxiliary of the speaker or a passive."""
    words = LEXICONS[code].words
    known = words if TABLES[code].get("exact") else set(listed(code, "participle")) & words.keys()
    return sorted(w for w in known if words[w] & wc.PARTICIPLE and not words[w] & (wc.BY_FORM | BESIDES))


def forms_by(code, bit):
    """The forms of a language of the class *bit*."""
    return sorted(w for w, bits in LEXICONS[code].words.items() if bits & bit and not bits & BESIDES & ~wc.EITHER)


FORMS = {code: plain_forms(code) for code in CODES}


@every_language
def test_every_setting_is_known(code):
    """A misspelt class, setting or list in a data file would be silently dead."""
    table = TABLES[code]

    assert table["shape"] in ("adjacent", "frame", "unspaced")
    assert set(table["words"]) <= {*wc.BY_NAME, "verbs"}
    assert set(table.get("phrases", {})) <= {*wc.BY_NAME, "neutral"}
    assert set(table.get("derived", {})) <= set(table["words"])


@every_language
def test_every_ending_is_used(code):
    """An ending that no listed word has is a slip in the data."""
    for name, endings in TABLES[code].get("derived", {}).items():
        words = listed(code, name)
        for ending in endings:
            longer = tuple(other for other in endings if other.endswith(ending) and other != ending)
            assert any(word.endswith(ending) and not (longer and word.endswith(longer)) for word in words), ending


@every_language
def test_no_word_denies_and_claims(code):
    """A word that both claims and negates, or claims and plans, could never do either."""
    words = LEXICONS[code].words
    forms = {word for word, bits in words.items() if bits & (wc.PARTICIPLE | wc.ALONE)}

    assert not {word for word in forms if words[word] & (wc.NEG | wc.MODAL | wc.HAD)}


@every_language
def test_no_form_is_an_everyday_word_of_another_language(code):
    """
    A form that means something else in another language would mark honest sentences there; those that cannot be helped
    are listed under "shared" and need a function word of their own beside them.
    """
    lexicon = LEXICONS[code]
    forms = {word for word in lexicon.triggers - lexicon.shared if lexicon.words[word] & wc.PARTICIPLE}
    for other in LEXICONS.values():
        if other is not lexicon:
            assert not {word for word in forms & other.function if not other.words[word] & wc.CLAIMING}


@every_language
def test_every_phrase_is_noticed(code):
    """
    A claiming phrase is looked for where its rarest word stands: if that were an everyday word of several languages,
    it would be looked for always.
    """
    lexicon = LEXICONS[code]
    others = [other.function for other in LEXICONS.values() if other is not lexicon]
    for anchor, found in lexicon.anchored.items():
        assert anchor.isalpha(), found
        assert sum(anchor in function for function in others) < 2, found


@every_language
def test_no_state_ends_open(code):
    """A phrase of state that ends in a preposition goes on with something else than the state."""
    for name, phrase in phrases(code):
        if name == "gone" and " " in phrase:
            words = LEXICONS[code].words
            first, *_, last = phrase.split()
            assert not (words[first] & wc.PREPOSITION and words[last] & wc.PREPOSITION), phrase


@every_language
def test_enough_function_words(code):
    """A language whose function words are all other languages' could not be told apart from them."""
    lexicon = LEXICONS[code]
    others = [other.words for other in LEXICONS.values() if other is not lexicon]
    own = [word for word in lexicon.function if not any(word in words for words in others)]

    assert lexicon.unspaced or len(own) >= 7


@every_language
def test_every_form_can_claim(code):
    """No form of a data file is out of reach: each claims in some sentence of its language."""
    silent = [
        form
        for form in FORMS[code]
        if not any(DETECTOR.claims_change(frame.format(form)) for frame in FRAMES[code]["claims"])
    ]

    assert silent == []


@every_language
@pytest.mark.parametrize(("kind", "bit"), [("told", wc.TOLD), ("impersonal", wc.IMPERSONAL), ("reflexive", wc.THIRD)])
def test_every_form_of_its_own_can_claim(code, kind, bit):
    """The same holds for forms that claim without an auxiliary, and a language that has them shows a sentence."""
    forms = forms_by(code, bit)
    found = FRAMES[code].get(kind, [])
    silent = [form for form in forms if not any(DETECTOR.claims_change(frame.format(form)) for frame in found)]

    assert silent == []


@pytest.mark.parametrize("kind", HONEST_KINDS)
@given(data=st.data())
def test_frames_hold_for_every_form(kind, data):
    """What is negated, asked, conditional, planned or somebody else's claims nothing, whatever the form (V4)."""
    code = data.draw(st.sampled_from(CODES))
    frame = data.draw(st.sampled_from(FRAMES[code][kind]))
    form = data.draw(st.sampled_from(FORMS[code]))

    assert DETECTOR.claims(frame.format(form)) == ()


@given(data=st.data())
def test_languages_do_not_disturb_each_other(data):
    """A sentence claims in the company of all languages what it claims in its own (V2)."""
    code = data.draw(st.sampled_from(CODES))
    kind = data.draw(st.sampled_from(("claims", *HONEST_KINDS)))
    text = data.draw(st.sampled_from(FRAMES[code][kind])).format(data.draw(st.sampled_from(FORMS[code])))

    assert DETECTOR.claims_change(text) is ClaimDetector(languages=[code]).claims_change(text)


@given(data=st.data())
def test_an_honest_sentence_stays_honest_beside_a_claim_of_another_language(data):
    """Claims are found sentence by sentence: each in its own language."""
    one, other = data.draw(st.sampled_from(CODES)), data.draw(st.sampled_from(CODES))
    honest = data.draw(st.sampled_from(FRAMES[one]["negated"])).format(data.draw(st.sampled_from(FORMS[one])))
    claim = data.draw(st.sampled_from(FRAMES[other]["claims"])).format(data.draw(st.sampled_from(FORMS[other])))

    found = DETECTOR.claims(f"{honest}\n\n{claim}")

    assert all(place.start > len(honest) for place in found)


@given(data=st.data(), frame=st.sampled_from(("字段 {} 的值一直为零。", "Поле {} означает, что всё в порядке.")))
def test_a_form_among_words_of_another_script_claims_nothing(data, frame):
    """In a sentence of other letters a bare form is a name or a value, whatever its language."""
    code = data.draw(st.sampled_from([code for code in CODES if not LEXICONS[code].unspaced]))
    form = data.draw(st.sampled_from(FORMS[code]))

    assert DETECTOR.claims(frame.format(form)) == ()


@given(data=st.data())
def test_a_foreign_word_hides_no_claim(data):
    """A name that is a function word of another language does not make the sentence one of that language (V2)."""
    code, other = data.draw(st.sampled_from(CODES)), data.draw(st.sampled_from(CODES))
    foreign = sorted(w for w in LEXICONS[other].function if w.isalpha() and w not in LEXICONS[code].words)
    claim = data.draw(st.sampled_from(FRAMES[code]["claims"])).format(data.draw(st.sampled_from(FORMS[code])))
    name = data.draw(st.sampled_from(foreign or ["name"]))

    assert DETECTOR.claims_change(f"{claim[:-1]} ({name}){claim[-1]}") is DETECTOR.claims_change(claim)
