"""
Rules of this run's own.
"""

import gc

import pytest

from nr_agent_core.domain.claims import ClaimDetector, claim_detector


@pytest.fixture(autouse=True, scope="session")
def _rules_of_this_run() -> None:
    """
    Nothing that another run in the same process compiled is read: a change of the compiling is seen by every test.

    Rules are kept per process, and detectors that modules of tests hold keep theirs. Where tests run again after a
    change, in a process or a fork of it, both would answer as before.
    """
    claim_detector._compiled.cache_clear()
    for held in gc.get_objects():
        if type(held) is ClaimDetector:
            held._rule = None
