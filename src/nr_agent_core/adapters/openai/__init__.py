"""
Models of OpenAI and of servers that speak its protocol. Needs the extra ``openai``.
"""

try:
    from nr_agent_core.adapters.openai.model import OpenAIModel
except ModuleNotFoundError as missing:
    if missing.name not in {"openai", "httpx2"}:
        raise
    raise ModuleNotFoundError(
        f"models of OpenAI need {missing.name!r}: install nr-agent-core[openai]", name=missing.name
    ) from missing

__all__ = ["OpenAIModel"]
