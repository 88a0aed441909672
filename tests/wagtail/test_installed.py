"""
Whether the example in Wagtail is tested at all.
"""

import pytest


def test_wagtail_is_there() -> None:
    """Where Wagtail is not installed, nothing of the example is tested, and that is said."""
    wagtail = pytest.importorskip("wagtail", reason="the example in Wagtail is not tested: run `make wagtail-test`")
    assert wagtail.VERSION[0] == 8, "the example is made for Wagtail 8"
