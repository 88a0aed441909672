"""
A worker of the engine: takes jobs, has their runs handled in threads, and frees what dead workers held.

Three things are not left to the engine. Its own retry of a failed job cannot be stored while another
job of the same run waits, and would leave the job, and with it the lock of the conversation, in hand
for ever: a run that has to come again gets a new job instead. Its jobs of dead workers are looked for
by each worker itself, not by one more job, which could be stuck like any other. And a job whose end
could not be stored is ended by the worker that had it.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import procrastinate
import psycopg
from procrastinate import exceptions
from procrastinate.jobs import Job, Status
from psycopg import sql

from nr_agent_core.adapters.procrastinate.jobs import QUEUE, TASK, free_job
from nr_agent_core.adapters.procrastinate.turns import Turns
from nr_agent_core.domain.sanitiser import sanitised_chain
from nr_agent_core.ports.run_queue import PAUSE, Stop

_log = logging.getLogger("nr_agent_core")

_LOOK = 1.0
"""Seconds between two looks of the engine for jobs whose time has come."""
_TURN = 0.1
"""Seconds between two looks at whether it is time to stop."""


class Crew:
    """
    The threads of one worker, from its connection to the database until it loses it or is to stop.

    Args:
        dsn: how to reach the database.
        schema: where the engine's tables are.
        handle: takes the id of a run.
        put: stores a job for a run that is to come again after so many seconds.
        threads: how many runs are handled at once, at most.
        name: what threads are called.
        stop: set by whoever wants it to end.
        stalled_after: seconds without a sign after which a worker is taken for gone.
    """

    def __init__(
        self,
        dsn: str,
        schema: str,
        handle: Callable[[str], None],
        *,
        put: Callable[[str, float], None],
        threads: int,
        name: str,
        stop: Stop,
        stalled_after: float,
    ) -> None:
        self._dsn, self._schema, self._handle, self._put = dsn, schema, handle, put
        self._threads, self._name, self._stop, self._stalled_after = threads, name, stop, stalled_after
        self._in_hand: set[int] = set()
        self._turns = Turns()
        # What this worker has ended: when, and under which number of the engine's.
        self._ended: dict[int, tuple[float, int | None]] = {}

    async def work(self) -> None:
        """Take jobs until it is time to stop, or the database is gone; what is in hand is waited for."""
        app = procrastinate.App(connector=self._connector())
        with ThreadPoolExecutor(self._threads, thread_name_prefix=self._name) as pool:
            app.task(name=TASK, queue=QUEUE, pass_context=True)(self._task(pool))
            async with app.open_async():
                await self._run(app)

    async def _run(self, app: procrastinate.App) -> None:
        worker = asyncio.create_task(
            app.run_worker_async(
                queues=[QUEUE],
                name=self._name,
                concurrency=self._threads,
                install_signal_handlers=False,
                delete_jobs="always",
                # Jobs are told of when they are stored; only those that wait for their time are looked for.
                fetch_job_polling_interval=_LOOK,
                update_heartbeat_interval=self._stalled_after / 3,
                stalled_worker_timeout=self._stalled_after,
            )
        )
        sweeper = asyncio.create_task(self._sweep(app))
        try:
            while not (worker.done() or self._stop.is_set()):
                await asyncio.wait({worker}, timeout=_TURN)
        finally:
            sweeper.cancel()
            # Cancelled, it takes nothing more, and waits for what is in hand.
            worker.cancel()
            with suppress(asyncio.CancelledError):
                await sweeper
            with suppress(asyncio.CancelledError):
                await worker

    # -- jobs ---------------------------------------------------------------------------------

    def _task(self, pool: ThreadPoolExecutor) -> Callable[..., Any]:
        async def drive(context: procrastinate.JobContext, run_id: str) -> None:
            await asyncio.get_running_loop().run_in_executor(pool, self._attend, context.job, run_id)

        return drive

    def _attend(self, job: Job, run_id: str) -> None:
        """One job, in a thread. Whatever happens, the job itself is over afterwards."""
        assert job.id is not None
        self._in_hand.add(job.id)
        try:
            if job.lock is None or self._stop.is_set():
                # Its time has come, and now it waits its turn among those of its conversation; or it is too late.
                self._put_or_log(run_id, 0.0)
            else:
                with self._turns.of(job.lock):
                    self._handle(run_id)
        except Exception as error:  # noqa: BLE001 - whatever it was, the run is brought again
            _log.error("run %s was not handled and comes again: %s", run_id, sanitised_chain(error))
            self._put_or_log(run_id, PAUSE)
        finally:
            self._ended[job.id] = time.monotonic(), job.worker_id
            self._in_hand.discard(job.id)

    def _put_or_log(self, run_id: str, delay: float) -> None:
        try:
            self._put(run_id, delay)
        except Exception as error:  # noqa: BLE001 - the store still has it, and upkeep finds it there
            _log.error("run %s could not be put again: %s", run_id, sanitised_chain(error))

    # -- what others, or failures, left in hand ------------------------------------------------

    async def _sweep(self, app: procrastinate.App) -> None:
        while True:
            try:
                await self._free(app)
            except exceptions.ConnectorException as error:
                _log.warning("jobs of dead workers could not be looked for: %s", sanitised_chain(error))
            await asyncio.sleep(self._stalled_after / 3)

    async def _free(self, app: procrastinate.App) -> None:
        jobs = app.job_manager
        stalled = await jobs.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=self._stalled_after)
        for job in stalled:
            if job.id not in self._in_hand:
                await self._again(app, job)
        for job in await jobs.list_jobs_async(queue=QUEUE, status=Status.DOING.value):
            if self._was_ended(job):
                await self._again(app, job)
        oldest = time.monotonic() - 4 * self._stalled_after
        for number in [number for number, (ended, _) in tuple(self._ended.items()) if ended < oldest]:
            del self._ended[number]

    def _was_ended(self, job: Job) -> bool:
        """Whether this worker had *job* and ended it some time ago, and nobody has it since."""
        assert job.id is not None
        ended, worker_id = self._ended.get(job.id, (None, None))
        if ended is None or job.id in self._in_hand or job.worker_id != worker_id:
            return False
        return time.monotonic() - ended >= self._stalled_after

    async def _again(self, app: procrastinate.App, job: Job) -> None:
        """Free what *job* holds, and have its run brought again, unless somebody else did so meanwhile."""
        run_id = job.task_kwargs.get("run_id")
        _log.warning("job %s of run %s, of a worker that is gone, is brought again", job.id, run_id)
        try:
            await free_job(app, job)
        except exceptions.ConnectorException as error:
            _log.warning("job %s could not be freed: %s", job.id, sanitised_chain(error))

    # -- connections --------------------------------------------------------------------------

    def _connector(self) -> procrastinate.PsycopgConnector:
        path = sql.SQL("SET search_path TO {}, pg_temp").format(sql.Identifier(self._schema))

        async def configure(db: psycopg.AsyncConnection[Any]) -> None:
            await db.execute(path)
            await db.commit()

        return procrastinate.PsycopgConnector(
            conninfo=self._dsn,
            configure=configure,
            min_size=1,
            max_size=max(2, min(self._threads, 4)),
            name="nr_agent_core-engine",
        )
