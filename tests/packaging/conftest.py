"""
The distributions of this checkout, built once, and a clean environment with the wheel alone.
"""

from pathlib import Path

import pytest

from tests.packaging.environments import Environment, built


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist and the wheel."""
    return built(tmp_path_factory.mktemp("distributions"))


@pytest.fixture(scope="session")
def bare(distributions: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel without any extra."""
    return Environment(tmp_path_factory.mktemp("bare"), str(distributions[1]))
