"""
A store in one SQLite file, for one machine: any number of processes and threads may share it.
"""

from nr_agent_core.adapters.sqlite.file_system import NetworkFileSystemWarning
from nr_agent_core.adapters.sqlite.store import SqliteStore

__all__ = ["NetworkFileSystemWarning", "SqliteStore"]
