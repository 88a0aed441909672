"""
A store in memory: the reference that every other store is compared with.
"""

from nr_agent_core.adapters.memory.store import MemoryStore

__all__ = ["MemoryStore"]
