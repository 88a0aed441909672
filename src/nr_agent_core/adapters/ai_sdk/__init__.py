"""
Turns as the UI message stream of the AI SDK, for front ends built with it.

It needs no extra; the tests hold it against the SDK's own schema and reader.
"""

from nr_agent_core.adapters.ai_sdk.encoder import HEADERS, AiSdkEncoder

__all__ = ["HEADERS", "AiSdkEncoder"]
