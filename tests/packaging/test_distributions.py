"""
What is built is whole, and works where there is no checkout. Run by `make package`.
"""

import re
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.packaging.environments import ROOT, Environment

pytestmark = pytest.mark.packaging

SOURCE = ROOT / "src"


def test_the_wheel_holds_every_file_of_the_package_and_no_other(distributions):
    """Modules, the marker for type checkers, catalogues and word lists."""
    with zipfile.ZipFile(distributions[1]) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = {path for path in (SOURCE / "nr_agent_core").rglob("*") if path.is_file()}
    expected = {str(path.relative_to(SOURCE)) for path in files if "__pycache__" not in path.parts}

    assert held == expected
    assert "nr_agent_core/py.typed" in held
    assert {f"nr_agent_core/domain/texts/{tag}.toml" for tag in ("de", "en", "fr", "pl")} <= held


def test_the_sdist_holds_what_a_build_and_a_reader_need(distributions):
    """Sources, tests, documents, licence, and how to report a weakness."""
    with tarfile.open(distributions[0]) as sdist:
        held = {name.partition("/")[2] for name in sdist.getnames()}

    needed = {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "SECURITY.md",
        "CONTRIBUTING.md",
        "RELEASING.md",
    }
    assert needed | {"Makefile", "constraints.txt", ".ci/make-venv", "src/nr_agent_core/py.typed"} <= held
    assert any(name.startswith("tests/unit/") for name in held)


def test_the_metadata_says_what_the_project_says(distributions):
    """Licence, interpreters and extras reach whoever installs; there is no address that nobody keeps."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(distributions[1]) as wheel:
        (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(wheel.read(name).decode())
        licences = [name for name in wheel.namelist() if name.endswith("/LICENSE")]

    assert (metadata["License-Expression"], metadata["Requires-Python"]) == ("MIT", ">=3.11")
    assert licences
    assert set(metadata.get_all("Provides-Extra")) == set(project["optional-dependencies"])
    assert {"Typing :: Typed", "Programming Language :: Python :: 3.11"} <= set(metadata.get_all("Classifier"))
    assert not {"Home-page", "Project-URL", "Download-URL"} & set(metadata.keys())


def test_a_chat_is_embedded_where_there_is_no_checkout(bare: Environment):
    """The program of the README, from the wheel alone: a card, an approval, an answer."""
    program, *_ = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    told = bare.run(f"{program}\nimport nr_agent_core\nprint(nr_agent_core.__file__)")

    assert told.returncode == 0, told.stderr
    answer, where = told.stdout.splitlines()
    assert answer == "The draft is saved as pages:42."
    assert Path(where).is_relative_to(bare.folder)


def test_the_data_is_found_where_there_is_no_checkout(bare: Environment):
    """Texts, claims and phrases of every language are read from the wheel."""
    program = """
from nr_agent_core import ClaimDetector, ContinuePhraseRouter
from nr_agent_core.domain.texts import SHIPPED_LANGUAGES, reply_sentence
print(len({reply_sentence("runCancelled", tag) for tag in SHIPPED_LANGUAGES}) == len(SHIPPED_LANGUAGES))
print(ClaimDetector().claims_change("La página se ha guardado."), ContinuePhraseRouter().phrase_kind("weiter").value)
"""
    told = bare.run(program)

    assert (told.stdout.split(), told.stderr) == (["True", "True", "go_on"], "")


def test_the_command_is_installed(bare: Environment):
    """The command runs without an extra, and says what it can do."""
    told = bare.command("--help")

    assert told.returncode == 0
    assert "audit" in told.stdout
