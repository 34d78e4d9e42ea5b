"""Runs and tasks in process: the verbs of `ports/backend.py` (`Working`) on the store of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.runs.seen_runs import SeenRun
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store

# Imported inside the functions: commands that ask and answer need none of this.


class LocalWork:
    """The verbs for runs and tasks on one store."""

    _store: Store

    def runs(self, limit: int, *, active: bool = False) -> list[SeenRun]:
        return [self._see(run) for run in self._store.runs.newest(limit, active=active)]

    def run(self, number: int) -> SeenRun:
        from gatebell.services.runs import manage_runs

        run = manage_runs.get(self._store, number)
        return self._see(run)._replace(calls=tuple(self._store.runs.calls(run.id)))

    def _see(self, run: Run) -> SeenRun:
        from gatebell.domain.runs.seen_runs import SeenRun

        asks = [] if run.has_ended else self._store.asks.pending_of_run(run.id)
        return SeenRun(run, tuple(ask.id for ask in asks))

    def stop_run(self, number: int, caller: Caller, reason: str) -> Run:
        from gatebell.services.runs import manage_runs

        return manage_runs.stop(self._store, number, caller, reason)

    def task(self, named: str) -> Task:
        from gatebell.services.tasks import backlog

        return backlog.get(self._store, named)

    def claim_task(self, named: str, caller: Caller) -> Task:
        from gatebell.services.tasks import backlog

        return backlog.claim(self._store, named, caller)

    def release_task(self, named: str, caller: Caller) -> Task:
        from gatebell.services.tasks import backlog

        return backlog.release(self._store, named, caller)

    def close_task(self, named: str, caller: Caller, reason: str) -> Task:
        from gatebell.services.tasks import backlog

        return backlog.close(self._store, named, caller, reason)

    def defer_task(self, named: str, caller: Caller, reason: str) -> Task:
        from gatebell.services.tasks import backlog

        return backlog.defer(self._store, named, caller, reason)

    def reopen_task(self, named: str, caller: Caller, *, fresh: bool) -> Task:
        from gatebell.services.tasks import backlog

        return backlog.reopen(self._store, named, caller, fresh=fresh)
