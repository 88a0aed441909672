"""
Stored forms: what a store keeps of events, notices and changes, and how it is read again.

:mod:`.forms` makes JSON of events and notices and reads it strictly; :mod:`.columns` makes the
columns of one change, :mod:`.rows` the rows beside it. :mod:`.sealing` encrypts; :mod:`.rotation`
changes the key, and is imported by whoever does. :mod:`.window` keeps what was read of a conversation.
Every store uses them, so that what is stored does not depend on where.
"""

from nr_agent_core.codec.columns import (
    AddColumns,
    AppendColumns,
    ChangeColumns,
    LetGoColumns,
    MessageColumns,
    columns_of,
    read_run_row,
    with_redaction,
)
from nr_agent_core.codec.forms import (
    dump,
    dump_notices,
    escape_nul,
    load,
    load_notices,
    member,
    require_storable,
    restore_nul,
)
from nr_agent_core.codec.rows import (
    last_kinds,
    read_message,
    read_stream,
    read_write,
    state_at,
    write_columns,
)
from nr_agent_core.codec.sealing import SEALED, Sealing
from nr_agent_core.codec.window import END, Window, Windows, WindowSource

__all__ = [
    "END",
    "SEALED",
    "AddColumns",
    "AppendColumns",
    "ChangeColumns",
    "LetGoColumns",
    "MessageColumns",
    "Sealing",
    "Window",
    "WindowSource",
    "Windows",
    "columns_of",
    "dump",
    "dump_notices",
    "escape_nul",
    "last_kinds",
    "load",
    "load_notices",
    "member",
    "read_message",
    "read_run_row",
    "read_stream",
    "read_write",
    "require_storable",
    "restore_nul",
    "state_at",
    "with_redaction",
    "write_columns",
]
