"""
Hypothesis profiles, chosen by HYPOTHESIS_PROFILE (CI=true chooses `ci`), and the server for all tests.
"""

import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from hypothesis import HealthCheck, settings

from tests.postgres_server import NoServerError, Server

# Tests in a browser need the extra `e2e`; `make e2e` brings it.
collect_ignore = [] if find_spec("playwright") else ["e2e"]

# No deadline: a shared machine may stall any single example. Time is bounded by the whole run.
_COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}

settings.register_profile("quick", max_examples=10, derandomize=True, **_COMMON)
settings.register_profile("dev", max_examples=50, **_COMMON)
settings.register_profile("ci", max_examples=25, derandomize=True, print_blob=True, **_COMMON)
settings.register_profile("long", max_examples=1000, print_blob=True, **_COMMON)

settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") == "true" else "dev"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A private PostgreSQL server for all tests of this process; skipped, with the reason, where none can start."""
    try:
        server = Server()
    except NoServerError as reason:
        pytest.skip(f"PostgreSQL is not tested: {reason}")
    yield server
    server.end()
