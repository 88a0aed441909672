"""
What the documents show is run: every Python block, and every example.

Blocks of one file are joined in their order and run in one fresh interpreter. A block may be marked
``python no-run: reason``; without a reason the mark is refused. A block of any language that is marked
``file: path`` is written there when its turn comes, one marked ``append: path`` is added there, and the
commands of ``console run`` are carried out.
"""

import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")])
EXAMPLES = sorted(
    path
    for path in [*(ROOT / "examples").glob("*.py"), *(ROOT / "examples").glob("*/__main__.py")]
    # The web chat serves until somebody ends it; tests/web starts it.
    if path.name != "__init__.py" and path.parent.name != "web_chat"
)

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```[ ]*$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"[\w+-]+ (?P<how>file|append): (?P<path>[\w./-]+)")
NO_RUN = re.compile(r"python no-run: \S.*")


def name_of(path: Path) -> str:
    """The path of a file, as a test id."""
    return str(path.relative_to(ROOT))


def program_of(text: str) -> str:
    """
    The Python blocks of a document as one program, each on the lines that it has in the document.
    """
    lines = [""] * len(text.splitlines())
    for match in FENCE.finditer(text):
        language, _, rest = match["info"].strip().partition(" ")
        first = text[: match.start("body")].count("\n")
        if FILE.fullmatch(match["info"].strip()) or (language == "console" and rest == "run"):
            lines[first] = statement_of(match)
            continue
        if language != "python":
            continue
        if rest:
            if not NO_RUN.fullmatch(match["info"].strip()):
                raise ValueError(f"a Python block is marked {rest!r}; allowed is 'no-run: reason' or 'file: path'")
            continue
        for place, line in enumerate(match["body"].splitlines(), first):
            lines[place] = line.removeprefix(match["indent"])
    return "\n".join(lines)


def statement_of(match: re.Match[str]) -> str:
    """A block that is a file, or commands, as one line of Python that writes it, or runs them."""
    if file := FILE.fullmatch(match["info"].strip()):
        how = {"file": "w", "append": "a"}[file["how"]]
        arguments = f"{file['path']!r}, {how!r}, {textwrap.dedent(match['body'])!r}"
        return f"import tests.docs.project_files; tests.docs.project_files.write({arguments})"
    commands = [shlex.split(line) for line in match["body"].splitlines()]
    wrong = [" ".join(command) for command in commands if command[:2] != ["$", "python"]]
    if wrong:
        raise ValueError(f"a command that is run begins with '$ python', and is no output; found {wrong}")
    return f"import tests.docs.project_files; tests.docs.project_files.carry_out({[each[2:] for each in commands]!r})"


def run(arguments: list[str], directory: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs Python in an empty directory, without input, warnings being errors."""
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)]), **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def run_program(program: str, name: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program under the name of its document, so that a traceback points into the document."""
    starter = "import sys; exec(compile(sys.argv[1], sys.argv[2], 'exec'), {'__name__': '__main__'})"
    return run(["-c", starter, program, name], directory)


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_python_blocks_of_a_document_run(document: Path, tmp_path: Path) -> None:
    """What a document shows works when it is pasted, block after block."""
    program = program_of(document.read_text(encoding="utf-8"))
    if not program.strip():
        return

    result = run_program(program, name_of(document), tmp_path)

    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=[name_of(path) for path in EXAMPLES])
def test_an_example_runs(example: Path, tmp_path: Path) -> None:
    """An example runs to its end by itself: without input, without a key, without a network."""
    module = ".".join(example.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__")

    result = run(["-m", module], tmp_path)

    assert result.returncode == 0, result.stdout + result.stderr


def test_blocks_of_a_document_share_a_namespace_and_keep_their_lines(tmp_path: Path) -> None:
    """A later block sees what an earlier one defined, and a failure names the line of the document."""
    text = "# T\n\n```python\nx = 1\n```\n\n```console\n$ false\n```\n\n- a\n\n  ```python\n  assert x == 2\n  ```\n"

    result = run_program(program_of(text), "doc.md", tmp_path)

    assert result.returncode == 1
    assert 'File "doc.md", line 14' in result.stderr


def test_a_block_is_left_out_for_a_reason_only() -> None:
    """A block that is not run says why."""
    assert program_of("```python no-run: needs a key\nraise 1\n```\n").strip() == ""
    with pytest.raises(ValueError, match="no-run"):
        program_of("```python no-run\nraise 1\n```\n")
    with pytest.raises(ValueError, match="allowed"):
        program_of("```python skip\nraise 1\n```\n")


def test_a_block_that_is_a_file_is_there_when_the_next_one_runs(tmp_path: Path) -> None:
    """A page that builds a project writes its files, carries out its commands, and goes on with both."""
    text = (
        "```toml file: site/settings.toml\na = 1\n```\n\n```python file: site/made.py\nprint(1)\n```\n\n"
        "```python append: site/made.py\nprint(2)\n```\n\n"
        "```console run\n$ python site/made.py\n```\n\n```python\nprint(open('site/settings.toml').read())\n```\n"
    )

    result = run_program(program_of(text), "doc.md", tmp_path)

    assert (result.returncode, result.stdout) == (0, "1\n2\na = 1\n\n")
    with pytest.raises(ValueError, match="begins with"):
        program_of("```console run\n$ rm -r .\n```\n")
