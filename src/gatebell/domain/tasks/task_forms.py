"""A task as a form to be edited: its fields on top, its description below."""

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


def within_text(task: Task) -> str:
    """How long its questions wait: `2h`; nothing where the project says it."""
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
    "answer-within": within_text,
    "on-timeout": lambda task: task.on_timeout,
}
_NAMES = {"test": "test_command", "on-timeout": "on_timeout"}


def form(task: Task) -> str:
    """The text that somebody edits; what a terminal would obey is made visible in it."""
    fields = [f"{name}: {_shown(of(task))}".rstrip() for name, of in _FIELDS.items()]
    return "\n".join([f"# {task.id}", "", *fields, "", LINE, "", inert(task.description), ""])


def changes(task: Task, text: str) -> dict[str, Any]:
    """The fields that are others in an edited form; what was left as it was shown stays."""
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


def _shown(text: str) -> str:
    plain = text == inert(text).strip() and "\n" not in text and not text.startswith('"')
    return text if plain else json.dumps(text)


def _read(text: str) -> dict[str, str]:
    above, line, below = text.replace("\r\n", "\n").partition(LINE)
    if not line:
        raise UsageError(
            f"the line {LINE!r} is gone, so it is unclear where the description begins"
        )
    found = {"description": below.strip()}
    for row in above.split("\n"):
        if not row.strip() or row.startswith("#"):
            continue
        name, colon, value = row.partition(":")
        name = name.strip().lower()
        if not colon or name not in _FIELDS:
            raise UsageError(f"{row.strip()[:60]!r} is no field: {', '.join(_FIELDS)}")
        if name in found:
            raise UsageError(f"the field {name} stands there twice")
        found[name] = _value(name, value.strip())
    if missing := [name for name in _FIELDS if name not in found]:
        raise UsageError(f"the field {missing[0]} is missing; leave it empty to clear it")
    return found


def _value(name: str, text: str) -> str:
    if not text.startswith('"'):
        return text.replace(",", " ") if name == "needs" else text
    try:
        return str(json.loads(text))
    except ValueError:
        return text


def blank() -> str:
    """What somebody begins a new task with."""
    return f"\n\n{_HINT}\n"


def title_and_description(text: str) -> tuple[str, str]:
    """What was written for a new task; two empty texts where nothing was."""
    written = text.replace("\r\n", "\n").replace(_HINT, "").strip()
    title, _, description = written.partition("\n")
    return title.strip().removeprefix("# ").strip(), description.strip()
