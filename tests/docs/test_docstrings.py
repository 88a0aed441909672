"""Examples in docstrings are executed."""

import doctest
import importlib
import pkgutil
from types import ModuleType

import pytest

import nr_agent_core

NAMES = [
    module.name
    for module in pkgutil.walk_packages(nr_agent_core.__path__, "nr_agent_core.")
    if not module.name.endswith("__main__")
]


def examples_of(module: ModuleType) -> list[doctest.DocTest]:
    """The docstrings of *module* that hold examples."""
    return [found for found in doctest.DocTestFinder().find(module) if found.examples]


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_module_hold(name: str) -> None:
    """What a docstring shows is what happens."""
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for found in examples_of(importlib.import_module(name)):
        runner.run(found)

    assert runner.summarize(verbose=False).failed == 0


def test_there_are_examples() -> None:
    """A search that finds none would prove nothing."""
    assert sum(len(examples_of(importlib.import_module(name))) for name in NAMES) >= 10
