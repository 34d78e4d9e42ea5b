"""Backlogs as JSON lines, one task each, with the keys of other programs' files."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.asks import iso, parse_priority
from gatebell.domain.enums import TaskState
from gatebell.domain.text.display import inert_line, plain
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gatebell.domain.tasks.tasks import Task

_ID = re.compile(r"tm-[a-z0-9]{3,40}")
_TEXTS = {
    "title": "title",
    "description": "description",
    "role": "role",
    "size": "size",
    "type": "type",
    "summary": "summary",
    "details": "details",
    "status": "status",
    "testCommand": "test_command",
    "branch": "branch",
    "onTimeout": "on_timeout",
}
"""Keys of a line, and their fields of a task."""
_TIMES = ("createdAt", "updatedAt", "closedAt")
_NUMBERS = {"confidence": "confidence", "answerWithinSeconds": "answer_within_seconds"}
_KNOWN = {"id", "state", "priority", "dependencies", "parent", *_TIMES, *_NUMBERS, *_TEXTS}
_ASKED = ("question", "questionContext", "humanResponse", "humanRespondedAt")
_ORDER = (
    *("id", "title", "description", "state", "role", "priority", "size", "type", "dependencies"),
    *("parent", "summary", "details", "status", "confidence", "branch", "sessionId"),
    *("testCommand", "isSystem", "createdAt", "updatedAt", "closedAt", *_ASKED),
)
_ALWAYS = ("description", "role")
_MAX_SECONDS = 1e9
_UNDONE = (TaskState.IN_PROGRESS, TaskState.AWAITING_INPUT)


class Line(NamedTuple):
    """One checked task of a file, before its import."""

    where: str
    """`line 3`, or `task 3` of a JSON array."""
    id: str
    """The id in the file; empty if there is none, or it is not valid here."""
    fields: dict[str, Any]
    """Fields of a Task."""
    needs: tuple[str, ...]
    parent: str
    created_at: datetime | None
    remark: str
    """A remark about a value that was changed at the import."""

    @property
    def title(self) -> str:
        return str(self.fields["title"])


def read(text: str) -> list[Line]:
    """Read the tasks of a file: JSON lines, or one JSON array. A UsageError names the line."""
    text = text.removeprefix("\ufeff")
    if text.lstrip().startswith("["):
        whole = _parse_json(text, 1)
        found = [_parse_line(f"task {number}", one) for number, one in enumerate(whole, 1)]
    else:
        rows = [(number, row) for number, row in enumerate(text.split("\n"), 1) if row.strip()]
        found = [_parse_line(f"line {number}", _parse_json(row, number)) for number, row in rows]
    seen: dict[str, str] = {}
    for line in found:
        if line.id and seen.setdefault(line.id, line.where) != line.where:
            raise UsageError(
                f"{line.where}: {line.id} is also in {seen[line.id]}: remove one of them"
            )
    return found


def _parse_json(text: str, number: int) -> Any:
    try:
        return plain(json.loads(text))
    except json.JSONDecodeError as error:
        where = number + error.lineno - 1
        raise UsageError(f"line {where}: this is not JSON: {error.msg}") from None
    except (ValueError, RecursionError, UsageError) as error:
        raise UsageError(f"line {number}: this JSON cannot be stored: {error}") from None


def _parse_line(where: str, record: Any) -> Line:
    try:
        return _check_record(where, record)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def _check_record(where: str, record: Any) -> Line:
    if not isinstance(record, dict):
        raise UsageError("expected a JSON object")
    record = {key: value for key, value in record.items() if value is not None}
    fields: dict[str, Any] = {
        field: _read_text(record, key) for key, field in _TEXTS.items() if key in record
    }
    if not fields.get("title", "").strip():
        raise UsageError("the title is missing: add one")
    if "priority" in record:
        fields["priority"] = parse_priority(record["priority"])
    fields |= {field: _read_number(record, key) for key, field in _NUMBERS.items()}
    state, remark = _read_state(record)
    times = {key: _read_time(record, key) for key in _TIMES}
    closed = times["closedAt"] or times["updatedAt"] or times["createdAt"]
    name = _read_text(record, "id").lower()
    more = {key: value for key, value in record.items() if key not in _KNOWN}
    return Line(
        where,
        name if _ID.fullmatch(name) else "",
        fields | {"state": state, "updated_at": times["updatedAt"], "more": more}
        | ({"closed_at": closed} if state == TaskState.CLOSED else {}),
        _read_names(record, "dependencies"),
        _read_text(record, "parent").lower(),
        times["createdAt"],
        remark,
    )  # fmt: skip


def _read_text(record: Mapping[str, Any], key: str) -> str:
    value = record.get(key, "")
    if not isinstance(value, str):
        raise UsageError(f"expected a text for {key}, got {inert_line(json.dumps(value), 40)}")
    return value


def _read_names(record: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = record.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageError(
            f"expected a list of ids for {key}, got {inert_line(json.dumps(value), 40)}"
        )
    return tuple(dict.fromkeys(one.lower() for one in value))


def _read_number(record: Mapping[str, Any], key: str) -> float | None:
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float | None):
        raise UsageError(f"expected a number for {key}, got {inert_line(json.dumps(value), 40)}")
    if value is not None and not 0 <= value <= (1 if key == "confidence" else _MAX_SECONDS):
        limits = "from 0 to 1" if key == "confidence" else "of seconds from 1 to 1000000000"
        raise UsageError(f"expected a number {limits} for {key}, got {inert_line(str(value), 40)}")
    return None if value is None else float(value)


def _read_state(record: Mapping[str, Any]) -> tuple[TaskState, str]:
    """Return the state after the import, and a remark if it is not the state in the file."""
    word = _read_text(record, "state") or TaskState.OPEN
    try:
        state = TaskState(word)
    except ValueError:
        known = ", ".join(TaskState)
        raise UsageError(f"expected a state from {known}, got {inert_line(word, 40)!r}") from None
    if state in _UNDONE:
        return TaskState.OPEN, f"was {state} and is open now, because no work on it is running here"
    return state, ""


def _read_time(record: Mapping[str, Any], key: str) -> datetime | None:
    text = _read_text(record, key)
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        raise UsageError(
            f"expected a time like 2026-01-31T09:00:00Z for {key}, got {text[:40]!r}"
        ) from None


def written(task: Task, said: Mapping[str, Any]) -> str:
    """Return a task as a line; `said` has the session and the last question of its runs."""
    record: dict[str, Any] = {
        "id": task.id,
        **{key: getattr(task, field) for key, field in _TEXTS.items()},
        "state": task.state,
        "priority": task.priority,
        "dependencies": list(task.needs),
        "parent": task.parent,
        **{key: getattr(task, field) for key, field in _NUMBERS.items()},
        "createdAt": iso(task.created_at),
        "updatedAt": iso(task.updated_at),
        "closedAt": iso(task.closed_at),
    }
    record = {
        key: value for key, value in record.items() if key in _ALWAYS or value not in ("", None)
    }
    # An answer from the imported file does not belong to a newer question.
    left_out = {*record, *(_ASKED if "question" in said else ())}
    more = {key: value for key, value in task.more.items() if key not in left_out}
    whole = record | more | dict(said)
    ordered = [key for key in _ORDER if key in whole] + [key for key in whole if key not in _ORDER]
    return json.dumps({key: whole[key] for key in ordered}, ensure_ascii=False)
