"""
What each class of words does to each use of a form: the frames as a table (V4, V5).

The sentences are of a made-up language: each of its words is of one class and is named after it, so that no data file
decides. A row is a sentence with a gap; the word that fills it decides what is said of the forms in it. Rows stand in
``tests/vectors/frame_tables.toml``, by shape of language, with the classes under what is said.

``python -m tests.unit.claims.test_frame_tables --write`` records what the rules say now, for the rows that are listed;
the difference shows which class a change of a rule reaches in which sentence.
"""

import json
import sys
import tomllib
from pathlib import Path

import pytest

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.asserted_rule import AssertedRule

TABLES = Path(__file__).parents[2] / "vectors" / "frame_tables.toml"
SIGNS = {
    "comma": ",",
    "break": ";",
    "colon": ":",
    "open": "(",
    "close": ")",
    "mark": "\u2705",
    "arrow": "\u2192",
    "quoted": '"form"',
}
"""Classes that no data lists: what stands for them."""

WORDS = {name: name.replace("_", "") for name in wc.BY_NAME if name not in {*SIGNS, "phrase", "split"}}
"""The words by the names of their classes."""

FORMS = {
    "form": "participle",
    "fixedform": "participle stative",
    "worldform": "participle world",
    "readform": "participle reads",
    "eitherform": "participle either",
    "movedform": "participle moves",
    "instructingform": "participle instruction",
    "havenot": "have neg",
    "benot": "be neg",
    "modalnot": "modal neg",
    "iam": "self be",
    "itis": "pronoun be",
    "by-me": "by by_self",
    "nolongernot": "neg no_longer",
    "ablebe": "modal able",
    "willbe": "modal future",
    "theseare": "determiner pronoun",
    "beingmodal": "progress modal",
}
"""Words of several classes."""

GAPS = {
    **WORDS,
    **{name: sign for name, sign in SIGNS.items() if name != "open"},
    **{word: word for word in FORMS},
    "number": "12",
    "weekday": "on_date date".replace("_", ""),
    "time": "ondate 7:03",
    "unlisted": "thing",
    "plural": "thingzes",
    "verbal": "thingzets",
    "going": "thingzing",
    "adverbial": "thingzly",
    "nothing": "",
}
"""What fills a gap, by the name it has in the tables."""


def table(shape: str) -> dict[str, object]:
    """The data of the made-up language in one *shape*."""
    words = {name: [word] for name, word in WORDS.items()}
    for word, classes in FORMS.items():
        for name in classes.split():
            words[name].append(word)
    return {
        "shape": shape,
        "exact": True,
        "generic_plural": "zes",
        "present_endings": "zets",
        "progressive": "zing",
        "adverb_endings": "zly",
        "participle_endings": "form",
        "split_verbs": {"switch": "particle"},
        "words": {name: " ".join(listed) for name, listed in words.items()},
    }


def sentence(template: str, filling: str) -> str:
    """*template* with its gap filled, without the blanks that are too many."""
    return "\n".join(" ".join(line.split()) for line in template.replace("{}", filling).split("\n"))


def said(rule: AssertedRule, text: str) -> str:
    """What *rule* says of the places in *text*."""
    places = (
        f"{text[: claim.start].count(' ')} {claim.why}" if claim.rejected_by is None else claim.rejected_by
        for claim in rule.explained(text)
    )
    return "; ".join(places) or "nothing to look at"


def row(rule: AssertedRule, template: str, names: list[str]) -> dict[str, str]:
    """What is said of *template*, and those of *names* that fill its gap when it is."""
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(said(rule, sentence(template, GAPS[name])), []).append(name)
    return {what: " ".join(fitting) for what, fitting in found.items()}


def fillings(listed: dict[str, str]) -> list[str]:
    """What a row fills its gap with, in the order of the gaps: all there is, where it lists nothing yet."""
    chosen = {name for names in listed.values() for name in names.split()}
    return [name for name in GAPS if name in chosen or not chosen]


def recorded() -> dict[str, dict[str, dict[str, str]]]:
    """The rows by shape and sentence."""
    return tomllib.loads(TABLES.read_text(encoding="utf-8"))


RECORDED = recorded()
AT_ONCE = 20
"""How many rows one test reads: a test that fails shows them."""


@pytest.fixture(scope="module", name="rules")
def compiled() -> dict[str, AssertedRule]:
    """The made-up language in each shape, compiled for this run: a change of the compiling is seen, too."""
    return {shape: AssertedRule({"xx": table(shape)}) for shape in RECORDED}


@pytest.mark.parametrize(
    ("shape", "first"), [(shape, first) for shape, rows in RECORDED.items() for first in range(0, len(rows), AT_ONCE)]
)
def test_a_class_does_to_a_use_what_its_table_says(rules: dict[str, AssertedRule], shape: str, first: int) -> None:
    """For every sentence, the classes that leave its claims standing and those that take them back, with the reason."""
    rows = list(RECORDED[shape].items())[first : first + AT_ONCE]

    changed = {
        template: (now, then) for template, then in rows if (now := row(rules[shape], template, fillings(then))) != then
    }

    assert changed == {}


def test_no_row_is_without_a_choice() -> None:
    """A row of which one thing is said, whatever fills its gap, would say nothing of any class."""
    assert [template for rows in RECORDED.values() for template, listed in rows.items() if len(listed) < 2] == []


def write() -> None:
    """Record what the rules say now of the listed sentences."""
    lines = ["# Written by tests/unit/claims/test_frame_tables.py: what each class of words does to each sentence."]
    for shape, rows in RECORDED.items():
        rule = AssertedRule({"xx": table(shape)})
        for template, listed in rows.items():
            lines.append(f"\n[{shape}.{json.dumps(template)}]")
            lines += (
                f"{json.dumps(what)} = {json.dumps(names)}"
                for what, names in row(rule, template, fillings(listed)).items()
            )
    TABLES.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    write()
