"""`Backlog`: the tasks of a project, from Python."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Protocol

from gatebell.api.keywords import suggest_options
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
    from gatebell.domain.tasks.seen_tasks import Exchange
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store


class Asker(Protocol):
    """The part of a `Gate` that a backlog needs."""

    @property
    def store(self) -> Store:
        """The store of this machine."""
        ...

    def caller(self) -> Caller: ...

    def send(self, request: Request, owner: str = "") -> str: ...


@suggest_options
class Backlog:
    """The tasks of a project; workers and people see the same ones.

    Example:
        tasks = Gate().tasks
        task = tasks.create("Add a login page", priority="high")
        print(tasks.get(task.id).state)
    """

    def __init__(self, gate: Asker, project: str = "") -> None:
        self._gate, self._store = gate, gate.store
        self.project = project or environment.project(os.getcwd())
        self._key = environment.project_key(self.project)

    def create(self, title: str, **fields: Any) -> Task:
        """Create a task.

        Args:
            title: one line about the work
            fields: `description`, `role`, `priority`, `size`, `type`, `parent`, `needs`,
                `test_command`

        Raises:
            NotFoundError: The project has no such role.
            UsageError: A field does not exist, or has a wrong value.
        """
        given = {"title": title, **fields}
        self._must_know_role(self.project, fields)
        return backlog.create(self._store, self.project, self._gate.caller(), given, self._key)

    def get(self, task_id: str) -> Task:
        """Return a task; a NotFoundError if it does not exist."""
        return backlog.get(self._store, task_id)

    def page(self, which: str = "unfinished", limit: int = 100) -> list[Task]:
        """Return tasks: answered ones first, then by priority and age.

        Args:
            which: `unfinished`, `ready`, `awaiting` or `all`
            limit: how many at most
        """
        return self._store.tasks.page(self.project, which, limit, self._key)

    def update(self, task_id: str, **fields: Any) -> Task:
        """Change fields of a task, as `create` takes them."""
        if fields.get("role"):
            self._must_know_role(self.get(task_id).project, fields)
        return backlog.update(self._store, task_id, self._gate.caller(), fields)

    @staticmethod
    def _must_know_role(project: str, fields: dict[str, Any]) -> None:
        if fields.get("role"):
            project_files.find_role(project, fields["role"])

    def claim(self, task_id: str) -> Task:
        """Claim a task for this program, so that no worker takes it."""
        return backlog.claim(self._store, task_id, self._gate.caller())

    def request_input(self, task_id: str, question: str, context: Any = None) -> str:
        """Ask a person about a claimed task, without waiting.

        Returns:
            The ask's id, for `Gate.wait`.
        """
        owner = owner_of_task(backlog.canonical(task_id))
        return self._gate.send(Request(question, context=context), owner)

    def respond(self, task_id: str, answer: Any, *, note: str = "") -> Task:
        """Answer the ask of a task.

        Raises:
            RefusedError: The task does not wait for an answer.
        """
        task = backlog.get(self._store, task_id)
        if task.state != TaskState.AWAITING_INPUT:
            raise RefusedError(f"Task {task.id} is not awaiting input (state: {task.state})")
        ask = create_ask.find(self._store, task.id)
        answer_ask.answer(self._store, ask.id, self._gate.caller(), Given(answer, note))
        return backlog.get(self._store, task.id)

    def history(self, task_id: str) -> list[Exchange]:
        """Return the questions of a task with their answers."""
        return backlog.history(self._store, backlog.get(self._store, task_id))

    def close(self, task_id: str, reason: str = "") -> Task:
        """Close a task: its work is done, or not wanted."""
        return backlog.close(self._store, task_id, self._gate.caller(), reason)

    def defer(self, task_id: str, reason: str = "") -> Task:
        """Put a task off until it is reopened."""
        return backlog.defer(self._store, task_id, self._gate.caller(), reason)

    def reopen(self, task_id: str, *, fresh: bool = False) -> Task:
        """Reopen a task in the folder of its last run; with `fresh`, in a new folder."""
        return backlog.reopen(self._store, task_id, self._gate.caller(), fresh=fresh)
