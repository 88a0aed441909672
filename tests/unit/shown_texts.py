"""
Records, calls and notes of cards, as the tests of sentences for readers share them.
"""

import pytest

from nr_agent_core.domain.approvals import CallCard
from nr_agent_core.domain.texts import (
    SHIPPED_LANGUAGES,
)
from nr_agent_core.domain.texts.cards import card_notes
from nr_agent_core.domain.tool_result import ToolEffect

RECORDS = [{"reference": "pages:42", "kind": "created"}, {"reference": "news:a-7", "kind": "deleted"}]
LANGUAGES = pytest.mark.parametrize("language", SHIPPED_LANGUAGES)


def call(tool="create_page", **more):
    """A waiting call as a card has it."""
    return CallCard("1.0", tool, ToolEffect.NON_IDEMPOTENT_WRITE, True, **more)


def notes(*calls, language="en", translator=None, **more):
    """The notes of a card that was asked for two hours ago."""
    given = {"asked_at": 0.0, "expires_at": None, "can_approve": True, "now": 7200.0} | more
    return card_notes(calls, language=language, translator=translator, **given)
