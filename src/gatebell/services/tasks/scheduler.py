"""Start runs for ready tasks, with a pause after several failures in a row."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from gatebell.domain.enums import RunState, TaskState
from gatebell.services import freezes
from gatebell.services.tasks import backlog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.domain.runs.runs import Run
    from gatebell.ports.flows import Backlogs
    from gatebell.ports.store import Store

_MAX_FAILURES = 3
_REST_SECONDS = 300.0
_log = logging.getLogger("gatebell.tasks")


class TaskScheduler:
    """Creates runs for the tasks of some projects.

    Several failures in a row mean a problem outside of the tasks, for example a missing program or
    an expired login. Then it pauses, so that not every task of the backlog fails.
    """

    def __init__(
        self, store: Store, backlogs: Backlogs, digest: str, projects: Sequence[str] = ()
    ) -> None:
        """Take the digest of the flow that works on tasks."""
        self._store, self._backlogs, self._digest = store, backlogs, digest
        self.projects = projects
        """The projects whose tasks are taken; another thread may replace this list."""
        self._logged: dict[str, str] = {}
        self._keys: dict[str, str] = {}
        self._failures = 0
        self._rests_until = 0.0

    def take_up(self) -> Run | None:
        """Create a run for the next ready task, if there is one."""
        if self._store.monotonic() < self._rests_until or freezes.find(self._store):
            return None
        for project in self.projects:
            key = self._find_key(project)
            waits = self._store.tasks.next(project, key) and not self._find_problem(project)
            if waits and (taken := backlog.take_up(self._store, project, self._digest, key)):
                return taken
        return None

    def _find_key(self, project: str) -> str:
        """Return the key as it was at first: an agent can write the files that give it."""
        if project not in self._keys:
            self._keys[project] = self._backlogs.key(project)
        return self._keys[project]

    def _find_problem(self, project: str) -> str:
        why = self._backlogs.problem(project)
        if why and self._logged.get(project) != why:
            _log.warning("no task is started until this is fixed: %s", why)
        self._logged[project] = why
        return why

    def note_end(self, run: Run) -> None:
        """Count failures in a row among the runs that just ended."""
        if not run.task or not run.has_ended:
            return
        result = run.result if isinstance(run.result, dict) else {}
        failed = run.state == RunState.FAILED or result.get("state") == TaskState.FAILED
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= _MAX_FAILURES:
            self._failures = 0
            self._rests_until = self._store.monotonic() + _REST_SECONDS
            _log.warning(
                "%d tasks in a row have failed, so no new task is started for %.0f minutes. "
                "For the reasons, run: gate task list. A restarted worker continues at once",
                _MAX_FAILURES,
                _REST_SECONDS / 60,
            )
