"""
Models of Anthropic and of servers that speak its protocol. Needs the extra ``anthropic``.
"""

try:
    from nr_agent_core.adapters.anthropic.model import AnthropicModel
except ModuleNotFoundError as missing:
    if missing.name not in {"anthropic", "httpx2"}:
        raise
    raise ModuleNotFoundError(
        f"models of Anthropic need {missing.name!r}: install nr-agent-core[anthropic]", name=missing.name
    ) from missing

__all__ = ["AnthropicModel"]
