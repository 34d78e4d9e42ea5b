"""Runs and tasks in process: the verbs of `ports/backends/work.py` on the store of this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.runs.seen_runs import SeenRun
    from gatebell.domain.runs.wanted_runs import WantedRun
    from gatebell.domain.tasks.seen_tasks import SeenTask, TaskEvents, WholeTask
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store

# Imported inside the functions: commands that ask and answer need none of this.


class LocalWork:
    """The verbs for runs and tasks on one store."""

    _store: Store

    def runs(self, limit: int, *, active: bool = False) -> list[SeenRun]:
        from gatebell.services.runs.see_runs import see_run

        self._apply_deadlines()
        newest = self._store.runs.newest(limit, active=active)
        return [see_run(self._store, run) for run in newest]

    def run(self, number: int) -> SeenRun:
        from gatebell.services.runs import manage_runs
        from gatebell.services.runs.see_runs import see_whole_run

        self._apply_deadlines()
        return see_whole_run(self._store, manage_runs.get(self._store, number))

    def _apply_deadlines(self) -> None:
        from gatebell.services.asks.apply_deadlines import sweep

        sweep(self._store)

    def asks_of_run(self, number: int) -> list[Ask]:
        return list(self._store.asks.of_run(number))

    def start_run(self, wanted: WantedRun, caller: Caller) -> tuple[Run, bool]:
        from gatebell.services.members import has_worker
        from gatebell.services.runs import placement

        run = placement.create(self._store, wanted, caller)
        return run, has_worker(self._store, run)

    def stop_run(self, number: int, caller: Caller, reason: str) -> Run:
        from gatebell.services.runs import manage_runs

        return manage_runs.stop(self._store, number, caller, reason)

    def resume_run(self, number: int, caller: Caller, accept: str) -> Run:
        from gatebell.services.runs import manage_runs

        return manage_runs.resume(self._store, number, caller, accept)

    def has_worker(self) -> bool:
        from gatebell.services import members

        return members.has_worker(self._store)

    def task(self, named: str) -> Task:
        from gatebell.services.tasks import backlog

        return backlog.get(self._store, named)

    def look_up_task(self, named: str) -> WholeTask:
        from gatebell.services.tasks import backlog
        from gatebell.services.tasks.see_tasks import see_whole_task

        self._apply_deadlines()
        return see_whole_task(self._store, backlog.look_up(self._store, named))

    def tasks(self, project: str, which: str, limit: int, key: str = "") -> list[SeenTask]:
        from gatebell.services.tasks.see_tasks import see_task

        self._apply_deadlines()
        page = self._store.tasks.page(project, which, limit, key)
        return [see_task(self._store, task) for task in page]

    def task_projects(self) -> list[str]:
        return self._store.tasks.projects()

    def asks_of_task(self, task_id: str) -> list[Ask]:
        return list(self._store.asks.of_task(task_id))

    def task_events(
        self, task: str, project: str, key: str, after: int | None, limit: int
    ) -> TaskEvents:
        from gatebell.services.tasks.task_events import EventReader

        reader = EventReader(self._store, task, project, key)
        return reader.read_newest(limit) if after is None else reader.read_after(after, limit)

    def create_task(
        self, project: str, caller: Caller, fields: dict[str, Any], key: str = ""
    ) -> Task:
        from gatebell.services.tasks import backlog

        return backlog.create(self._store, project, caller, fields, key)

    def update_task(self, named: str, caller: Caller, fields: dict[str, Any]) -> Task:
        from gatebell.services.tasks import backlog

        return backlog.update(self._store, named, caller, fields)

    def change_needs(
        self, named: str, caller: Caller, needed: Sequence[str], *, remove: bool
    ) -> Task:
        from gatebell.services.tasks import backlog

        change = backlog.free if remove else backlog.depend
        return change(self._store, named, caller, needed)

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
