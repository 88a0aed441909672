"""
Stored forms: what a store keeps of events, notices and changes, and how it is read again.

:mod:`.forms` makes JSON of events and notices and reads it strictly; :mod:`.columns` makes the
columns of one change. Every store uses both, so that what is stored does not depend on where.
"""

from nr_agent_core.codec.columns import (
    AddColumns,
    AppendColumns,
    ChangeColumns,
    LetGoColumns,
    MessageColumns,
    columns_of,
    read_run_row,
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

__all__ = [
    "AddColumns",
    "AppendColumns",
    "ChangeColumns",
    "LetGoColumns",
    "MessageColumns",
    "columns_of",
    "dump",
    "dump_notices",
    "escape_nul",
    "load",
    "load_notices",
    "member",
    "read_run_row",
    "require_storable",
    "restore_nul",
]
