"""Tasks as texts to edit: the fields on top, the description below."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from gatebell.domain.asks.deadlines import duration_text, parse_duration
from gatebell.domain.text.display import inert
from gatebell.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gatebell.domain.tasks.tasks import Task

LINE = "## Description (below this line)"
_HINT = "<!-- The title on the first line, the description below it; this line is left out. -->"


def format_wait(task: Task) -> str:
    """Return how long its questions wait, like `2h`; empty for the project's setting."""
    within = task.answer_within_seconds
    return "" if within is None else duration_text(within)


_FIELDS: dict[str, Callable[[Task], str]] = {
    "title": lambda task: task.title,
    "role": lambda task: task.role,
    "priority": lambda task: f"P{task.priority}",
    "size": lambda task: task.size,
    "type": lambda task: task.type,
    "parent": lambda task: task.parent,
    "needs": lambda task: " ".join(task.needs),
    "test": lambda task: task.test_command,
    "answer-within": format_wait,
    "on-timeout": lambda task: task.on_timeout,
}
_NAMES = {"test": "test_command", "on-timeout": "on_timeout"}


def form(task: Task) -> str:
    """Return the text to edit, with control characters made visible."""
    fields = [f"{name}: {_format_value(of(task))}".rstrip() for name, of in _FIELDS.items()]
    return "\n".join([f"# {task.id}", "", *fields, "", LINE, "", inert(task.description), ""])


def changes(task: Task, text: str) -> dict[str, Any]:
    """Return the fields that were changed in an edited text."""
    before, after = _read(form(task)), _read(text)
    found: dict[str, Any] = {}
    for name, value in after.items():
        if value == before[name]:
            continue
        if name == "answer-within":
            found["answer_within_seconds"] = parse_duration(value) if value else None
        else:
            found[_NAMES.get(name, name)] = tuple(value.split()) if name == "needs" else value
    return found


def _format_value(text: str) -> str:
    plain = text == inert(text).strip() and "\n" not in text and not text.startswith('"')
    return text if plain else json.dumps(text)


def _read(text: str) -> dict[str, str]:
    above, line, below = text.replace("\r\n", "\n").partition(LINE)
    if not line:
        raise UsageError(f"the line {LINE!r} is missing: put it back above the description")
    found = {"description": below.strip()}
    for row in above.split("\n"):
        if not row.strip() or row.startswith("#"):
            continue
        name, colon, value = row.partition(":")
        name = name.strip().lower()
        if not colon or name not in _FIELDS:
            raise UsageError(
                f"expected a line `FIELD: VALUE` with {', '.join(_FIELDS)}, got {row.strip()[:60]!r}"
            )
        if name in found:
            raise UsageError(f"the field {name} is there twice: remove one")
        found[name] = _parse_value(name, value.strip())
    if missing := [name for name in _FIELDS if name not in found]:
        raise UsageError(
            f"the field {missing[0]} is missing: put it back, and leave it empty to clear it"
        )
    return found


def _parse_value(name: str, text: str) -> str:
    if not text.startswith('"'):
        return text.replace(",", " ") if name == "needs" else text
    try:
        return str(json.loads(text))
    except ValueError:
        return text


def blank() -> str:
    """Return the text for the editor of a new task."""
    return f"\n\n{_HINT}\n"


def title_and_description(text: str) -> tuple[str, str]:
    """Return the title and description of a new task; both empty if nothing was written."""
    written = text.replace("\r\n", "\n").replace(_HINT, "").strip()
    title, _, description = written.partition("\n")
    return title.strip().removeprefix("# ").strip(), description.strip()
