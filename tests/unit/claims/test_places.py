"""
What is looked at in each sentence of the vectors, and what is said of it: no rule changes what it says unseen.

``python -m tests.unit.claims.test_places --write`` records the answers of the rules as they are now. The difference in
``tests/vectors/places.toml`` then shows which sentences a change of a rule reaches; the vectors say whether it may.
"""

import json
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from nr_agent_core.domain.claims import ClaimDetector, ClaimPolicy
from nr_agent_core.domain.claims.asserted_rule import AssertedRule
from nr_agent_core.domain.claims.claim import Claim
from nr_agent_core.domain.claims.seed_rule import SeedRule
from nr_agent_core.domain.package_data import read_toml

VECTORS = Path(__file__).parents[2] / "vectors"
RECORDED = VECTORS / "places.toml"
PACKAGE = "nr_agent_core.domain.claims"


def compiled() -> tuple[AssertedRule, SeedRule]:
    """Both rules, compiled now: a change of the compiling is seen, too."""
    asserted, literal = ClaimDetector().languages, ClaimDetector(ClaimPolicy.SEED_RULE).languages
    return (
        AssertedRule({code: read_toml(PACKAGE, f"{code}.toml") for code in asserted}),
        SeedRule({code: read_toml(PACKAGE, f"seed.{code}.toml") for code in literal}),
    )


def told(text: str, claim: Claim) -> str:
    """One place of *text*: its word, its language, and how it is used or why it is no claim."""
    assert text[claim.start : claim.end].strip(), "a claim is a place in the text"
    said = f"no: {claim.rejected_by}" if claim.rejected_by else claim.why
    return f"{claim.start}-{claim.end} {claim.word} ({claim.language}) {said}"


def places(text: str, asserted: AssertedRule, literal: SeedRule) -> list[str]:
    """Every place of *text* that either rule looks at."""
    found = [told(text, claim) for claim in asserted.explained(text)]
    return found + [f"literal: {told(text, claim)}" for claim in literal.explained(text)]


def sentences() -> Iterator[tuple[str, list[str]]]:
    """The sentences of each kind of each language."""
    for path in sorted(VECTORS.glob("claims.*.toml")):
        for kind, table in tomllib.loads(path.read_text(encoding="utf-8")).items():
            yield f"{path.name.split('.')[1]} {kind}", [*table["claims"], *table["honest"]]


def current() -> dict[str, list[list[str]]]:
    """What the rules say now."""
    rules = compiled()
    return {kind: [places(text, *rules) for text in texts] for kind, texts in sentences()}


def test_what_is_said_of_every_place_is_what_was_recorded() -> None:
    """The words, spans and reasons of a sentence change with its rules only, and are seen to change."""
    recorded = tomllib.loads(RECORDED.read_text(encoding="utf-8"))

    changed = {
        kind: [pair for pair in zip(found, recorded.get(kind, []), strict=False) if pair[0] != pair[1]]
        for kind, found in current().items()
        if recorded.get(kind) != found
    }

    assert changed == {}


def test_every_kind_is_recorded() -> None:
    """Nothing is recorded of kinds that are gone, and nothing is left out."""
    recorded = tomllib.loads(RECORDED.read_text(encoding="utf-8"))

    assert {kind: len(found) for kind, found in recorded.items()} == {kind: len(texts) for kind, texts in sentences()}


def write() -> None:
    """Record what the rules say now."""
    lines = ["# Written by tests/unit/claims/test_places.py: what is looked at in the sentences beside this file."]
    for kind, found in current().items():
        lines.append(f"\n{json.dumps(kind)} = [")
        lines += (f"  {json.dumps(each, ensure_ascii=False)}," for each in found)
        lines.append("]")
    RECORDED.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    write()
