"""
What one call of the command does, over a store alone or over an application.
"""

from typing import NamedTuple

from nr_agent_core.chat import Chat
from nr_agent_core.cli.stores.address import POSTGRES, StoreAddress, UnusableError
from nr_agent_core.cli.stores.application import application
from nr_agent_core.cli.stores.tables import opened
from nr_agent_core.ports.configuration_resolver import Configuration
from nr_agent_core.ports.retention import Purged, Retention
from nr_agent_core.ports.unit_of_work import UnitOfWork
from nr_agent_core.runtime import Runtime, UpkeepReport
from nr_agent_core.runtime.recovery import QUEUED_GRACE

_MOST = 1000


class Told(NamedTuple):
    """
    What was done, or would be: ids of runs, and counts of rows.
    """

    foretold: bool
    recovered: tuple[str, ...]
    expired: tuple[str, ...]
    failed: tuple[str, ...]
    left: tuple[str, ...]
    purged: Purged


class Work:
    """
    Upkeep of one runtime.

    Args:
        runtime: the application's, or one without a model over a store.
        recovers: whether it has what it takes to go on with a run.
    """

    def __init__(self, runtime: Runtime, *, recovers: bool) -> None:
        self._runtime, self._recovers = runtime, recovers

    def done(self, retention: Retention) -> Told:
        """Do it."""
        if self._recovers:
            report = self._runtime.upkeep(limit=_MOST, retention=retention)
            return _told(report, report.left)
        keeping = self._runtime.housekeeping
        report = keeping.upkeep(keeping.end_unreadable(limit=_MOST), retention, limit=_MOST)
        due = self._runtime.segments.store.due_runs(queued_grace=QUEUED_GRACE, limit=_MOST)
        return _told(report, tuple(dict.fromkeys((*report.left, *(row.id for row in due)))))

    def foretold(self, retention: Retention) -> Told:
        """
        What :meth:`done` would do by now. Of runs that would be recovered nobody knows how they end; what
        cannot be read is found by doing it.
        """
        store = self._runtime.segments.store
        overdue = self._runtime.housekeeping.overdue(retention)
        damaged = tuple(run.id for run in store.unreadable_runs(limit=_MOST))
        due = [row.id for row in store.due_runs(queued_grace=QUEUED_GRACE, limit=_MOST) if row.id not in overdue]
        recovered, left = (tuple(due), ()) if self._recovers else ((), tuple(due))
        return Told(True, recovered, overdue, damaged, left, store.purgeable(retention))

    def close(self) -> None:
        """Let go of the store, once late outcomes are in it."""
        self._runtime.close(wait=5.0 if self._recovers else 0.0)


def of_application(name: str) -> Work:
    """
    Upkeep of an application by its name.

    Raises:
        UnusableError: there is none, or it keeps nothing.
    """
    found = application(name)
    runtime = found.runtime if isinstance(found, Chat) else found
    if runtime.wiring.store is None:
        raise UnusableError(f"application {name!r} has no store")
    return Work(runtime, recovers=True)


def of_store(address: StoreAddress) -> Work:
    """
    Upkeep of a store without its application.

    Raises:
        UnusableError: it cannot be used, is not there yet, or is of an older schema: then its next use by the
            application brings it up to date, not this command.
    """
    tables = opened(address)
    tables.close()
    if tables.version != tables.newest_version:
        what = "holds no store yet" if tables.version == 0 else f"is of version {tables.version}"
        raise UnusableError(f"{tables.name} {what}: let the application use it once, with this release")
    # Without a model nothing can be asked, so nothing is recovered by mistake.
    return Work(Runtime(store=_store(address), configuration=Configuration(model=None)), recovers=False)


def _store(address: StoreAddress) -> UnitOfWork:
    if address.kind == POSTGRES:
        from nr_agent_core.adapters.postgres import PostgresStore

        return PostgresStore(address.where, schema=address.schema)
    from nr_agent_core.adapters.sqlite import SqliteStore

    return SqliteStore(address.where)


def _told(report: UpkeepReport, left: tuple[str, ...]) -> Told:
    return Told(False, report.recovered, report.expired, report.failed, left, report.purged)
