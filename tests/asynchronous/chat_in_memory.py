"""
The parts of a chat over a store in memory, and models that can only be asked from an event loop.
"""

import asyncio
from typing import Any

from nr_agent_core import ModelAnswer
from nr_agent_core.adapters.memory import MemoryStore
from nr_agent_core.testing import ManualClock, ScriptedModel
from tests.asynchronous.desk import Desk


class InALoopModel:
    """
    Another model's answers, awaited.
    """

    context_window = output_limit = None

    def __init__(self, model: ScriptedModel) -> None:
        self._model = model

    async def complete_async(self, request: Any) -> ModelAnswer:
        """As the model says, a moment later."""
        await asyncio.sleep(0)
        return self._model.complete(request)


class InALoopOnly(InALoopModel):
    """
    A model that can only be asked from an event loop.
    """

    def __init__(self, *answers: Any) -> None:
        super().__init__(ScriptedModel(*answers))


def parts(*answers: Any, **more: Any) -> dict[str, Any]:
    """The parts of a chat over a store in memory."""
    return {**Desk(MemoryStore(ManualClock()), answers).parts(), **more}
