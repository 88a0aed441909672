"""
Imported before processes are forked: what a first turn loads is loaded then, and each life begins at once.
"""

from nr_agent_core import Chat, Reader, RoleAccess
from nr_agent_core.adapters.sqlite import SqliteStore
from nr_agent_core.testing import ScriptedModel
from tests.chaos import workers
from tests.chaos.toolbox import CLAIM

__all__ = ["workers"]

_chat = Chat(store=SqliteStore(":memory:"), model=ScriptedModel(CLAIM), access=RoleAccess(owner_decides=True))
_chat.view(_chat.send("Hello.", Reader("anna")).conversation, Reader("anna"))
_chat.close()


def nothing() -> None:
    """A process that only sees to it that the others can be forked."""
