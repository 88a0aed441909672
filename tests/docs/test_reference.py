"""
Reference and concept pages say what the code says, and describe all of it.

After a change that is meant: ``python -m tests.docs.reference``, then describe what is new.
"""

import importlib
import re
from collections import Counter
from pathlib import Path

import pytest

from nr_agent_core.domain.failures import FailureCode
from nr_agent_core.domain.notices import Notice, NoticeCode
from nr_agent_core.domain.run import Run
from nr_agent_core.domain.run_events import RunFailed
from nr_agent_core.domain.run_status import TRANSITIONS, RunReason
from nr_agent_core.domain.verdict import ended_notices, verdict
from nr_agent_core.testing.contracts.run_script import RunScript, wrote
from tests.cases.statement_turns import Case, play
from tests.docs import reference
from tests.docs.reference import BLOCKS, PAGES, ROOT, SAMPLES
from tests.docs.tables import TODO, cells, fixed, names_in, rewritten, table
from tests.docs.test_examples import program_of, run
from tests.test_public_api import exported_names, public_modules

REWRITE = "bring it up to date with: python -m tests.docs.reference"


def name_of(path: Path) -> str:
    """The path of a page, as a test id."""
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_says_what_the_code_says(page: Path) -> None:
    """Names, defaults, columns, moves and sentences in a page are those of the code."""
    text = page.read_text(encoding="utf-8")

    assert rewritten(text, BLOCKS) == text, REWRITE


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_everything_is_described(page: Path) -> None:
    """A name that is new gets its meaning from a person before it is released."""
    assert [line for line in page.read_text(encoding="utf-8").splitlines() if f"| {TODO} |" in line] == []


def test_every_table_stands_in_one_page() -> None:
    """What the code knows is told, once."""
    shown = Counter(name for page in PAGES for name in names_in(page.read_text(encoding="utf-8")))

    assert shown == Counter(list(BLOCKS))


def test_every_exported_name_is_in_the_reference() -> None:
    """Each name that can be imported is listed, and nothing else is: the tables leave no module out."""
    page = (ROOT / "docs" / "reference" / "public-api.md").read_text(encoding="utf-8")
    listed = {
        row[0].strip("`")
        for body in re.split(r"<!-- table: methods.*?<!-- end -->", page, flags=re.DOTALL)
        for row in cells("\n\n" + body)
        if row[0].startswith("`")
    }
    exported = {name for module in public_modules() for name in exported_names(importlib.import_module(module))}

    assert listed == exported


def test_what_a_page_lacks_or_has_too_much_is_noticed() -> None:
    """A name that came and one that went both change the page; what was written by hand stays where it was."""
    head = "<!-- table: t -->\n| a | b | c |\n| --- | --- | --- |\n"
    page = f"{head}| `x` | 1 | by hand |\n| `y` | 2 | gone |\n<!-- end -->\n"
    block = table(("a", "b", "c"), [("`new`", "3", None), ("`x`", "4", None)])

    assert rewritten(page, {"t": block}) == f"{head}| `new` | 3 | TODO |\n| `x` | 4 | by hand |\n<!-- end -->\n"
    assert rewritten(page, {"t": fixed("other")}) != page
    with pytest.raises(KeyError):
        rewritten(page, {})


def test_moves_of_the_table_are_all_listed() -> None:
    """(R1) The table in the page has a row for each cell of the table in the code."""
    moves = [(status, event) for status, events in TRANSITIONS.items() for event in events]

    assert len(cells(BLOCKS["moves"](""))) == len(moves)


def test_arguments_of_notices_are_those_that_are_stored() -> None:
    """(V10, F5) The arguments in the page are the ones that a verdict gives."""
    open_call = RunScript("r1")
    for step in (open_call.start, open_call.propose, open_call.intend):
        step()
    written = RunScript("r2", conversation="c1")
    for step in (written.start, written.request, written.decide, written.intend):
        step()
    written.outcome(wrote(42))
    nothing = RunScript("r3")
    nothing.start()
    stored = [
        *ended_notices(_failed(open_call.run)),
        *ended_notices(_failed(written.run)),
        *verdict("Saved.", nothing.run, lambda _: True, outside=True),
        *(notice for case in contradicting() for notice in play(case)),
    ]

    assert {notice.code for notice in stored} == {code for code in NoticeCode if reference.made(code)}
    assert [notice for notice in stored if not _fits(notice)] == []


def contradicting() -> list[Case]:
    """A turn for each way in which an answer contradicts its run (V7, V8, V12)."""
    call: Case = {"tool": "create_page", "result": "ok", "writes": ["pages:42 created"]}
    answers = ("pages:41 is created.", "Nothing was saved.", 'create_page(title="Team")')
    return [{"user": "Create it.", "calls": [call], "answer": answer} for answer in answers]


def _failed(run: Run) -> Run:
    return run.after(RunFailed(RunReason.INTERNAL, FailureCode.INTERNAL))


def _fits(notice: Notice) -> bool:
    return set(notice.arguments) <= {name for sample in SAMPLES[notice.code] for name in sample}


def test_the_store_of_the_how_to_keeps_its_contract(tmp_path: Path) -> None:
    """The test file that the page shows is one: it is run as it stands there."""
    page = (ROOT / "docs" / "how-to" / "write-a-store.md").read_text(encoding="utf-8")
    (tmp_path / "test_page.py").write_text(program_of(page), encoding="utf-8")

    result = run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_page.py"], tmp_path)

    assert result.returncode == 0, result.stdout
    assert int(re.findall(r"(\d+) passed", result.stdout)[0]) > 50
