"""
Whether the example in Wagtail is tested at all.
"""

import pytest


def test_wagtail_is_there() -> None:
    """Where Wagtail is not installed, nothing of the example is tested, and that is said."""
    pytest.importorskip("wagtail", reason="the example in Wagtail is not tested: run `make wagtail-test`")
