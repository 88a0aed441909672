"""
Sentences for readers: catalogues as data, and their pure rendering per request (P2, V10, V11, F2).

What is stored is codes and arguments. The words for one reader are made here, from the catalogue
of the reader's language or the host's translator. The words of a card are in
:mod:`nr_agent_core.domain.texts.cards`.
"""

from nr_agent_core.domain.texts.catalogues import (
    FALLBACK_LANGUAGE,
    SHIPPED_LANGUAGES,
    Catalogues,
    unreviewed_languages,
)
from nr_agent_core.domain.texts.moments import moment
from nr_agent_core.domain.texts.rendering import render
from nr_agent_core.domain.texts.sentences import (
    denial_sentence,
    failure_sentence,
    notice_label,
    reply_sentence,
    request_sentence,
    status_label,
)

__all__ = [
    "FALLBACK_LANGUAGE",
    "SHIPPED_LANGUAGES",
    "Catalogues",
    "denial_sentence",
    "failure_sentence",
    "moment",
    "notice_label",
    "render",
    "reply_sentence",
    "request_sentence",
    "status_label",
    "unreviewed_languages",
]
