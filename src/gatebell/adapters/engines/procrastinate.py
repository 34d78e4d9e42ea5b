"""The engine on PostgreSQL: procrastinate's jobs, one for each run that is ready."""

from __future__ import annotations

import asyncio
import logging
from importlib import resources
from typing import TYPE_CHECKING, Any

import procrastinate
import psycopg_pool
from procrastinate import exceptions, jobs, manager, sql

from gatebell.adapters.engines.drives import LOOK_SECONDS
from gatebell.adapters.engines.served_engine import (
    BEAT_SECONDS,
    STALLED_SECONDS,
    TASK,
    ServedEngine,
)
from gatebell.domain.runs.places import split_place
from gatebell.errors import GateError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gatebell.adapters.engines.drives import Drives
    from gatebell.ports.engines import Dispatches

_LOST_SECONDS = 5.0
"""A connection that is not back by then is lost."""
_AFTER_JOBS_SECONDS = 0.05
"""A look for the next task comes so much later than the jobs."""
_MAX_CONNECTIONS = 4
_FINISH_TRIES = _MAX_CONNECTIONS + 1
"""Every idle connection may have been cut; then each try replaces one."""
_RAISED = "P0001"
"""The error of PostgreSQL that procrastinate's own functions raise."""
_FETCH = f"""
SELECT job.* FROM (
    SELECT array_agg(name) AS queues FROM (
        SELECT name, split_part(name, '/', -1) AS project FROM gate_list_queues() AS name
    ) AS found
    -- Of a host, every project is served: their folders are there.
    WHERE name = ANY (%(places)s) OR left(name, -1 - length(project)) = ANY (%(places)s)
    GROUP BY project ORDER BY coalesce(array_position(%(served)s::text[], project), 0)
) AS project
CROSS JOIN LATERAL (
    {sql.queries["fetch_job"].strip().rstrip(";").replace("%(queues)s", "project.queues")}
) AS job
WHERE job.id IS NOT NULL LIMIT 1
"""  # noqa: S608  only the library's own statement
"""The library's statement, tried for each project in turn until one has a job: one round trip."""
_USE_INDEXES = (
    "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; SET jit = off"
)
_log = logging.getLogger("gatebell.worker")


class ProcrastinateEngine(ServedEngine):
    """Takes procrastinate's jobs at its places."""

    def __init__(
        self, drives: Drives, dispatches: Dispatches, dsn: str, pools: Sequence[str]
    ) -> None:
        super().__init__(drives, dispatches, pools)
        self._dsn = dsn
        # Its errors have many lines. One line says that the connection is lost.
        for name in ("procrastinate", "psycopg.pool"):
            logging.getLogger(name).setLevel(logging.CRITICAL)

    def take_up(self) -> None:
        """Leave that to `FairJobs`, which knows first that no job waits."""

    async def serve(self) -> None:
        app = _build_app(self._dsn)
        app.job_manager = FairJobs(app.job_manager.connector, self.drives)
        app.task(name=TASK)(self._drive)
        async with app.open_async():
            retrying = asyncio.create_task(_retry_stalled(app.job_manager))
            try:
                await app.run_worker_async(
                    queues=self.places,
                    concurrency=self.drives.slots,
                    delete_jobs=jobs.DeleteJobCondition.ALWAYS,
                    fetch_job_polling_interval=LOOK_SECONDS,
                    update_heartbeat_interval=BEAT_SECONDS,
                    stalled_worker_timeout=STALLED_SECONDS,
                    # A drive goes on without its job. Otherwise, after a short loss of the
                    # connection, no job would begin until the last agent is ready.
                    shutdown_graceful_timeout=0,
                    install_signal_handlers=False,
                )
            finally:
                retrying.cancel()

    async def _drive(self, run_id: int) -> None:
        await self.begin(run_id).wait()


class FairJobs(manager.JobManager):
    """Gives a free slot to the project that this worker served longest ago."""

    def __init__(self, connector: Any, drives: Drives) -> None:
        super().__init__(connector)
        self._drives = drives
        self._served: dict[str, None] = {}
        """The projects of the jobs so far, the one that was served last at the end."""
        self.looking: asyncio.Task[None] | None = None
        """The next look for a task."""

    async def fetch_job(self, queues: Iterable[str] | None, worker_id: int) -> jobs.Job | None:
        if not self._drives.has_room:
            return None
        for row in await self.connector.execute_query_all_async(
            _FETCH, places=list(queues or ()), served=list(self._served), worker_id=worker_id
        ):
            job = jobs.Job.from_row(row)
            _, project = split_place(job.queue)
            self._served.pop(project, None)
            self._served[project] = None
            return job
        if not self.looking or self.looking.done():
            self.looking = asyncio.create_task(self._take_up())
        return None

    async def finish_job(self, job: jobs.Job, status: jobs.Status, delete_job: bool) -> None:
        """Finish a job; the library reports an error of this on stderr, and does nothing."""
        for _ in range(_FINISH_TRIES):
            try:
                await super().finish_job(job, status, delete_job)
                return
            except exceptions.ConnectorException as error:
                if getattr(error.__cause__, "sqlstate", "") == _RAISED:
                    # This worker was silent for so long that another one got the job.
                    return
        # If the connection stays lost, the worker begins again, and its jobs are retried.

    async def _take_up(self) -> None:
        """Make a run of the next task; its job comes as any other."""
        # A run that has just been fetched is not held up by it.
        await asyncio.sleep(_AFTER_JOBS_SECONDS)
        try:
            await asyncio.to_thread(self._drives.take_up)
        except GateError as error:
            _log.error("%s", error)


async def _retry_stalled(found: manager.JobManager) -> None:
    """Give the jobs of workers that ended without a word to others."""
    while True:
        await asyncio.sleep(BEAT_SECONDS)
        try:
            for job in await found.get_stalled_jobs(
                task_name=TASK, seconds_since_heartbeat=STALLED_SECONDS
            ):
                await _retry(found, job)
        except exceptions.ConnectorException:
            # The worker itself notices, and is begun again.
            continue


async def _retry(found: manager.JobManager, job: jobs.Job) -> None:
    try:
        await found.retry_job(job)
    except exceptions.UniqueViolation:
        # The run was handed over again since then.
        await found.finish_job(job, jobs.Status.FAILED, delete_job=True)


def read_tables() -> list[tuple[str, str]]:
    """Return procrastinate's own tables, and each change of them, oldest first, with their names."""
    folder = resources.files("procrastinate.sql")
    names = sorted(one.name for one in (folder / "migrations").iterdir())
    changes = [
        (name, (folder / "migrations" / name).read_text(encoding="utf-8"))
        for name in names
        if name.endswith(".sql")
    ]
    return [("", (folder / "schema.sql").read_text(encoding="utf-8")), *changes]


async def _hurry(connection: Any) -> None:
    """Let a fetched or finished job wait neither for the disk nor for a commit of its own.

    If the server crashes, a job may be fetched again, which does nothing: a claim decides. What
    makes a run ready, and its new job, is written by the store, whose commits do wait.
    """
    await connection.set_autocommit(True)
    await connection.execute("SET synchronous_commit = off")
    # The server last counted the jobs when there were hardly any. When many runs become ready, it
    # would sort all jobs, or compare each with each, for every fetch, instead of using the indexes.
    await connection.execute(_USE_INDEXES)


def _make_pool(**given: Any) -> psycopg_pool.AsyncConnectionPool:
    """Make a pool that does not ask a connection first whether it lives.

    That would be a round trip before each statement. A lost connection is an error as any other.
    """
    return psycopg_pool.AsyncConnectionPool(**given | {"check": None})


def _build_app(dsn: str) -> procrastinate.App:
    connector = procrastinate.PsycopgConnector(
        pool_factory=_make_pool,
        conninfo=dsn,
        min_size=1,
        max_size=_MAX_CONNECTIONS,
        timeout=_LOST_SECONDS,
        configure=_hurry,
        kwargs={"application_name": "gatebell engine", "connect_timeout": 5,
                "keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3},
    )  # fmt: skip
    return procrastinate.App(connector=connector)
