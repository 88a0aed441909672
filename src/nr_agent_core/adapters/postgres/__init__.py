"""
A store in a PostgreSQL database, for any number of machines. Needs the extra ``postgres``.
"""

try:
    from nr_agent_core.adapters.postgres.store import PostgresStore
except ModuleNotFoundError as missing:
    if missing.name is None or not missing.name.startswith("psycopg"):
        raise
    raise ModuleNotFoundError(
        f"the PostgreSQL store needs {missing.name!r}: install nr-agent-core[postgres]", name=missing.name
    ) from missing

__all__ = ["PostgresStore"]
