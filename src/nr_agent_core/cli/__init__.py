"""
The command line.

``main`` is what the script ``nr-agent-core`` calls. Commands that draw on a terminal need the extra
``cli``; nothing of it is imported before a command asks for it.
"""

from nr_agent_core.cli.program import main

__all__ = ["main"]
