"""
Conversations and their messages, read.
"""

import logging
import sqlite3
from typing import Any

from nr_agent_core import codec
from nr_agent_core.adapters.sqlite.reading import MESSAGE_COLUMNS, bounded, rows_of
from nr_agent_core.adapters.sqlite.runs import RUN_COLUMNS
from nr_agent_core.domain.conversation import Message
from nr_agent_core.domain.errors import StoredFormError
from nr_agent_core.ports.conversation_store import ConversationRow
from nr_agent_core.ports.run_store import RunRow

_ROW = f"""
    SELECT c.owner, c.created_at,
        (SELECT position FROM message WHERE conversation = c.id ORDER BY position DESC LIMIT 1),
        (SELECT position FROM message WHERE conversation = c.id AND role = 'user' ORDER BY position DESC LIMIT 1),
        {RUN_COLUMNS}
    FROM conversation AS c
    LEFT JOIN run ON run.number = (SELECT number FROM run WHERE conversation = c.id ORDER BY number DESC LIMIT 1)
    WHERE c.id = ?
"""
_PAGE = f"""
    SELECT {MESSAGE_COLUMNS} FROM message WHERE conversation = ? AND position < ? ORDER BY position DESC LIMIT ?
"""

_logger = logging.getLogger(__name__)


def conversation_row(db: sqlite3.Connection, conversation: str) -> ConversationRow | None:
    """The conversation with its last run, or None when there is none."""
    found = rows_of(db, _ROW, conversation)
    if not found:
        return None
    owner, created_at, last, last_user, *run = found[0]
    last_run = None if run[0] is None else _last_run(run)
    return ConversationRow(
        conversation,
        owner,
        created_at,
        last_run,
        -1 if last is None else last,
        -1 if last_user is None else last_user,
        run[0] if last_run is None else None,
    )


def _last_run(columns: list[Any]) -> RunRow | None:
    try:
        return codec.read_run_row(columns)
    except StoredFormError as error:
        _logger.warning("the last run of a conversation cannot be read: %s", error)
        return None


def messages(
    db: sqlite3.Connection, sealing: codec.Sealing, conversation: str, before: int | None, limit: int
) -> tuple[Message, ...]:
    """The newest *limit* messages below position *before* (None: from the end), oldest first."""
    below = bounded(2**63 if before is None else before)
    rows = rows_of(db, _PAGE, conversation, below, bounded(max(limit, 0)))
    return tuple([codec.read_message(row) for row in sealing.messages(conversation, reversed(rows))])
