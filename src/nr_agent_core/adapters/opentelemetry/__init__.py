"""
Spans of questions to models, by OpenTelemetry. Needs the extra ``otel``.
"""

try:
    from nr_agent_core.adapters.opentelemetry.traced_model import TracedModel
except ModuleNotFoundError as missing:
    if missing.name is None or missing.name.partition(".")[0] != "opentelemetry":
        raise
    raise ModuleNotFoundError(
        f"a TracedModel needs {missing.name!r}: install nr-agent-core[otel]", name=missing.name
    ) from missing

__all__ = ["TracedModel"]
