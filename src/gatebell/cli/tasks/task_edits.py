"""Create and change tasks: gate task create, update, edit and dep."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from gatebell.app import environment, wiring
from gatebell.cli.identity import caller, read_text
from gatebell.cli.tasks.tasks_screen import find_project, tell
from gatebell.domain.asks.deadlines import parse_duration
from gatebell.domain.asks.documents import task_document
from gatebell.domain.tasks.task_forms import blank, changes, form, title_and_description
from gatebell.errors import GateError, RefusedError, UsageError
from gatebell.services.tasks import backlog

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store

_FIELDS = (
    *("title", "description", "role", "priority", "size", "type", "parent", "test_command"),
    *("status", "on_timeout"),
)
_READ_ONCE = {"title", "description", "role", "needs", "test_command", "on_timeout"}
"""The fields that a run reads only when it starts."""


def create_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    who = caller(store, args)
    project, fields = (
        find_project(store, args.project),
        _list_given_fields(args) | {"needs": args.dep},
    )
    if args.parent and args.project is None:
        # A part of a task belongs to the project of that task.
        project = backlog.get(store, args.parent).project
    _must_know_role(project, fields)
    if args.title is None:
        task = _create_in_editor(store, project, who, fields)
    else:
        task = backlog.create(store, project, who, fields, environment.project_key(project))
    tell(task, "Created", as_json=args.json)
    return 0


def _create_in_editor(store: Store, project: str, who: Caller, fields: dict[str, Any]) -> Task:
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
        return backlog.create(store, project, who, fields, environment.project_key(project))
    except GateError as error:
        raise _keep_text(store, "new-task", text, error) from None


def update_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    who = caller(store, args)
    fields = _list_given_fields(args)
    if not fields:
        raise UsageError("name a field to change; gate task update --help lists the fields")
    if "role" in fields:
        _must_know_role(backlog.get(store, args.id).project, fields)
    _tell_updated(backlog.update(store, args.id, who, fields), fields, as_json=args.json)
    return 0


def _tell_updated(task: Task, fields: dict[str, Any], *, as_json: bool) -> None:
    tell(task, "Updated", as_json=as_json)
    if task.run and task.worked_on and not as_json and _READ_ONCE & fields.keys():
        print(f"  Run {task.run} has already started and keeps the earlier text")


def _must_know_role(project: str, fields: dict[str, Any]) -> None:
    """Refuse an unknown role now, not only when a worker takes up the task."""
    if fields.get("role"):
        from gatebell.app import project_files

        project_files.find_role(project, fields["role"])


def edit_(args: argparse.Namespace) -> int:
    from gatebell.cli.asks.editor import edit_text

    store = wiring.open_store()
    who = caller(store, args)
    task = backlog.get(store, args.id)
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
        _must_be_as_shown(store, task, fields)
        if not fields:
            return _report_unchanged(task, as_json=args.json)
        _must_know_role(task.project, fields)
        after = backlog.update(store, task.id, who, fields)
    except GateError as error:
        raise _keep_text(store, task.id, text, error) from None
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


def _must_be_as_shown(store: Store, task: Task, fields: dict[str, Any]) -> None:
    now = backlog.get(store, task.id)
    for name in fields:
        if getattr(now, name) != getattr(task, name):
            raise RefusedError(
                f"the {name} of {task.id} has changed since you opened it; edit again"
            )


def _keep_text(store: Store, name: str, text: str, error: GateError) -> GateError:
    """Keep the person's text in a file (law 6); return the error with its path."""
    import tempfile

    folder = os.path.dirname(os.path.abspath(store.local_path))
    descriptor, path = tempfile.mkstemp(prefix=f"{name}-", suffix=".md", dir=folder)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    return type(error)(f"{error}. Nothing was changed; your text is kept in {path}")


def dep_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    change = backlog.free if args.remove else backlog.depend
    task = change(store, args.id, caller(store, args), args.needed)
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
