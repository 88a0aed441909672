"""
A queue in the store's PostgreSQL database, on the engine procrastinate. Needs the extra ``engine``.
"""

try:
    from nr_agent_core.adapters.procrastinate.queue import ProcrastinateRunQueue
except ModuleNotFoundError as missing:
    if missing.name is None or missing.name.partition(".")[0] not in {"procrastinate", "psycopg", "psycopg_pool"}:
        raise
    raise ModuleNotFoundError(
        f"the queue needs {missing.name!r}: install nr-agent-core[engine]", name=missing.name
    ) from missing

__all__ = ["ProcrastinateRunQueue"]
