"""
Texts in which every claim is marked where it stands: exactly those are found (V2, V4).
"""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nr_agent_core.domain.claims import ClaimDetector

DETECTOR = ClaimDetector()
KINDS = tomllib.loads((Path(__file__).parents[2] / "vectors" / "marked.toml").read_text(encoding="utf-8"))
TEXTS = [text for kind in KINDS.values() for text in kind["texts"]]
ALONE = [text for text in TEXTS if "\n" not in text and not text.startswith(("{", "~", "|", "Draft"))]


def unmarked(text: str) -> tuple[str, list[tuple[int, int]]]:
    """*text* without its marks, and what they stood around."""
    plain, places = "", []
    for part in re.split("([⟦⟧])", text):
        if part == "⟦":
            places.append(len(plain))
        elif part != "⟧":
            plain += part
            continue
        else:
            places.append(len(plain))
    return plain, list(zip(places[::2], places[1::2], strict=True))


def marked(text: str) -> str:
    """*text* with marks around what is claimed in it."""
    for claim in reversed(DETECTOR.claims(text)):
        text = f"{text[: claim.start]}⟦{text[claim.start : claim.end]}⟧{text[claim.end :]}"
    return text


@pytest.mark.parametrize("kind", KINDS)
def test_claims_stand_where_they_are_marked(kind: str) -> None:
    """No other word claims, and none less."""
    texts = KINDS[kind]["texts"]

    assert [marked(unmarked(text)[0]) for text in texts] == texts


@given(st.sampled_from(TEXTS))
def test_a_claim_names_the_word_it_stands_at(text: str) -> None:
    """In lower case, as it is written there (V2)."""
    plain, places = unmarked(text)

    claims = DETECTOR.claims(plain)

    assert [claim.word for claim in claims] == [plain[start:end].lower() for start, end in places]


@given(st.sampled_from(TEXTS), st.sampled_from(["Hello.\n\n", "It is fine.\n\n", "\n\n", "  \n"]))
def test_a_paragraph_before_it_moves_a_claim_only(text: str, before: str) -> None:
    """What says nothing of a change takes nothing back."""
    plain, places = unmarked(text)
    moved = [(start + len(before), end + len(before)) for start, end in places]

    assert [(claim.start, claim.end) for claim in DETECTOR.claims(before + plain)] == moved or plain[0] in "{["


@given(st.lists(st.sampled_from(ALONE), min_size=2, max_size=4))
def test_a_sentence_claims_in_a_paragraph_of_its_own(texts: list[str]) -> None:
    """Beside other paragraphs what claims alone is found, as long as nothing asks for a go-ahead at the end."""
    strong = [text for text in texts if text.startswith(("I have", "Ich habe"))]
    together = "\n\n".join(["It is like this.", *texts, "That is all."])

    found = marked(unmarked(together)[0])

    assert all(text in found for text in strong)


@given(st.sampled_from([text for text in TEXTS if ":\n" not in text]))
def test_line_ends_of_either_kind_are_one(text: str) -> None:
    """Claims stand at the same words."""
    plain, _ = unmarked(text)

    words = [claim.word for claim in DETECTOR.claims(plain.replace("\n", "\r\n"))]

    assert words == [claim.word for claim in DETECTOR.claims(plain)]
