"""
The shape of the package: who may import whom, how large a file may grow, what an import costs.

Each import contract is also seen to fail: a violation is planted in a copy of the package.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "nr_agent_core"
MODULES = sorted(PACKAGE.rglob("*.py"))
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = [contract["id"] for contract in CONFIG["tool"]["importlinter"]["contracts"]]

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
EMPTY_NAMES = {"utils", "util", "helpers", "helper", "manager", "managers", "base", "common", "misc"}


def name_of(path: Path) -> str:
    """The path of a module below the package, as a test id."""
    return str(path.relative_to(PACKAGE))


def tree_of(path: Path) -> ast.Module:
    """The parsed module."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


# ------------------------------------------------------------------------------ import contracts


def lint_imports(directory: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Checks the contracts of `directory`/pyproject.toml on the package in `directory`/src."""
    return subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()", "--no-cache", *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(directory / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_all_import_contracts_are_kept() -> None:
    """The dependency rule holds in the package as it is."""
    result = lint_imports(ROOT)

    assert result.returncode == 0, result.stdout.partition("Broken contracts")[2] + result.stderr
    assert f"{len(CONTRACTS)} kept, 0 broken" in result.stdout


def test_the_dependency_rule_is_the_one_that_was_decided() -> None:
    """The layers stand in the decided order, exhaustively, so that a new module must be placed."""
    layers = next(c for c in CONFIG["tool"]["importlinter"]["contracts"] if c["id"] == "layers")

    assert [layer.replace("(", "").replace(")", "") for layer in layers["layers"]] == [
        "testing",
        "cli",
        "adapters | chat | async_chat",
        "runtime",
        "driver",
        "steps",
        "codec",
        "defaults",
        "ports",
        "domain",
    ]
    assert layers["exhaustive"] is True


# Contract, the planted files with their text, and what the report must name.
VIOLATIONS = [
    pytest.param("layers", {"domain/planted.py": "import nr_agent_core.ports"}, "nr_agent_core.ports", id="upwards"),
    pytest.param("layers", {"ports/planted.py": "import nr_agent_core.defaults"}, "nr_agent_core.defaults", id="port"),
    pytest.param("layers", {"planted.py": ""}, "nr_agent_core.planted", id="unplaced module"),
    pytest.param(
        "layers",
        {"chat.py": "import nr_agent_core.adapters"},
        "nr_agent_core.adapters",
        id="chat knows an adapter",
    ),
    pytest.param("pure", {"domain/planted.py": "import time"}, "time", id="clock in the domain"),
    pytest.param("pure", {"ports/planted.py": "from uuid import uuid4"}, "uuid", id="chance in a port"),
    pytest.param("pure", {"domain/planted.py": "import importlib.resources"}, "importlib", id="files in the domain"),
    pytest.param(
        "pure",
        {"domain/planted.py": "def later():\n    import sqlite3\n    return sqlite3"},
        "sqlite3",
        id="hidden in a function",
    ),
    pytest.param("test-tools", {"adapters/planted.py": "import pytest"}, "pytest", id="pytest outside the kit"),
    pytest.param("test-tools", {"domain/planted.py": "import hypothesis"}, "hypothesis", id="hypothesis too"),
    pytest.param(
        "adapters",
        {"adapters/planted_a.py": "import nr_agent_core.adapters.planted_b", "adapters/planted_b.py": ""},
        "nr_agent_core.adapters.planted_b",
        id="adapter knows another",
    ),
    pytest.param(
        "acyclic",
        {
            "domain/planted_a.py": "import nr_agent_core.domain.planted_b",
            "domain/planted_b.py": "import nr_agent_core.domain.planted_a",
        },
        "planted_",
        id="cycle",
    ),
]


def test_a_violation_is_planted_for_every_contract() -> None:
    """No contract is believed that was not seen to fail."""
    assert {violation.values[0] for violation in VIOLATIONS} == set(CONTRACTS)


@pytest.mark.parametrize(("contract", "files", "named"), VIOLATIONS)
def test_a_planted_violation_breaks_its_contract(
    contract: str, files: dict[str, str], named: str, tmp_path: Path
) -> None:
    """Each contract notices what it forbids, and says which module did it."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "nr_agent_core", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, text in files.items():
        (tmp_path / "src" / "nr_agent_core" / name).write_text(f'"""Planted."""\n{text}\n', encoding="utf-8")

    result = lint_imports(tmp_path, "--contract", contract)

    assert result.returncode == 1, result.stdout + result.stderr
    assert "1 broken" in result.stdout
    assert named in result.stdout


# The import contracts see modules. These names reach outside without any import, or through one
# that is pure otherwise.
REACHING_OUT = {"open", "input", "print", "breakpoint", "exec", "eval", "__import__"}
CLOCKS = {"now", "utcnow", "today", "fromtimestamp"}
SURROUNDINGS = {"argv", "exit", "path", "stderr", "stdin", "stdout"}


def reaching_out(tree: ast.Module) -> Iterator[str]:
    """Calls that leave the process or read a clock although nothing forbidden is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in SURROUNDINGS and ast.unparse(node.value) == "sys":
            yield f"line {node.lineno}: sys.{node.attr}"
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in REACHING_OUT:
            yield f"line {node.lineno}: {called.id}()"
        elif isinstance(called, ast.Attribute) and called.attr in CLOCKS:
            owner = ast.unparse(called.value)
            if owner in {"datetime", "date", "datetime.datetime", "datetime.date"}:
                yield f"line {node.lineno}: {owner}.{called.attr}()"


@pytest.mark.parametrize("path", [p for p in MODULES if name_of(p).startswith(("domain/", "ports/"))], ids=name_of)
def test_domain_and_ports_reach_nothing_outside(path: Path) -> None:
    """The domain is pure in its calls too: no file, no output, no clock."""
    assert list(reaching_out(tree_of(path))) == []


def test_a_planted_call_is_noticed() -> None:
    """The search for calls that reach out finds them."""
    tree = ast.parse("open('x')\ndatetime.now()\ndatetime.datetime.now()\nclock.now()\nself.open()\nsys.argv[0]")

    assert list(reaching_out(tree)) == [
        "line 1: open()",
        "line 2: datetime.now()",
        "line 3: datetime.datetime.now()",
        "line 6: sys.argv",
    ]


# ------------------------------------------------------------------------------ size and wording


def too_large(path: Path) -> Iterator[str]:
    """A file or a function that has grown beyond what one reads at once."""
    lines = len(path.read_text(encoding="utf-8").splitlines())
    if lines > LONGEST_FILE:
        yield f"{lines} lines; at most {LONGEST_FILE}"
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None:
            # Docstrings promise; they do not count as body.
            docstring = ast.get_docstring(node, clean=False)
            length = node.end_lineno - node.lineno + 1 - (len(docstring.splitlines()) if docstring else 0)
            if length > LONGEST_FUNCTION:
                yield f"{node.name}() has {length} lines; at most {LONGEST_FUNCTION}"


def undocumented(tree: ast.Module) -> Iterator[str]:
    """The module, and public classes and functions in it, that have no docstring."""
    if not ast.get_docstring(tree):
        yield "the module"
    yield from _undocumented_below(tree, "")


def _undocumented_below(node: ast.AST, prefix: str) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if child.name.startswith("_") or _is_overload(child):
            continue
        if not ast.get_docstring(child):
            yield prefix + child.name
        if isinstance(child, ast.ClassDef):
            yield from _undocumented_below(child, f"{prefix}{child.name}.")


def _is_overload(node: ast.AST) -> bool:
    return any(ast.unparse(decorator).endswith("overload") for decorator in getattr(node, "decorator_list", []))


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_files_and_functions_stay_small(path: Path) -> None:
    """A file has at most 400 lines and a function at most 60."""
    assert list(too_large(path)) == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_everything_public_is_documented(path: Path) -> None:
    """Every module and every public name has a docstring."""
    assert list(undocumented(tree_of(path))) == []


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_named_after_what_it_holds(path: Path) -> None:
    """No module has a name that says nothing."""
    parts = {part.strip("_") for part in path.relative_to(PACKAGE).with_suffix("").parts}

    assert not parts & EMPTY_NAMES


def test_planted_faults_of_size_and_wording_are_noticed(tmp_path: Path) -> None:
    """The searches above find what they search for."""
    long = tmp_path / "long.py"
    long.write_text("def f():\n" + "    x = 1\n" * LONGEST_FILE, encoding="utf-8")

    assert [fault.split(";")[0] for fault in too_large(long)] == ["401 lines", "f() has 401 lines"]
    assert list(undocumented(ast.parse("class A:\n  def b(self): ...\n  def _c(self): ..."))) == [
        "the module",
        "A",
        "A.b",
    ]


# -------------------------------------------------------------------------------- cost of import


def loaded_by(statement: str) -> set[str]:
    """The modules that a fresh interpreter holds after `statement`, beyond those it starts with."""
    program = f"import sys\nbefore = set(sys.modules)\n{statement}\nprint(*sorted(set(sys.modules) - before))"
    result = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})\n{program}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(result.stdout.split())


NOT_AT_IMPORT = {"asyncio", "rich", "importlib.resources", "cattrs", "blinker", "pytest", "hypothesis"}
NOT_AT_IMPORT |= {"anthropic", "httpx2", "openai", "opentelemetry", "stamina"}


@pytest.mark.parametrize(
    "module",
    [
        "nr_agent_core",
        "nr_agent_core.adapters.sqlite",
        "nr_agent_core.chat",
        "nr_agent_core.runtime",
    ],
)
def test_an_import_loads_nothing_heavy(module: str) -> None:
    """
    What a host imports at start-up brings no event loop, no converter and no terminal library.

    A module that does not exist must not exist as a file either: nothing is skipped in silence.
    """
    path = PACKAGE.parent / Path(*module.split("."))
    if not (path.is_dir() or path.with_suffix(".py").is_file()):
        with pytest.raises(subprocess.CalledProcessError):
            loaded_by(f"import {module}")
        return

    loaded = loaded_by(f"import {module}")

    assert module in loaded
    assert loaded & NOT_AT_IMPORT == set()


def test_what_an_import_loads_is_seen() -> None:
    """The look into a fresh interpreter sees what was imported there."""
    assert "asyncio" in loaded_by("import asyncio")


# ------------------------------------------------------------------------------------ the wheel


def test_the_wheel_holds_modules_data_files_and_the_typing_mark(tmp_path: Path) -> None:
    """What is installed elsewhere is the whole package: code, data beside the code, py.typed."""
    shutil.copytree(PACKAGE, tmp_path / "src" / "nr_agent_core", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=120,
    )

    (wheel,) = (tmp_path / "dist").glob("*.whl")
    shutil.unpack_archive(wheel, tmp_path / "unpacked", "zip")
    shipped = {
        str(path.relative_to(tmp_path / "unpacked"))
        for path in (tmp_path / "unpacked" / "nr_agent_core").rglob("*")
        if path.is_file()
    }
    expected = {
        str(path.relative_to(PACKAGE.parent))
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert shipped == expected
    assert "nr_agent_core/py.typed" in shipped


# --------------------------------------------------------------------------------- the frame


def test_the_interpreters_that_are_claimed_are_the_ones_that_are_tested() -> None:
    """Classifiers, the Makefile's list and the lower bound name the same versions of Python."""
    classifiers = [c.rpartition(" ")[2] for c in CONFIG["project"]["classifiers"] if ":: Python :: 3." in c]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    assert f"SUPPORTED := {' '.join(classifiers)}\n" in makefile
    assert CONFIG["project"]["requires-python"] == f">={classifiers[0]}"


def test_the_core_depends_on_four_libraries() -> None:
    """Everything else stands behind an extra."""
    names = [re.split(r"[><=~! ]", requirement)[0] for requirement in CONFIG["project"]["dependencies"]]

    assert names == ["attrs", "blinker", "cattrs", "regex"]


def test_constraints_name_versions_and_no_address() -> None:
    """The pinned set can be installed from any index."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()

    assert len(lines) > 20
    assert [line for line in lines if not re.fullmatch(r"[a-z0-9._-]+==[a-z0-9.]+( ; .*)?", line)] == []
