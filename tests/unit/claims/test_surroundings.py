"""
How far what stands around a sentence reaches: leads, heads of columns, headings, proposed texts, go-aheads (V4, V5).

In a made-up language, so that no data file decides.
"""

import pytest

from nr_agent_core.domain.claims.asserted_rule import AssertedRule

WORDS = {
    "participle": "sent",
    "self": "ai",
    "self_have": "aiv",
    "be": "is",
    "was": "was",
    "modal": "wul",
    "neg": "nokt",
    "plan": "plan",
    "status": "status",
    "now": "nau",
    "alone": "redi",
    "go_ahead": "okay",
    "draft": "sketch letter",
    "instruction": "open",
    "condition": "iff",
    "label": "new",
    "before": "bifor",
    "switched": "on",
    "determiner": "zha",
    "trait": "due",
    "function": "uf",
    "doubt": "maybe",
    "progress": "being",
    "finite": "goes",
}


def rule() -> AssertedRule:
    """The made-up language, compiled anew: a change of the compiling is seen."""
    return AssertedRule(
        {
            "aa": {
                "shape": "adjacent",
                "exact": True,
                "words": WORDS,
                "phrases": {"gone": "upp there", "go_ahead": "shul ai"},
            }
        }
    )


def claimed(text: str) -> list[str]:
    """What claims in *text*, each with the word behind it."""
    return [" ".join(text[claim.start :].split()[:2]) for claim in rule().find(text)]


def claims(text: str) -> bool:
    """Whether anything does."""
    return bool(claimed(text))


def rejected(text: str) -> list[str | None]:
    """Why places of *text* are no claims."""
    return [claim.rejected_by for claim in rule().explained(text)]


ITEM = "- box sent"
LED = "the line above leads into plans, questions or states"


@pytest.mark.parametrize("lead", ["plan:", "wul it be:", "maybe so:", "iff so:", "so?", "plan", "- plan:\n\nplan"])
def test_a_lead_blocks_the_items_below_it(lead: str) -> None:
    """A plan, a possibility, a doubt, a condition or a question in the line above a list."""
    for between in ("\n", "\n\n", "\n- box\n", "\n| box |\n"):
        assert rejected(f"{lead}{between}{ITEM}") == [LED]


@pytest.mark.parametrize("lead", ["zha box", "sent plan:", "is it:", "plan:\n\ntha box:", "plan:\n\n- it\n\ntha box"])
def test_another_lead_blocks_nothing(lead: str) -> None:
    """Nor one that another line stands below; a plan that was carried out is none."""
    assert f"{lead}\n{ITEM}".count("sent") - lead.count("sent") == 1
    assert claimed(f"{lead}\n{ITEM}")[-1] == "sent"


def test_the_lead_is_looked_for_thirty_lines_up() -> None:
    """Of a longer list the last items have none; where the first ones are read before, all of them have it."""
    items = "\n".join(["- box"] * 28)

    assert not claims(f"plan:\n{items}\n{ITEM}")
    assert claims(f"plan:\n{items}\n- box\n{ITEM}")
    assert not claims("plan:\n" + "\n".join([ITEM] * 60))


def test_the_last_sentence_of_a_line_leads() -> None:
    """What stands before it in the line does not."""
    assert claims(f"plan it. zha box:\n{ITEM}")
    assert not claims(f"zha box. plan it:\n{ITEM}")


def test_an_instruction_leads_by_its_first_word() -> None:
    """Unless it is a name's."""
    assert not claims(f"open zha box:\n{ITEM}")
    assert claims(f"zha box open:\n{ITEM}")
    assert claims(f'open "box" here:\n{ITEM}')


def test_a_line_with_a_colon_leads_into_a_paragraph() -> None:
    """With it only, and only the paragraph right below; empty lines lie between."""
    for between in ("\n", "\n\n", "\n \n"):
        assert rejected(f"plan:{between}zha box was sent") == [LED]
        assert claims(f"plan it{between}Zha box was sent")
    assert claims("plan:\nIt is here.\n\nTha box was sent")


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("wul it be. Sent box", False),
        ("wul it be. Zha box was sent", True),
        ("wul it be. It is so. Sent box", True),
        ("wul it be. So it. Sent box", False),
        ("wul it be. So it. So it. So it. Sent box", False),
        ("wul it be. So it. So it. So it. So it. Sent box", True),
        ("wul it be.\n\nSent box", True),
        ("Is it so? Sent box", False),
    ],
)
def test_the_sentence_before_blocks_a_bare_form(text: str, stands: bool) -> None:
    """The last one with a verb of its paragraph, up to four sentences before; more than a bare form stands."""
    assert claims(text) is stands


@pytest.mark.parametrize(
    ("end", "stands"),
    [
        ("okay", False),
        ("shul ai", False),
        ("shul we", True),
        (f"okay{' x' * 59}", False),
        (f"okay{' x' * 60}", True),
        (f"okay {'x' * 394}.", False),
        (f"okay {'x' * 395}.", True),
    ],
)
def test_an_answer_that_ends_in_asking_for_a_go_ahead(end: str, stands: bool) -> None:
    """Within sixty words and four hundred characters of its end; it blocks bare forms only."""
    assert claims(f"sent box\n\n{end}") is stands
    assert claims(f"zha box was sent\n\n{end}")
    assert claims(f"ai sent zha box\n\n{end}")


@pytest.mark.parametrize(
    ("table", "found"),
    [
        ("| box | status |\n|---|---|\n| it | sent |", []),
        ("| status | box |\n|---|---|\n| it | sent |", ["sent |"]),
        ("| status | box |\n|---|---|\n| sent | it |", []),
        ("| a | b | status |\n|---|---|---|\n| sent | sent | sent |", ["sent |", "sent |"]),
        ("| box | status |\n| it | x |\n| it | x |\n| it | sent |", []),
        ("| box | zha status |\n|---|---|\n| it | sent |", []),
        ("| box |\n|---|\n| it | sent |", ["sent |"]),
        ("| status | sent |", ["sent |"]),
        ("| box | status sent |", ["sent |"]),
        ("box\n\n| status | sent |", ["sent |"]),
        ("| box | status |\n\nIt is here.\n\n| it | sent |", ["sent |"]),
        ("| box | plan |\n|---|---|\n| it | sent |", ["sent |"]),
    ],
)
def test_a_column_of_states_claims_nothing(table: str, found: list[str]) -> None:
    """Under its head, which is the top row of the table; other columns do."""
    assert claimed(table) == found


def test_the_head_is_looked_for_thirty_rows_up() -> None:
    """From the first row with a form; where rows are read one after the other, all of them have it."""
    rows = "\n".join(["| it | x |"] * 28)

    assert not claims(f"| box | status |\n{rows}\n| it | sent |")
    assert claims(f"| box | status |\n{rows}\n| it | x |\n| it | sent |")
    assert not claims("| box | status |\n" + "\n".join(["| it | sent |"] * 60))


HEADED = "the heading above announces plans or states"


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("# plan\n\n- box sent", False),
        ("# plan\n\nTha box is sent", False),
        ("# plan\n\nTha box has it\n\n- box sent", False),
        ("# plan\n\nai sent zha box", True),
        ("# plan\n\n## box\n\n- box sent", False),
        ("# plan\n\n# box\n\n- box sent", True),
        ("## plan\n\n# box\n\n- box sent", True),
        ("# plan\n\n## sent\n\n- box sent", True),
        ("# sent plan\n\n- box sent", True),
        ("# status\n\n- box sent", False),
        ("# box\n\n- box sent", True),
        ("# wul it\n\n- box sent", False),
    ],
)
def test_headings_that_announce_block_what_is_below(text: str, stands: bool) -> None:
    """Down to the next heading of their rank; up to "is sent", and not where a heading says that it was done."""
    assert (claimed(text)[-1:] in (["sent"], ["sent zha"])) is stands
    if not stands:
        assert rejected(text) in ([HEADED], [LED])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Sketch: ai sent zha box and zha letters.", []),
        ("Sketch: ai sent zha box.", ["sent zha"]),
        ("Sketch for it: ai sent zha box and zha rest.", []),
        ("Sketch for it:\n\nai sent zha box and zha rest.\n\nai sent it.", []),
        ("Sketch for it: ai sent zha box and zha rest.\nai sent it.", ["sent it."]),
        ("Sketch. ai sent zha box and zha rest.", ["sent zha"]),
        ("Sketches: ai sent zha box and zha rest.", ["sent zha"]),
        ("ai sent zha sketch: ai sent zha box and zha rest.", ["sent zha", "sent zha"]),
        ("nau zha sketch: ai sent zha box and zha rest.", ["sent zha"]),
        ("redi, zha sketch: ai sent zha box and zha rest.", ["redi, zha", "sent zha"]),
        ("ai sent it. \n\nSketch: ai sent zha box and zha rest.", ["sent it."]),
        (f"Sketch {'x' * 59}: ai sent zha box and zha rest.", []),
        (f"Sketch {'x' * 60}: ai sent zha box and zha rest.", ["sent zha"]),
        ("Sketch and letter: ai sent zha box and zha rest.", []),
        ("Sketch: ai sent zha box and zha rest.\nLetter: ai sent zha box and zha rest.", []),
        ("**Sketch:** ai sent zha box and zha rest.", []),
    ],
)
def test_a_proposed_text_claims_nothing(text: str, found: list[str]) -> None:
    """
    Behind a word for a draft and a colon, to the end of the line, or to the end of the answer where nothing stands in
    the line; a short one is the value of a label, and behind what says that it was done it is no proposal.
    """
    assert claimed(text) == found


def test_a_proposed_text_is_told_of() -> None:
    """Asked for an explanation."""
    assert rejected("Sketch for it: ai sent zha box and zha rest.") == ["a text that is only proposed"]


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("Status: sent", True),
        ("x\n\nStatus: sent\n\nx", True),
        ("x\nStatus: sent", False),
        ("x.\nStatus: sent.\n\nx", False),
        ("x.\n\nStatus: sent.\nX", False),
        ("- Status: sent", False),
        ("Status: sent x", False),
        ("Zha status: sent", False),
    ],
)
def test_a_paragraph_that_only_names_a_state_claims_it(text: str, stands: bool) -> None:
    """One word for it and its value; beside other lines, or in a list, it says how things stand."""
    assert claims(text) is stands


@pytest.mark.parametrize(
    ("text", "stands"),
    [
        ("Zha box is sent.", True),
        ("Zha box is sent. It is due.", False),
        ("It is due. Zha box is sent.", False),
        ("It is due. x. Zha box is sent.", False),
        ("It is due. So it. So it. So it. Zha box is sent.", False),
        ("It is due. So it. So it. So it. So it. Zha box is sent.", True),
        ("Zha box is sent. So it. So it. So it. It is due.", False),
        ("Zha box is sent. So it. So it. So it. So it. It is due.", True),
        ("It is due.\n\nTha box is sent.", True),
        ("It is due. Zha box was sent.", True),
        ("It is due. ai sent zha box.", True),
        ("It is due. ai sent it. Zha box is sent.", True),
        ("It is due. Zha box is nau sent.", True),
        ("Zha mail wul goes out here. Zha box is sent. So it is.", False),
        ("Good day. Zha box is sent. So it is.", True),
        ("Zha box is sent. So it goes. So it is.", True),
    ],
)
def test_four_sentences_beside_one_say_what_paragraph_it_is(text: str, stands: bool) -> None:
    """Before and behind it; what can be a state goes on with a description, unless one of them tells of a deed."""
    assert (claimed(text)[-1:] != []) is stands
