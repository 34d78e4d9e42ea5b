"""Read a task back from its JSON, as a server sends it."""

from __future__ import annotations

from typing import Any

from gatebell.domain.asks.document_reader import read_optional, read_time
from gatebell.domain.enums import Priority, TaskState
from gatebell.domain.tasks.tasks import Task, TaskSize, TaskType


def read_task(document: dict[str, Any]) -> Task:
    """Return the task of `task_document`, without its version."""
    given = {name: document[name] for name in Task._fields if name in document}
    given |= {name: read_time(document[name]) for name in ("created_at", "updated_at")}
    given |= {name: read_optional(document[name]) for name in ("answered_at", "closed_at")}
    given |= {
        "priority": Priority(document["priority"]),
        "size": TaskSize(document["size"]),
        "type": TaskType(document["type"]),
        "state": TaskState(document["state"]),
        "needs": tuple(document["needs"]),
    }
    return Task(**given)
