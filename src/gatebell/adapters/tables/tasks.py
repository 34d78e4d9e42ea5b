"""Store tasks, and their dependencies."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

from gatebell.adapters.tables.statements import ConstraintError, OvertakenError
from gatebell.adapters.tables.values import as_member, as_time, names_unreadable
from gatebell.domain.asks.asks import iso
from gatebell.domain.enums import Priority, TaskState
from gatebell.domain.tasks import tasks
from gatebell.domain.tasks.tasks import Task, TaskChange, TaskSize, TaskType
from gatebell.errors import RefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gatebell.adapters.tables.store import TableStore
    from gatebell.domain.audit.events import Event
    from gatebell.domain.runs.runs import Run

_ENUMS: dict[str, Any] = {
    "priority": Priority,
    "size": TaskSize,
    "type": TaskType,
    "state": TaskState,
}
_TIMES = ("created_at", "updated_at", "answered_at", "closed_at")


class StoredTasks:
    def __init__(self, store: TableStore) -> None:
        self._store = store
        self._db = store.statements("tasks")

    def add(self, changes: Sequence[TaskChange]) -> bool:
        try:
            with self._store.transaction() as at:
                self._store.locks.hold_new_tasks()
                self._store.locks.hold_tasks(
                    *(name for task, _ in changes for name in (task.id, *task.needs))
                )
                for task, events in changes:
                    self._db.write("insert_task", _to_row(task))
                    self._write_needs(task)
                    self._store.record(at, events)
                for task, _ in changes:
                    self._db.write("count_unmet", {"id": task.id})
        except ConstraintError as error:
            if any(self.get(change.task.id) for change in changes):
                return False
            raise self._db.problem(error) from error
        return True

    def get(self, task_id: str) -> Task | None:
        found = self._tasks("get_task", task_id)
        return found[0] if found else None

    def matching(self, prefix: str, limit: int) -> list[str]:
        return [found for (found,) in self._db.rows("matching_tasks", (prefix, limit))]

    def count(self) -> int:
        return int(self._db.rows("count_tasks")[0][0])

    def page(self, project: str, which: str, limit: int, key: str = "") -> list[Task]:
        pages = [
            self._tasks(f"{which}_tasks", folder, limit) for folder in self._folders(project, key)
        ]
        return _join_pages(pages, limit)

    def next(self, project: str, key: str = "") -> Task | None:
        firsts = [self._tasks("next_task", folder) for folder in self._folders(project, key)]
        return min((task for found in firsts for task in found), key=_by_priority, default=None)

    def _folders(self, project: str, key: str) -> list[str]:
        """Return the folders of a project, on this and other hosts."""
        found = self._db.rows("folders_of_key", (key,)) if key else []
        return list(dict.fromkeys([project, *(folder for (folder,) in found)]))

    def list_claimed(self) -> list[Task]:
        return self._tasks("claimed_tasks")

    def beneath(self, task_id: str) -> list[Task]:
        return self._tasks("tasks_beneath", task_id)

    def level(
        self, project: str, parent: str, limit: int, *, closed: bool, key: str = ""
    ) -> list[Task]:
        pages = [
            self._tasks("level_of_tasks", folder, parent, limit, closed)
            for folder in self._folders(project, key)
        ]
        return _join_pages(pages, limit, closed_last=True)

    def how_many(
        self, project: str, parent: str | None = None, *, closed: bool, key: str = ""
    ) -> int:
        return sum(
            self._count(folder, parent, closed=closed) for folder in self._folders(project, key)
        )

    def _count(self, folder: str, parent: str | None, *, closed: bool) -> int:
        if parent is None:
            return int(self._db.rows("count_of_project", (folder, closed))[0][0])
        return int(self._db.rows("count_of_level", (folder, parent, closed))[0][0])

    def needing(self, task_id: str) -> list[Task]:
        return self._tasks("needing", task_id)

    def projects(self) -> list[str]:
        return [project for (project,) in self._db.rows("task_projects")]

    def change(self, change: TaskChange, expected: Task) -> bool:
        try:
            with self._store.transaction() as at:
                if change.task.needs != expected.needs:
                    self._store.locks.hold_new_tasks()
                self._store.locks.hold_tasks(expected.id, *change.task.needs)
                self._write(change, expected)
                if change.task.run and change.task.priority != expected.priority:
                    self._store.runs.set_priority(change.task.run, change.task.priority)
                self._store.record(at, change.events)
        except OvertakenError:
            return False
        return True

    def take_up(self, task: Task, run: Run, events: Sequence[Event], expected: Task) -> Run | None:
        try:
            with self._store.transaction() as at:
                self._store.locks.hold_tasks(expected.id)
                new = self._store.runs.insert(run, events, at)
                self._write(TaskChange(task._replace(run=new.id)), expected)
        except OvertakenError:
            return None
        return new

    def follow(self, run: Run, at: str, wanted: TaskState | None, actor: str) -> None:
        """Update the task, in the transaction that changed the run."""
        task = self.get(run.task)
        change = task and tasks.follow(task, run, datetime.fromisoformat(at), wanted, actor)
        if task and change:
            self._step(change, task, at)

    def record_ask(self, task_id: str, at: str) -> None:
        """Update the task, in the transaction that opens an ask for it, or raise RefusedError."""
        if (task := self.get(task_id)) is None:
            raise RefusedError(f"there is no task {task_id}")
        self._step(tasks.ask_by_hand(task, datetime.fromisoformat(at)), task, at)

    def record_answer(self, task_id: str, at: str) -> None:
        """Update the task, in the transaction that settles such an ask."""
        task = self.get(task_id)
        change = task and tasks.hear_by_hand(task, datetime.fromisoformat(at))
        if task and change:
            self._step(change, task, at)

    def _step(self, change: TaskChange, expected: Task, at: str) -> None:
        self._write(change, expected)
        self._store.record(at, change.events)

    def _write(self, change: TaskChange, expected: Task) -> None:
        task = change.task
        row = _to_row(task) | {"expected_version": expected.version}
        if not self._db.write("change_task", row):
            raise OvertakenError
        if task.needs != expected.needs:
            self._write_needs(task)
        if task.needs != expected.needs or task.state != expected.state:
            self._db.write("count_unmet", {"id": task.id})

    def _write_needs(self, task: Task) -> None:
        self._db.write("forget_needs", {"task": task.id})
        for needed in task.needs:
            self._db.write("add_need", {"task": task.id, "needed": needed})

    def _tasks(self, query: str, *parameters: Any) -> list[Task]:
        return [_to_task(row) for row in self._db.rows(query, parameters)]


def _join_pages(pages: list[list[Task]], limit: int, *, closed_last: bool = False) -> list[Task]:
    """Return the beginning of several lists in the order of one; mostly there is only one."""
    if len(pages) == 1:
        return pages[0]
    found = sorted((task for page in pages for task in page), key=_by_priority)
    found.sort(key=lambda task: task.answered_at is None)
    if closed_last:
        found.sort(key=lambda task: task.state == TaskState.CLOSED)
    return found[:limit]


def _by_priority(task: Task) -> tuple[int, datetime, str]:
    return task.priority, task.created_at, task.id


def _to_row(task: Task) -> dict[str, Any]:
    values = task._asdict()
    for name in _TIMES:
        values[name] = iso(values[name])
    for name in ("needs", "more"):
        values[name] = json.dumps(values[name])
    return values


@names_unreadable("task", 1)
def _to_task(row: Any) -> Task:
    values = dict(zip(Task._fields, row[1:], strict=True))
    for name in _TIMES:
        values[name] = as_time(values[name])
    for name, members in _ENUMS.items():
        values[name] = as_member(members, values[name])
    needs, more = tuple(json.loads(values["needs"])), json.loads(values["more"])
    return Task(**{**values, "needs": needs, "more": more})
