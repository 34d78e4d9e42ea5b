"""Tasks in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gatebell.domain.runs.runs import DRIVER
from gatebell.domain.tasks import tasks
from gatebell.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gatebell.domain.audit.events import Event
    from gatebell.domain.runs.runs import Run
    from gatebell.domain.tasks.tasks import Task, TaskChange
    from gatebell.testing.store import MemoryStore

_LISTS: dict[str, Callable[[Task], bool]] = {
    "unfinished": lambda task: task.state != "closed",
    "all": lambda _: True,
    "ready": lambda task: task.ready,
    "awaiting": lambda task: task.state == "awaiting_input",
}


def _in_order(task: Task) -> tuple[bool, int]:
    return task.answered_at is None, task.priority


class MemoryTasks:
    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._tasks: dict[str, Task] = {}

    def add(self, changes: Sequence[TaskChange]) -> bool:
        with self._store.lock:
            if any(task.id in self._tasks for task, _ in changes):
                return False
            for task, events in changes:
                self._tasks[task.id] = task
                self._store.record(events)
            for task, _ in changes:
                self._count_unmet(task.id)
            return True

    def get(self, task_id: str) -> Task | None:
        return self._tasks.get(task_id)

    def matching(self, prefix: str, limit: int) -> list[str]:
        return sorted(name for name in self._tasks if name.startswith(prefix))[:limit]

    def count(self) -> int:
        return len(self._tasks)

    def page(self, project: str, which: str, limit: int) -> list[Task]:
        found = [task for task in self._of(project) if _LISTS[which](task)]
        return sorted(found, key=_in_order)[:limit]

    def next(self, project: str) -> Task | None:
        found = [task for task in self._of(project) if task.ready and not task.run]
        return min(found, key=lambda task: task.priority, default=None)

    def claimed(self) -> list[Task]:
        return [task for task in self._tasks.values() if task.state == "in_progress"]

    def beneath(self, task_id: str) -> list[Task]:
        found = [task for task in self._tasks.values() if task_id and task.parent == task_id]
        return sorted(found, key=lambda task: task.priority)

    def level(self, project: str, parent: str, limit: int, *, closed: bool) -> list[Task]:
        found = sorted(self._level(project, parent, closed=closed), key=_in_order)
        return sorted(found, key=lambda task: task.state == "closed")[:limit]

    def how_many(self, project: str, parent: str | None = None, *, closed: bool) -> int:
        return len(self._level(project, parent, closed=closed))

    def needing(self, task_id: str) -> list[Task]:
        return [task for task in self._tasks.values() if task_id in task.needs]

    def projects(self) -> list[str]:
        return sorted({task.project for task in self._tasks.values()})

    def change(self, change: TaskChange, expected: Task) -> bool:
        with self._store.lock:
            if not self._write(change.task, expected):
                return False
            if change.task.run:
                self._store.runs.set_priority(change.task.run, change.task.priority)
            self._store.record(change.events)
            return True

    def take_up(self, task: Task, run: Run, events: Sequence[Event], expected: Task) -> Run | None:
        with self._store.lock:
            if self._tasks[task.id].version != expected.version:
                return None
            new = self._store.runs.insert(run, events)
            self._write(task._replace(run=new.id), expected)
            return new

    def follow(self, run: Run, wanted: str = "", actor: str = DRIVER) -> None:
        """In the transaction that changed the run."""
        task = self._tasks.get(run.task)
        change = task and tasks.follow(task, run, self._store.now(), wanted, actor)
        if task and change:
            self._step(change, task)

    def asked(self, task_id: str) -> None:
        """In the transaction that opens an ask for it; RefusedError where nobody may ask."""
        if (task := self._tasks.get(task_id)) is None:
            raise RefusedError(f"there is no task {task_id}")
        self._step(tasks.ask_by_hand(task, self._store.now()), task)

    def heard(self, task_id: str) -> None:
        """In the transaction that settles such an ask."""
        task = self._tasks.get(task_id)
        change = task and tasks.hear_by_hand(task, self._store.now())
        if task and change:
            self._step(change, task)

    def _step(self, change: TaskChange, expected: Task) -> None:
        self._write(change.task, expected)
        self._store.record(change.events)

    def _write(self, task: Task, expected: Task) -> bool:
        if self._tasks[task.id].version != expected.version:
            return False
        self._tasks[task.id] = task
        self._count_unmet(task.id)
        return True

    def _count_unmet(self, task_id: str) -> None:
        for name, task in self._tasks.items():
            if name == task_id or task_id in task.needs:
                unmet = sum(not self._is_closed(needed) for needed in task.needs)
                self._tasks[name] = task._replace(unmet=unmet)

    def _is_closed(self, task_id: str) -> bool:
        task = self._tasks.get(task_id)
        return task is not None and task.state == "closed"

    def _level(self, project: str, parent: str | None, *, closed: bool) -> list[Task]:
        return [
            task
            for task in self._of(project)
            if parent in (None, task.parent) and (closed or task.state != "closed")
        ]

    def _of(self, project: str) -> list[Task]:
        return [task for task in self._tasks.values() if task.project == project]
