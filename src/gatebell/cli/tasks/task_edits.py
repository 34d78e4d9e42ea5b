"""Create and change tasks: gate task create, update, edit and dep."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.app import environment
from gatebell.cli.identity import open_backend, read_text
from gatebell.cli.tasks.tasks_screen import find_project, tell
from gatebell.domain.asks.deadlines import parse_duration
from gatebell.domain.asks.documents import task_document
from gatebell.domain.tasks.task_forms import blank, changes, form, title_and_description
from gatebell.errors import GateError, RefusedError, ServerError, UsageError

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.backends.backend import Backend

_FIELDS = (
    *("title", "description", "role", "priority", "size", "type", "parent", "test_command"),
    *("status", "on_timeout"),
)
_READ_ONCE = {"title", "description", "role", "needs", "test_command", "on_timeout"}
"""The fields that a run reads only when it starts."""


def create_(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    fields = _list_given_fields(args) | ({"needs": args.dep} if args.dep else {})
    if args.title is None:
        place = _find_place(backend, args, fields)
        task = _create_in_editor(backend, place, who, fields)
    else:
        try:
            place = _find_place(backend, args, fields)
            task = backend.create_task(place.project, who, fields, place.key)
        except ServerError as error:
            text = "\n\n".join(filter(None, [args.title, fields.get("description", "")]))
            raise _keep_text(backend, "new-task", text, error) from None
    tell(task, "Created", as_json=args.json)
    return 0


class _Place(NamedTuple):
    """The project of a task."""

    project: str
    key: str
    folder: str
    """Its folder on this machine; empty if it is on another one."""


def _find_place(backend: Backend, args: argparse.Namespace, fields: dict[str, Any]) -> _Place:
    """Return the project of a new task; a part of a task belongs to the project of that task."""
    if args.parent and args.project is None:
        place = _find_place_of(backend, backend.task(args.parent))
    else:
        project = find_project(backend, args.project)
        place = _Place(project, environment.project_key(project), project)
    _must_know_role(place.folder, fields)
    return place


def _find_place_of(backend: Backend, task: Task) -> _Place:
    if backend.store:
        return _Place(task.project, environment.project_key(task.project), task.project)
    # A server's task may be of another machine. This folder may be a clone of its project.
    here = find_project(backend, None)
    is_same = task.project_key in (environment.project_key(here), "") and (
        bool(task.project_key) or task.project == here
    )
    return _Place(task.project, task.project_key, here if is_same else "")


def _create_in_editor(backend: Backend, place: _Place, who: Caller, fields: dict[str, Any]) -> Task:
    # Imported here and below: most tasks are written on the command line.
    from gatebell.cli.asks.editor import edit_text
    from gatebell.cli.screen import can_prompt

    if not can_prompt():
        raise UsageError("cannot prompt without a terminal; run: gate task create TITLE")
    text, code, _ = edit_text(f"{fields.get('description', '')}{blank()}")
    title, description = title_and_description(text)
    if not title:
        raise UsageError("the text is empty, so no task was created")
    try:
        _must_have_ended_well(code)
        fields = {**fields, "title": title, "description": description}
        return backend.create_task(place.project, who, fields, place.key)
    except GateError as error:
        raise _keep_text(backend, "new-task", text, error) from None


def update_(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    fields = _list_given_fields(args)
    if not fields:
        raise UsageError("name a field to change; gate task update --help lists the fields")
    try:
        if "role" in fields:
            _must_know_role(_find_place_of(backend, backend.task(args.id)).folder, fields)
        after = backend.update_task(args.id, who, fields)
    except ServerError as error:
        typed = "\n\n".join(f"{name}: {value}" for name, value in fields.items())
        raise _keep_text(backend, args.id, typed, error) from None
    _tell_updated(after, fields, as_json=args.json)
    return 0


def _tell_updated(task: Task, fields: dict[str, Any], *, as_json: bool) -> None:
    tell(task, "Updated", as_json=as_json)
    if task.run and task.worked_on and not as_json and _READ_ONCE & fields.keys():
        print(f"  Run {task.run} has already started and keeps the earlier text")


def _must_know_role(folder: str, fields: dict[str, Any]) -> None:
    """Refuse an unknown role now, not only when a worker takes up the task.

    Without a folder the roles are on another machine, and its worker checks them.
    """
    if fields.get("role") and folder:
        from gatebell.app import project_files

        project_files.find_role(folder, fields["role"])


def edit_(args: argparse.Namespace) -> int:
    from gatebell.cli.asks.editor import edit_text

    backend, who = open_backend(args)
    task = backend.task(args.id)
    if not _has_editor():
        raise UsageError(
            "gate task edit needs a terminal; or set $VISUAL or $EDITOR, or run: "
            f"gate task update {task.id}"
        )
    text, code, _ = edit_text(form(task))
    if text.strip() == form(task).strip():
        _must_have_ended_well(code)
        return _report_unchanged(task, as_json=args.json)
    try:
        _must_have_ended_well(code)
        fields = changes(task, text)
        _must_be_as_shown(backend, task, fields)
        if not fields:
            return _report_unchanged(task, as_json=args.json)
        _must_know_role(_find_place_of(backend, task).folder, fields)
        after = backend.update_task(task.id, who, fields)
    except GateError as error:
        raise _keep_text(backend, task.id, text, error) from None
    _tell_updated(after, fields, as_json=args.json)
    return 0


def _has_editor() -> bool:
    return bool(os.environ.get("VISUAL") or os.environ.get("EDITOR")) or sys.stdin.isatty()


def _report_unchanged(task: Task, *, as_json: bool) -> int:
    from gatebell.cli.screen import print_json

    if as_json:
        print_json(task_document(task))
    else:
        print(f"Nothing was changed in {task.id}.")
    return 0


def _must_have_ended_well(code: int) -> None:
    if code:
        raise UsageError(f"the editor ended with exit code {code}")


def _must_be_as_shown(backend: Backend, task: Task, fields: dict[str, Any]) -> None:
    now = backend.task(task.id)
    for name in fields:
        if getattr(now, name) != getattr(task, name):
            raise RefusedError(
                f"the {name} of {task.id} has changed since you opened it; edit again"
            )


def _keep_text(backend: Backend, name: str, text: str, error: GateError) -> GateError:
    """Keep the person's text in a file (law 6); return the error with its path."""
    import tempfile

    os.makedirs(backend.folder, mode=0o700, exist_ok=True)
    safe = "".join(one for one in name if one.isalnum() or one == "-")[:40]
    descriptor, path = tempfile.mkstemp(prefix=f"{safe}-", suffix=".md", dir=backend.folder)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    if isinstance(error, ServerError):
        # The connection may have ended after the server did it.
        return ServerError(
            f"{error}. Look whether it was done: gate task list. Your text is kept in {path}"
        )
    return type(error)(f"{error}. Nothing was changed; your text is kept in {path}")


def dep_(args: argparse.Namespace) -> int:
    backend, who = open_backend(args)
    task = backend.change_needs(args.id, who, args.needed, remove=args.remove)
    if args.json:
        tell(task, "", as_json=True)
    else:
        print(f"✓ {task.id} needs {', '.join(task.needs) or 'no other task'}")
    return 0


def _list_given_fields(args: argparse.Namespace) -> dict[str, Any]:
    """Return the fields that the command line names."""
    if args.description is not None and args.file:
        raise UsageError("give --description or --file, not both")
    fields = {name: value for name in _FIELDS if (value := getattr(args, name, None)) is not None}
    if args.file:
        fields["description"] = read_text(args.file).rstrip("\n")
    if args.answer_within is not None:
        fields["answer_within_seconds"] = parse_duration(args.answer_within)
    return fields
