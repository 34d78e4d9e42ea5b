"""Import the backlog of a file: all of its tasks, or none."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from gatebell.domain.asks.asks import id_length, iso, make_id
from gatebell.domain.people.principals import must_be_a_person
from gatebell.domain.tasks import tasks
from gatebell.domain.tasks.tasks import Task
from gatebell.errors import UsageError
from gatebell.services.tasks.backlog import KIND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from gatebell.domain.people.principals import Caller
    from gatebell.domain.tasks.backlog_jsonl import Line
    from gatebell.ports.store import Store

_ALL = 1_000_000_000


class Imported(NamedTuple):
    """The result of an import or of a dry run."""

    tasks: list[Task]
    """In a dry run, tasks that would get a new id have no id."""
    skipped: list[str]
    """Ids of the tasks that exist already."""
    remarks: list[str]


def bring_in(
    store: Store,
    project: str,
    caller: Caller,
    lines: Sequence[Line],
    *,
    dry: bool = False,
    key: str = "",
) -> Imported:
    """Add the tasks of a file to a project's backlog, with its key.

    With `dry`, only return the planned changes.
    """
    must_be_a_person(caller, "imports tasks")
    while True:
        plan = _plan(store, project, caller, lines, dry=dry, key=key)
        changes = [tasks.create_task(task, caller) for task in plan.tasks]
        if dry:
            kept = {line.id for line in lines}
            named = [task if task.id in kept else task._replace(id="") for task in plan.tasks]
            return plan._replace(tasks=named)
        if not changes or store.tasks.add(changes):
            return plan


def _plan(
    store: Store, project: str, caller: Caller, lines: Sequence[Line], *, dry: bool, key: str
) -> Imported:
    here = _already_there(store, project, key)
    found = {line.where: _same(here, line) for line in lines}
    names, remarks = _names(store, lines, found, dry=dry)
    meant = {line.id: names[line.where] for line in lines if line.id}
    new, now = [], store.now()
    for line in lines:
        if found[line.where]:
            continue
        name = names[line.where]
        # A dry run draws other new ids than the import, so it does not show them.
        called = (line.id or line.where) if dry else name
        remarks += [f"{called} {line.remark}"] if line.remark else []
        for needed in line.needs:
            if needed not in meant and store.tasks.get(needed) is None:
                raise UsageError(
                    f"{line.where}: it needs {needed}, which is neither in the file nor "
                    "in the backlog: add it, or take it out of dependencies"
                )
        if line.parent and line.parent not in meant and store.tasks.get(line.parent) is None:
            remarks.append(f"{called} is part of {line.parent}, which does not exist")
        made = Task(
            name, line.title, project, line.created_at or now, now, caller.principal,
            needs=tuple(meant.get(one, one) for one in line.needs),
            parent=meant.get(line.parent, line.parent), project_key=key,
        )  # fmt: skip
        new.append(_fill_task(made, line, caller))
    _must_be_no_circle(store, new, {names[line.where]: line.where for line in lines})
    return Imported(new, [name for name in found.values() if name], remarks)


def _fill_task(task: Task, line: Line, caller: Caller) -> Task:
    fields: dict[str, Any] = dict(line.fields)
    fields["updated_at"] = fields["updated_at"] or task.created_at
    if line.id and line.id != task.id:
        # With this id, a second import of the same file finds the task again.
        fields["more"] = fields["more"] | {"id": line.id}
    if fields.get("test_command"):
        fields["test_from"] = caller.actor
    try:
        return tasks.check_task(task._replace(**fields))
    except UsageError as error:
        raise UsageError(f"{line.where}: {error}") from None


def _already_there(store: Store, project: str, key: str) -> dict[str, list[Task]]:
    """Return the tasks of a project by each id that they have or had in a file."""
    found: dict[str, list[Task]] = {}
    for task in store.tasks.page(project, "all", _ALL, key):
        for name in {task.id, str(task.more.get("id", task.id))}:
            found.setdefault(name, []).append(task)
    return found


def _same(here: Mapping[str, list[Task]], line: Line) -> str:
    """Return the id of the task that was imported from this line before."""
    for task in here.get(line.id, []):
        at = line.created_at
        if task.title == line.title and (at is None or iso(at) == iso(task.created_at)):
            return task.id
    return ""


def _names(
    store: Store, lines: Sequence[Line], found: Mapping[str, str], *, dry: bool
) -> tuple[dict[str, str], list[str]]:
    """Return the id for each line: its own if that is free, otherwise a new one."""
    names = {where: name for where, name in found.items() if name}
    taken = {line.id for line in lines}
    remarks = []
    length = id_length(store.tasks.count() + len(lines))
    for line in lines:
        if line.where in names:
            continue
        name = line.id
        while not name or (name != line.id and name in taken) or store.tasks.get(name):
            name = make_id(length, os.urandom(16), KIND)
        taken.add(name)
        names[line.where] = name
        if line.id and name != line.id:
            new = "it gets a new id" if dry else f"it is {name}"
            remarks.append(f"{line.id} is the id of another task: {new} here")
    return names, remarks


def _must_be_no_circle(store: Store, new: Sequence[Task], where: Mapping[str, str]) -> None:
    by_name = {task.id: task for task in new}

    def other(name: str) -> Task | None:
        return by_name.get(name) or store.tasks.get(name)

    def needs_of(name: str) -> tuple[str, ...]:
        return one.needs if (one := other(name)) else ()

    def parent_of(name: str) -> tuple[str, ...]:
        return (one.parent,) if (one := other(name)) and one.parent else ()

    for of, word in ((needs_of, "wait for"), (parent_of, "be part of")):
        if way := _circle(by_name, of):
            line = next(where[name] for name in way if name in where)
            raise UsageError(f"{line}: {way[0]} would {word} itself: {tasks.format_way(way)}")


def _circle(names: Iterable[str], of: Callable[[str], tuple[str, ...]]) -> list[str]:
    """Return the first cycle, as the tasks on it; visit each task once."""
    done: set[str] = set()
    for first in names:
        way, ahead = ([first], [iter(of(first))]) if first not in done else ([], [])
        on_way = set(way)
        while way:
            following = next(ahead[-1], None)
            if following is None:
                ahead.pop()
                done.add(way[-1])
                on_way.discard(way.pop())
            elif following in on_way:
                return [*way[way.index(following) :], following]
            elif following not in done:
                way.append(following)
                on_way.add(following)
                ahead.append(iter(of(following)))
    return []
