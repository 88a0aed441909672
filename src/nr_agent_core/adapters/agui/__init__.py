"""
The chat for clients that speak AG-UI 1.0: their requests as calls, turns as server-sent events.

It needs no extra and no framework; the tests hold it against the protocol's own models and client.
"""

from nr_agent_core.adapters.agui.encoder import AgUiEncoder
from nr_agent_core.adapters.agui.endpoint import MEDIA_TYPE, AgUiEndpoint, AsyncAgUiEndpoint
from nr_agent_core.adapters.agui.interrupts import Answer
from nr_agent_core.adapters.agui.requests import AgUiRequest, decoded

__all__ = ["MEDIA_TYPE", "AgUiEncoder", "AgUiEndpoint", "AgUiRequest", "Answer", "AsyncAgUiEndpoint", "decoded"]
