"""Runs and tasks on a server: the verbs of `ports/backends/work.py` as requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gatebell.adapters.remote.connection import RemoteConnection, must_be_a_person
from gatebell.adapters.remote.wire_format import quote
from gatebell.errors import AlreadySettledError, RefusedError, ServerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.asks.asks import Ask
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.runs.seen_runs import SeenRun
    from gatebell.domain.runs.wanted_runs import WantedRun
    from gatebell.domain.tasks.seen_tasks import SeenTask, TaskEvents, WholeTask
    from gatebell.domain.tasks.tasks import Task

_STOP_SECONDS = 60.0
"""The server ends the agents of a run before it responds."""

# Imported inside the functions: commands that ask and answer do not read runs and tasks.


class RemoteWork(RemoteConnection):
    """The verbs for runs and tasks on one server."""

    def runs(self, limit: int, *, active: bool = False) -> list[SeenRun]:
        which = "&active=true" if active else ""
        found = self._get_list(f"/api/runs?limit={min(limit, 1000)}{which}")
        return [self._read_run(one) for one in found]

    def run(self, number: int) -> SeenRun:
        return self._read_run(self._http.send("GET", f"/api/runs/{number}"))

    def asks_of_run(self, number: int) -> list[Ask]:
        return [self.read(one) for one in self._get_list(f"/api/asks?run={number}")]

    def start_run(self, wanted: WantedRun, caller: Caller) -> tuple[Run, bool]:
        must_be_a_person(caller)
        body = {name: value for name, value in wanted._asdict().items() if value}
        try:
            found = self._http.send("POST", "/api/runs", body, via=caller.via, again=False)
        except ServerError as error:
            raise ServerError(
                f"{error}. The run may have been started: look with gate list before you start it "
                "again"
            ) from None
        return self._read_run(found).run, bool(found.get("has_worker"))

    def stop_run(self, number: int, caller: Caller, reason: str) -> Run:
        return self._change_run(number, "stop", caller, {"reason": reason})

    def resume_run(self, number: int, caller: Caller, accept: str) -> Run:
        return self._change_run(number, "resume", caller, {"accept": accept} if accept else {})

    def _change_run(self, number: int, verb: str, caller: Caller, body: dict[str, Any]) -> Run:
        must_be_a_person(caller)
        path = f"/api/runs/{number}/{verb}"
        try:
            found = self._http.send(
                "POST", path, body, seconds=_STOP_SECONDS, via=caller.via, again=False
            )
        except AlreadySettledError as error:
            # The state of the run does not allow it; a store says so with this error.
            raise RefusedError(str(error)) from None
        return self._read_run(found).run

    def has_worker(self) -> bool:
        found = self._http.send("GET", "/api/worker")
        return self._read_as(lambda one: bool(one["running"]), found, "the worker")

    def _read_run(self, document: dict[str, Any]) -> SeenRun:
        from gatebell.domain.runs.seen_runs import read_seen_run

        return self._read_as(read_seen_run, document, "a run")

    def task(self, named: str) -> Task:
        return self._read_task(self._http.send("GET", f"/api/tasks/{quote(named)}"))

    def look_up_task(self, named: str) -> WholeTask:
        from gatebell.domain.tasks.seen_tasks import read_whole_task

        found = self._http.send("GET", f"/api/tasks/{quote(named)}?by=beginning")
        return self._read_as(read_whole_task, found, "a task")

    def tasks(self, project: str, which: str, limit: int, key: str = "") -> list[SeenTask]:
        from gatebell.domain.tasks.seen_tasks import read_seen_task
        from gatebell.ports.backends.work import MAX_TASKS

        place = f"project={quote(project)}" + (f"&project_key={quote(key)}" if key else "")
        path = f"/api/tasks?{place}&which={which}&limit={min(limit, MAX_TASKS)}"
        return [self._read_as(read_seen_task, one, "a task") for one in self._get_list(path)]

    def task_projects(self) -> list[str]:
        return [str(one) for one in self._get_list("/api/projects")]

    def asks_of_task(self, task_id: str) -> list[Ask]:
        return [self.read(one) for one in self._get_list(f"/api/asks?task={quote(task_id)}")]

    def task_events(
        self, task: str, project: str, key: str, after: int | None, limit: int
    ) -> TaskEvents:
        from gatebell.domain.tasks.seen_tasks import read_task_events

        given = {"task": task, "project": project, "project_key": key, "after": after}
        pairs = [f"{name}={quote(str(one))}" for name, one in given.items() if one or one == 0]
        path = f"/api/task-events?{'&'.join([*pairs, f'limit={min(limit, 1000)}'])}"
        return self._read_as(read_task_events, self._http.send("GET", path), "an event")

    def create_task(
        self, project: str, caller: Caller, fields: dict[str, Any], key: str = ""
    ) -> Task:
        body = fields | {"project": project} | ({"project_key": key} if key else {})
        return self._change("POST", "/api/tasks", caller, body)

    def update_task(self, named: str, caller: Caller, fields: dict[str, Any]) -> Task:
        return self._change("PATCH", f"/api/tasks/{quote(named)}", caller, fields)

    def change_needs(
        self, named: str, caller: Caller, needed: Sequence[str], *, remove: bool
    ) -> Task:
        return self._change_task(named, "needs", caller, {"needed": list(needed), "remove": remove})

    def claim_task(self, named: str, caller: Caller) -> Task:
        return self._change_task(named, "claim", caller)

    def release_task(self, named: str, caller: Caller) -> Task:
        return self._change_task(named, "release", caller)

    def close_task(self, named: str, caller: Caller, reason: str) -> Task:
        return self._change_task(named, "close", caller, {"reason": reason})

    def defer_task(self, named: str, caller: Caller, reason: str) -> Task:
        return self._change_task(named, "defer", caller, {"reason": reason})

    def reopen_task(self, named: str, caller: Caller, *, fresh: bool) -> Task:
        return self._change_task(named, "reopen", caller, {"fresh": fresh})

    def _change_task(
        self, named: str, verb: str, caller: Caller, body: dict[str, Any] | None = None
    ) -> Task:
        return self._change("POST", f"/api/tasks/{quote(named)}/{verb}", caller, body)

    def _change(self, method: str, path: str, caller: Caller, body: dict[str, Any] | None) -> Task:
        must_be_a_person(caller)
        found = self._http.send(
            method, path, body, seconds=_STOP_SECONDS, via=caller.via, again=False
        )
        return self._read_task(found)

    def _read_task(self, document: dict[str, Any]) -> Task:
        from gatebell.domain.tasks.task_reader import read_task

        return self._read_as(read_task, document, "a task")
