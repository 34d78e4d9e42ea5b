"""`Backlog`: the tasks of a project, from Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from gatebell.app import environment, project_files
from gatebell.domain.asks.answers import Given
from gatebell.domain.asks.owners import owner_of_task
from gatebell.domain.enums import TaskState
from gatebell.errors import RefusedError
from gatebell.services.asks import answer_ask, create_ask
from gatebell.services.asks.create_ask import Request
from gatebell.services.tasks import backlog

if TYPE_CHECKING:
    from gatebell.domain.people.principals import Caller
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store
    from gatebell.services.tasks.backlog import Exchange


class Asker(Protocol):
    """What a backlog needs of the gate it belongs to."""

    store: Store

    def caller(self) -> Caller: ...

    def send(self, request: Request, owner: str = "") -> str: ...


class Backlog:
    """What a program does with tasks; workers and people see the same ones."""

    def __init__(self, gate: Asker, project: str = "") -> None:
        self._gate, self._store = gate, gate.store
        self.project = project or environment.project(os.getcwd())

    def create(self, title: str, **fields: Any) -> Task:
        """A new task. `fields`: description, role, priority, size, type, parent, needs, test_command."""
        given = {"title": title, **fields}
        self._must_know_role(self.project, fields)
        return backlog.create(self._store, self.project, self._gate.caller(), given)

    def get(self, task_id: str) -> Task:
        return backlog.get(self._store, task_id)

    def page(self, which: str = "unfinished", limit: int = 100) -> list[Task]:
        """`unfinished`, `ready`, `awaiting` or `all`: answered ones first, then by priority and age."""
        return self._store.tasks.page(self.project, which, limit)

    def update(self, task_id: str, **fields: Any) -> Task:
        if fields.get("role"):
            self._must_know_role(self.get(task_id).project, fields)
        return backlog.update(self._store, task_id, self._gate.caller(), fields)

    @staticmethod
    def _must_know_role(project: str, fields: dict[str, Any]) -> None:
        if fields.get("role"):
            project_files.find_role(project, fields["role"])

    def claim(self, task_id: str) -> Task:
        """Work on it in this program; no worker takes it up then."""
        return backlog.claim(self._store, task_id, self._gate.caller())

    def request_input(self, task_id: str, question: str, context: Any = None) -> str:
        """Ask a person for a task that was claimed; returns the ask, for `Gate.wait`."""
        owner = owner_of_task(backlog.canonical(task_id))
        return self._gate.send(Request(question, context=context), owner)

    def respond(self, task_id: str, answer: Any, *, note: str = "") -> Task:
        """Answer what a task waits for."""
        task = backlog.get(self._store, task_id)
        if task.state != TaskState.AWAITING_INPUT:
            raise RefusedError(f"Task {task.id} is not awaiting input (state: {task.state})")
        ask = create_ask.find(self._store, task.id)
        answer_ask.answer(self._store, ask.id, self._gate.caller(), Given(answer, note))
        return backlog.get(self._store, task.id)

    def history(self, task_id: str) -> list[Exchange]:
        """What it has asked, and what was answered."""
        return backlog.history(self._store, backlog.get(self._store, task_id))

    def close(self, task_id: str, reason: str = "") -> Task:
        return backlog.close(self._store, task_id, self._gate.caller(), reason)

    def defer(self, task_id: str, reason: str = "") -> Task:
        return backlog.defer(self._store, task_id, self._gate.caller(), reason)

    def reopen(self, task_id: str, *, fresh: bool = False) -> Task:
        return backlog.reopen(self._store, task_id, self._gate.caller(), fresh=fresh)
