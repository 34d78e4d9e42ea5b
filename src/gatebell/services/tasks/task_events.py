"""Read the events of tasks from the audit trail."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from gatebell.domain.audit.events import EventKind
from gatebell.domain.tasks.seen_tasks import TaskEvent, TaskEvents
from gatebell.services.tasks import backlog

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gatebell.domain.audit.events import Entry
    from gatebell.ports.store import Store

_FIRST_LOOK = 1_000
_TASK = "task."


class EventReader:
    """Reads the events of one task, of the tasks of a project, or of all tasks."""

    def __init__(self, store: Store, task: str, project: str, key: str) -> None:
        """Take the beginning of a task's id, or the folder and the key of a project."""
        self._store, self._project, self._key = store, project, key
        self._task = backlog.look_up(store, task).id if task else ""
        self._known: dict[str, bool] = {}

    def read_newest(self, limit: int) -> TaskEvents:
        """Return the last events, oldest first; the trail is read back until there are enough."""
        head, look = self._store.audit.head().seq, _FIRST_LOOK
        if self._task:
            return self._describe(head, self._store.audit.of_subject(self._task), limit)
        while True:
            entries = self._store.audit.newest(look)
            found = [entry for entry in entries if self._is_wanted(entry)]
            if len(found) >= limit or len(entries) < look:
                return self._describe(head, found, limit)
            look *= 10

    def read_after(self, seq: int, limit: int) -> TaskEvents:
        """Return the events after a number of the trail."""
        found: list[Entry] = []
        for entry in self._store.audit.entries(seq):
            seq = entry.seq
            found += [entry] if self._is_wanted(entry) else []
            if len(found) >= limit:
                break
        return self._describe(seq, found, limit)

    def _is_wanted(self, entry: Entry) -> bool:
        kind, subject = entry.event.kind, entry.event.subject
        if self._task or not kind.startswith(_TASK):
            return subject == self._task and kind.startswith(_TASK)
        if not self._project:
            return True
        if subject not in self._known:
            task = self._store.tasks.get(subject)
            self._known[subject] = task is not None and (
                task.project == self._project or bool(self._key and task.project_key == self._key)
            )
        return self._known[subject]

    def _describe(self, head: int, entries: Iterable[Entry], limit: int) -> TaskEvents:
        wanted = [entry for entry in entries if self._is_wanted(entry)][-limit:]
        return TaskEvents(head, [TaskEvent(entry, self._find_words(entry)) for entry in wanted])

    def _find_words(self, entry: Entry) -> str:
        """Return details of an event: the question, the reason, or the changed fields."""
        content = entry.event.content
        if entry.event.kind == EventKind.TASK_AWAITING_INPUT:
            at, asks = datetime.fromisoformat(entry.at), self._store.asks
            asked = [ask for ask in asks.of_task(entry.event.subject) if ask.opened_at <= at]
            return asked[-1].question.prompt if asked else ""
        detail = content.get("reason") or content.get("title") or content.get("changed") or ""
        return ", ".join(map(str, detail)) if isinstance(detail, list) else str(detail)
