"""
What can go wrong between a write and its record, on purpose and once: the settings say what.
"""

import os
import signal

import attrs

from examples.web_chat.house import SettingsFile
from nr_agent_core import Tool, ToolContext
from nr_agent_core.domain.tools import Arguments


def with_mishaps(tool: Tool, settings: SettingsFile, *, deadline: float) -> Tool:
    """
    *tool* with this *deadline*, and with what is set as a mishap right behind its next write, once.

    ``lost``: its answer is lost, as when a connection breaks. ``killed``: this process dies.
    """
    if not tool.effect.writes:
        return attrs.evolve(tool, deadline=deadline)

    def execute(arguments: Arguments, context: ToolContext) -> object:
        result = tool.execute(arguments, context)
        mishap = settings.now().mishap
        if mishap == "none":
            return result
        settings.change(mishap="none")
        if mishap == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        raise ConnectionResetError("the connection broke behind the write")

    return attrs.evolve(tool, execute=execute, deadline=deadline)
