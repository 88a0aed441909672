"""
The pages of the reference that are made from docstrings: which name stands on which page.

Needs no Sphinx, so that the tests can compare it with the snapshot of the public API.
"""

import ast
import importlib
import inspect
import re
import sys
import types
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.test_public_api import exported_names, public_modules

# Pages by the beginning of the modules on them; the first that fits.
PAGES = {
    "testing": ("The test kit", "nr_agent_core.testing"),
    "adapters": ("Adapters", "nr_agent_core.adapters"),
    "ports": ("Ports", "nr_agent_core.ports"),
    "package": ("The package", "nr_agent_core"),
}
ORDER = ("package", "adapters", "ports", "testing")
SNAPSHOT = Path(__file__).resolve().parents[2] / "tests" / "public_api.txt"
# A line of the snapshot: what it describes, and what stands before and behind the name.
DESCRIBED = re.compile(r"(?P<member>    )?(?:class |async |classmethod |staticmethod |property )*(?P<name>[A-Za-z]\w*)")


def page_of(module: str) -> str:
    """The page that a module stands on."""
    return next(page for page, (_, beginning) in PAGES.items() if f"{module}.".startswith(f"{beginning}."))


def documented() -> Iterator[tuple[str, list[str], dict[str, str]]]:
    """
    Each public module with the names that are described with it, and those described elsewhere.

    A thing that several modules export is described with the first; the others lead there.
    """
    homes: dict[tuple[str, int], str] = {}
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        own: list[str] = []
        elsewhere: dict[str, str] = {}
        for name in exported_names(module):
            home = homes.setdefault((name, id(getattr(module, name))), module_name)
            if home == module_name:
                own.append(name)
            else:
                elsewhere[name] = home
        yield module_name, own, elsewhere


def snapshot() -> Iterator[tuple[str, str, str | None]]:
    """Every public name as the snapshot has it: module, name, and member of that name or None."""
    module, name = "", ""
    for line in SNAPSHOT.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            module = line.removeprefix("# ")
        elif match := DESCRIBED.match(line):
            name = name if match["member"] else match["name"]
            yield module, name, match["name"] if match["member"] else None


def described_at() -> dict[tuple[str, str, str | None], str]:
    """Under which full name each public name of the snapshot is described."""
    homes = {
        (module, name): home
        for module, own, elsewhere in documented()
        for name, home in {**dict.fromkeys(own, module), **elsewhere}.items()
    }
    return {
        (module, name, member): ".".join(filter(None, (homes.get((module, name), "nowhere"), name, member)))
        for module, name, member in snapshot()
    }


def made_present() -> None:
    """Loads what the package loads on first use: autodoc sees only what is there."""
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        for name in exported_names(module):
            vars(module).setdefault(name, getattr(module, name))


def pages() -> dict[str, str]:
    """Every page, as reStructuredText."""
    parts: dict[str, list[str]] = {page: [_heading(PAGES[page][0], "=")] for page in ORDER}
    for module, own, elsewhere in documented():
        if own or elsewhere:
            parts[page_of(module)].append(_module(module, own, elsewhere))
    index = [_heading("From docstrings", "="), _INTRODUCTION, ".. toctree::\n", *(f"   {page}" for page in ORDER), ""]
    return {"index": "\n".join(index), **{page: "\n".join(found) for page, found in parts.items()}}


_DECISIONS = """\
Decisions
=========

Why things are as they are. A record is not edited once it is accepted; a later one supersedes it.

.. toctree::
   :glob:
   :titlesonly:

   ../decisions/*
"""
_INTRODUCTION = (
    "What the docstrings of the public names say. The names by subject, each with one sentence, are in\n"
    ":doc:`/docs/reference/public-api`.\n"
)


def _module(module: str, own: list[str], elsewhere: dict[str, str]) -> str:
    values = [name for name in own if not _has_docstring(getattr(importlib.import_module(module), name))]
    described = [name for name in own if name not in values]
    lines = [_heading(module, "-"), f".. automodule:: {module}"]
    if described:
        lines.append(f"   :members: {', '.join(described)}")
    lines.append("")
    for name in values:
        lines += [
            f".. py:data:: {name}",
            f"   :module: {module}",
            "",
            *(f"   {line}" for line in _sentences(module, name)),
            "",
        ]
    if elsewhere:
        lines.append("Also found here:\n")
        lines += [f"- :py:obj:`{module}.{name} <{home}.{name}>`" for name, home in elsewhere.items()]
        lines.append("")
    return "\n".join(lines)


def _sentences(module: str, name: str) -> list[str]:
    """What stands below the assignment of a value, in whichever module of the package it is assigned."""
    for home in (module, *sorted(each for each in sys.modules if each.startswith(f"{module}."))):
        lines = ast.parse(inspect.getsource(sys.modules[home])).body
        for assigned, below in pairwise(lines):
            match assigned, below:
                case (
                    ast.Assign(targets=[ast.Name(id=found)]) | ast.AnnAssign(target=ast.Name(id=found)),
                    ast.Expr(value=ast.Constant(value=str(told))),
                ) if found == name:
                    return inspect.cleandoc(told).splitlines()
    value = getattr(sys.modules[module], name)
    if callable(value) and value.__doc__:
        return inspect.cleandoc(value.__doc__).splitlines()
    raise LookupError(f"nothing is said of {module}.{name}")


def _has_docstring(value: object) -> bool:
    return isinstance(value, type | types.FunctionType)


def _heading(text: str, line: str) -> str:
    return f"{text}\n{line * len(text)}\n"


def write(folder: Path) -> None:
    """Writes the pages that changed; others keep their time, so that they are not read again."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {**pages(), "decisions": _DECISIONS}.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
