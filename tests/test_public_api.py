"""
The public surface, name by name, held against tests/public_api.txt.

A difference is either a mistake or a change that users see. In the second case write the text anew,
with ``make api``, and add a fragment to changelog.d.
"""

import ast
import enum
import importlib
import inspect
import pkgutil
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path

SNAPSHOT = Path(__file__).with_name("public_api.txt")
# Packages whose modules are public, and whether the modules below those are public too.
PUBLIC_PACKAGES = {"nr_agent_core.adapters": False, "nr_agent_core.ports": False, "nr_agent_core.testing": True}


def public_modules() -> Iterator[str]:
    """The package itself, and the modules that a host imports from by name."""
    yield "nr_agent_core"
    for package, deep in PUBLIC_PACKAGES.items():
        yield package
        yield from sorted(_below(package, deep=deep))


def _below(package: str, *, deep: bool) -> Iterator[str]:
    path = importlib.import_module(package).__path__
    for module in pkgutil.iter_modules(path, f"{package}."):
        if module.name.rpartition(".")[2].startswith("_"):
            continue
        yield module.name
        if deep and module.ispkg:
            yield from _below(module.name, deep=True)


def exported_names(module: types.ModuleType) -> list[str]:
    """What a module exports: its ``__all__``, or the public names that it defines itself."""
    declared = getattr(module, "__all__", None)
    if declared is not None:
        return sorted(declared)
    names: set[str] = set()
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return sorted(name for name in names if not name.startswith("_"))


def described(name: str, value: object) -> Iterator[str]:
    """One exported name: its signature, and for a class its public members."""
    if inspect.isclass(value):
        yield from _class(name, value)
    elif callable(value) and not isinstance(value, types.GenericAlias):
        yield f"{_colour(value)}{name}{_signature(value)}"
    else:
        yield f"{name} = {_shortened(repr(value))}"


def _class(name: str, cls: type) -> Iterator[str]:
    bases = ", ".join(base.__name__ for base in cls.__bases__ if base is not object)
    yield f"class {name}({bases})" if bases else f"class {name}"
    if issubclass(cls, enum.Enum):
        yield from (f"    {member.name} = {member.value!r}" for member in cls)
    elif "__init__" in vars(cls) and not getattr(cls, "_is_protocol", False):
        yield f"    {_signature(cls)}"
    for member, value in sorted(vars(cls).items()):
        # A contract suite may gain tests: whoever inherits it wants them.
        if member.startswith(("_", "test_")) or (issubclass(cls, enum.Enum) and member in cls.__members__):
            continue
        yield from _member(member, value)


def _member(name: str, value: object) -> Iterator[str]:
    if isinstance(value, staticmethod | classmethod):
        kind = type(value).__name__
        yield f"    {kind} {_colour(value.__func__)}{name}{_signature(value.__func__)}"
    elif isinstance(value, property):
        yield f"    property {name}{_result(value.fget)}"
    elif inspect.isfunction(value):
        yield f"    {_colour(value)}{name}{_signature(value)}"
    elif inspect.isclass(value):
        yield f"    class {name}"


def _signature(value: object) -> str:
    try:
        signature = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return "(...)"
    return _shortened(str(signature))


def _shortened(text: str) -> str:
    # An address in memory is no part of a signature, and names are read more easily without their modules.
    return re.sub(r" at 0x[0-9a-f]+", "", re.sub(r"\b(?:nr_agent_core|collections|typing)\.(?:\w+\.)*(?=\w)", "", text))


def _colour(value: object) -> str:
    return "async " if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value) else ""


def _result(getter: object) -> str:
    text = _signature(getter)
    return text[text.index(" -> ") :] if " -> " in text else ""


def public_api() -> str:
    """The whole surface as text."""
    lines: list[str] = []
    for module_name in public_modules():
        module = importlib.import_module(module_name)
        names = exported_names(module)
        if names:
            lines += ["", f"# {module_name}"]
        for name in names:
            lines += described(name, getattr(module, name))
    return "\n".join(lines[1:]) + "\n"


def test_the_public_api_is_the_one_that_was_written_down() -> None:
    """No name, argument or default changes for users without somebody meaning it."""
    assert public_api() == SNAPSHOT.read_text(encoding="utf-8"), "if this is meant: make api"


def test_a_changed_signature_is_seen() -> None:
    """Names, defaults and keyword-only marks are part of what is compared."""

    class Sample:
        def __init__(self, a: int, *, b: str = "x") -> None:
            """Takes two."""

        @property
        def size(self) -> int:
            """How large."""
            return 1

        @classmethod
        def make(cls) -> "Sample":
            """Makes one."""
            return cls(1)

        async def wait(self, seconds: float = 1.0) -> None:
            """Waits."""

        def _hidden(self) -> None: ...

    assert list(described("Sample", Sample)) == [
        "class Sample",
        "    (a: int, *, b: str = 'x') -> None",
        "    classmethod make(cls) -> 'Sample'",
        "    property size -> int",
        "    async wait(self, seconds: float = 1.0) -> None",
    ]


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        SNAPSHOT.write_text(public_api(), encoding="utf-8")
        print(f"wrote {SNAPSHOT}")
    else:
        print(public_api(), end="")
