"""
Where the clauses of a sentence begin and end, and what is known of each (V4).
"""

from functools import reduce
from operator import or_

import pytest

from nr_agent_core.domain.claims import word_class as wc
from nr_agent_core.domain.claims.clauses import Clause, cut

SIGNS = {",": wc.COMMA, ";": wc.BREAK, ":": wc.COLON, "(": wc.OPEN, ")": wc.CLOSE}


def flags(sentence: str) -> list[int]:
    """Classes of the words of *sentence*, which are named after them; "x" has none, "a+b" is of two."""
    found = []
    for word in sentence.split():
        bits = 0
        for name in word.split("+"):
            bits |= SIGNS.get(name) or (0 if name == "x" else wc.BY_NAME[name])
        found.append(bits)
    return found


def parted(sentence: str, *, adjacent: bool) -> list[Clause]:
    """The clauses of *sentence*."""
    of = flags(sentence)
    return cut(of, reduce(or_, of, 0), adjacent=adjacent)


def shown(sentence: str, *, adjacent: bool = True) -> list[str]:
    """The clauses of *sentence*, as they are written."""
    words = sentence.split()
    return [" ".join(words[clause.start : clause.end]) for clause in parted(sentence, adjacent=adjacent)]


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        ("x be participle", ["x be participle"]),
        ("x , x be participle", ["x", "x be participle"]),
        ("x ; x : x", ["x", "x", "x"]),
        ("x ( x ) x", ["x", "x", "x"]),
        (", , x ,", ["x"]),
        ("", []),
        (",", []),
        ("x contrast x", ["x", "contrast x"]),
        ("contrast x", ["contrast x"]),
        ("x subordinate x", ["x", "subordinate x"]),
        ("x condition x", ["x", "condition x"]),
        ("x pass_on x", ["x", "pass_on x"]),
        ("x condition subordinate x", ["x", "condition subordinate x"]),
        ("x subordinate contrast x", ["x", "subordinate", "contrast x"]),
        ("x conjunction x", ["x conjunction x"]),
        ("x be participle conjunction self have participle", ["x be participle", "self have participle"]),
        ("x be participle conjunction pronoun have participle", ["x be participle", "pronoun have participle"]),
        ("x be participle conjunction have participle", ["x be participle", "have participle"]),
        ("x be participle conjunction x have participle", ["x be participle", "x have participle"]),
        ("x be participle conjunction x finite", ["x be participle", "x finite"]),
        ("x be participle conjunction x state_verb", ["x be participle", "x state_verb"]),
        ("x be participle conjunction participle", ["x be participle conjunction participle"]),
        ("x be participle conjunction participle x have", ["x be participle conjunction participle x have"]),
        ("x be participle conjunction participle self have", ["x be participle", "participle self have"]),
        ("x be participle conjunction x participle have", ["x be participle conjunction x participle have"]),
        ("x conjunction x be participle", ["x conjunction x be participle"]),
        ("x state_verb conjunction x be participle", ["x state_verb conjunction x be participle"]),
        ("x finite conjunction x be", ["x finite", "x be"]),
        ("x participle conjunction x be", ["x participle", "x be"]),
        ("x be conjunction x conjunction x be", ["x be conjunction x", "x be"]),
        ("x be conjunction x be x be", ["x be", "x be x be"]),
        ("x be , x conjunction self", ["x be", "x conjunction self"]),
        ("x be contrast x conjunction self", ["x be", "contrast x conjunction self"]),
        ("x be , be conjunction self", ["x be", "be", "self"]),
        ("now , x", ["now , x"]),
        ("now x now , x", ["now x now , x"]),
        ("now x x now , x", ["now x x now , x"]),
        ("now x x x now , x", ["now x x x now", "x"]),
        ("conjunction x now , x", ["conjunction x now , x"]),
        ("conjunction x , x", ["conjunction x", "x"]),
        ("x now , x", ["x now", "x"]),
        ("now x , x", ["now x", "x"]),
        ("x , now , x", ["x", "now , x"]),
        ("x ; now , x", ["x", "now , x"]),
    ],
)
def test_where_clauses_end(sentence: str, clauses: list[str]) -> None:
    """
    At signs, before contrast words and beginnings of clauses, and at "and" where a subject or a verb of its own
    follows; "from now on," of at most four words belongs to what follows.
    """
    assert shown(sentence) == clauses


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        ("x contrast x participle", ["x contrast x participle"]),
        ("x participle contrast x", ["x participle", "contrast x"]),
        ("x be contrast x participle", ["x be contrast x participle"]),
        ("x participle , contrast x", ["x participle", "contrast x"]),
        ("x participle , x contrast x", ["x participle", "x contrast x"]),
        ("x condition x participle", ["x", "condition x participle"]),
        ("x participle subordinate x contrast x", ["x participle", "subordinate x contrast x"]),
    ],
)
def test_where_the_verb_frames_the_clause_a_contrast_ends_none_before_the_form(
    sentence: str, clauses: list[str]
) -> None:
    """The form is still to come; other beginnings of clauses end it."""
    assert shown(sentence, adjacent=False) == clauses


@pytest.mark.parametrize(
    ("sentence", "name", "having"),
    [
        ("x , x ; x : x , x", "hard", [True, False, True, True, False]),
        ("x ( x , x ) x", "bracketed", [False, True, True, False]),
        ("x ) x ( x", "bracketed", [False, False, True]),
        ("( ( x ) x ) x", "bracketed", [True, True, False]),
        ("x , x contrast x , x", "contrasted", [False, False, True, False]),
        ("x condition x", "contrasted", [False, False]),
        ("x be conjunction self be , x", "joined", [False, True, False]),
        ("x be conjunction self be contrast x", "joined", [False, True, False]),
        ("x : x ; x , x : x", "colon", [True, False, False, True, False]),
        ("x ( x ) : x", "colon", [False, True, False]),
        ("x , : x", "colon", [False, False]),
        (": x", "colon", [False]),
        ("x x", "hard", [True]),
        ("x x", "bracketed", [False]),
    ],
)
def test_what_is_known_of_a_clause(sentence: str, name: str, having: list[bool]) -> None:
    """
    Hard behind a colon, a semicolon or a dash; bracketed between brackets; contrasted behind a contrast word; joined
    behind "and"; colon before one, or before a bracket that closes in front of it.
    """
    assert [getattr(clause, name) for clause in parted(sentence, adjacent=True)] == having


def test_the_classes_of_a_clause() -> None:
    """All of them, those of words that are no forms, of the first word, and where negators and actors stand first."""
    clause = Clause(1, 6, flags("neg x participle+world neg other neg by"))

    assert clause.union == wc.PARTICIPLE | wc.WORLD | wc.NEG | wc.OTHER
    assert clause.rest == wc.NEG | wc.OTHER
    assert (clause.opener, clause.negator, clause.other) == (0, 3, 4)


def test_a_clause_without_them() -> None:
    """Without negator or actor their place is its end; without a form the rest is all; an empty one has no opener."""
    given = flags("be x now x neg")
    clause = Clause(0, 3, given)

    assert (clause.union, clause.rest) == (wc.BE | wc.NOW, wc.BE | wc.NOW)
    assert (clause.opener, clause.negator, clause.other) == (wc.BE, 3, 3)
    assert Clause(2, 2, given).opener == 0
    assert Clause(2, 2, given).union == 0
