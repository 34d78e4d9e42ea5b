"""Taking up tasks, one after the other; not when all that is taken up fails."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gatebell.domain.enums import RunState, TaskState
from gatebell.services.tasks import backlog

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store

_MOST_FAILURES = 3
_REST_SECONDS = 300.0


class Taking:
    """Makes runs for the tasks of some projects.

    Where several fail in a row something is wrong with more than the tasks: a program that is not
    there, a login that ran out. A backlog must not fail from end to end over that.
    """

    def __init__(
        self,
        store: Store,
        projects: Callable[[Store], list[str]],
        digest: str,
        trouble: Callable[[str], str] = lambda _: "",
    ) -> None:
        """`trouble` says why the tasks of a project cannot be worked on as it is now."""
        self._store, self._projects, self._digest = store, projects, digest
        self._trouble = trouble
        self._told: dict[str, str] = {}
        self._failures = 0
        self._rests_until = 0.0

    def take_up(self) -> Run | None:
        """A run for the next task that is ready, if there is one."""
        if self._store.monotonic() < self._rests_until:
            return None
        for project in self._projects(self._store):
            waits = self._store.tasks.next(project) and not self._tell_trouble(project)
            if waits and (taken := backlog.take_up(self._store, project, self._digest)):
                return taken
        return None

    def _tell_trouble(self, project: str) -> str:
        why = self._trouble(project)
        if why and self._told.get(project) != why:
            print(f"gate: no task is taken up before this is mended: {why}", file=sys.stderr)
        self._told[project] = why
        return why

    def heed(self, run: Run) -> Run:
        """Look how a run came out that was driven just now."""
        if not run.task or not run.ended:
            return run
        result = run.result if isinstance(run.result, dict) else {}
        failed = run.state == RunState.FAILED or result.get("state") == TaskState.FAILED
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= _MOST_FAILURES:
            self._failures = 0
            self._rests_until = self._store.monotonic() + _REST_SECONDS
            print(
                f"gate: {_MOST_FAILURES} tasks in a row have failed, so no new ones are taken up "
                f"for {_REST_SECONDS / 60:.0f} minutes: gate task list tells why, and a worker that "
                "is started anew goes on at once",
                file=sys.stderr,
            )
        return run
