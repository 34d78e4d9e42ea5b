"""Show tasks: gate task list, show, tree and next."""

from __future__ import annotations

import os
import shlex
from itertools import islice
from typing import TYPE_CHECKING

from gatebell.app import wiring
from gatebell.app.environment import project_key
from gatebell.cli.screen import add_colour, columns, print_json
from gatebell.cli.tasks import tasks_screen
from gatebell.domain.enums import TaskState
from gatebell.domain.text.display import inert_line
from gatebell.errors import NotFoundError
from gatebell.services.asks.apply_deadlines import sweep
from gatebell.services.tasks import backlog
from gatebell.services.tasks.task_document import recount, recount_all
from gatebell.terminal import task_tree, tasks as terminal

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.store import Store

_ALL = 1_000_000_000
_MAX_GONE = 3
_NONE = {
    "unfinished": "No task is open",
    "all": "There are no tasks",
    "ready": "No task is ready",
    "awaiting": "No task waits for an answer",
}
_NEXT = {
    "unfinished": "To create one: gate task create TITLE",
    "all": "To create one: gate task create TITLE",
    "ready": "To see why tasks wait: gate task list",
    "awaiting": "All open tasks: gate task list",
}


def list_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    sweep(store)
    projects = (
        store.tasks.projects()
        if args.everywhere
        else [tasks_screen.find_project(store, args.project, may_be_gone=True)]
    )
    # With --everywhere each folder has its own list.
    keys = {one: "" if args.everywhere else project_key(one) for one in projects}
    pages = {
        one: store.tasks.page(one, args.which, args.limit + 1, key) for one, key in keys.items()
    }
    shown = {one: tasks[: args.limit] for one, tasks in pages.items() if tasks}
    if args.json:
        print_json([recount(store, task) for tasks in shown.values() for task in tasks])
        return 0
    if args.ids:
        for tasks in shown.values():
            print("\n".join(task.id for task in tasks))
        return 0
    if not shown:
        where = "anywhere" if args.everywhere else f"in {inert_line(projects[0])}"
        print(f"{_NONE[args.which]} {where}.\n{_NEXT[args.which]}")
        if not args.everywhere:
            print("".join(f"{line}\n" for line in _suggest_moved(store, projects[0])), end="")
        return 0
    if args.which == "awaiting":
        print(f"{add_colour(terminal.AWAITING, 'bold')}\n")
    for number, (project, tasks) in enumerate(shown.items()):
        if args.everywhere:
            print("\n" * bool(number) + add_colour(inert_line(project, columns()), "bold"))
        print("\n".join(tasks_screen.format_tasks(store, tasks)))
        if len(pages[project]) > args.limit:
            print(f"… and more: --limit {args.limit * 4}")
    first = next((task for tasks in shown.values() for task in tasks if _is_awaiting(task)), None)
    if first:
        print(f"\nAnswer: gate respond {first.id}   One by one: gate respond --all")
    return 0


def _suggest_moved(store: Store, project: str) -> list[str]:
    """Return hints to tasks of folders that are gone: one may have been moved to this project."""
    if store.tasks.page(project, "all", 1):
        return []
    gone = (one for one in store.tasks.projects() if not os.path.isdir(one))
    open_there = (one for one in gone if store.tasks.page(one, "unfinished", 1))
    lines = []
    for one in islice(open_there, _MAX_GONE):
        name = shlex.quote(inert_line(one))
        lines += [
            "",
            f"There are tasks of {inert_line(one)}, a folder that no longer exists. Was it moved here?",
        ]
        lines += [f"To import them: gate task export - --project {name} | gate task import -"]
    return lines


def _is_awaiting(task: Task) -> bool:
    return task.state == TaskState.AWAITING_INPUT


def show_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    sweep(store)
    task = backlog.look_up(store, args.id)
    if args.json:
        print_json(recount_all(store, task))
        return 0
    print("\n".join(terminal.show_lines(store, task, store.now(), columns(), add_colour)))
    if _is_awaiting(task):
        print(f"\nAnswer: gate respond {task.id}")
    return 0


def tree_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    sweep(store)
    root = backlog.look_up(store, args.id) if args.id else None
    project = root.project if root else tasks_screen.find_project(store, args.project)
    tasks = store.tasks.page(project, "all", _ALL, project_key(project))
    found = task_tree.branches(tasks, root.id if root else "", closed=args.all)
    if args.json:
        print_json([recount(store, one.task) | {"depth": one.depth} for one in found])
    elif not found:
        which = "all" if args.all else "unfinished"
        print(f"{_NONE[which]} in {inert_line(project)}.\n{_NEXT[which]}")
    else:
        print("\n".join(task_tree.tree_lines(store, found, columns())))
    return 0


def next_(args: argparse.Namespace) -> int:
    store = wiring.open_store()
    project = tasks_screen.find_project(store, args.project)
    sweep(store)
    # In the order of a worker: answered tasks come before new ones.
    key = project_key(project)
    task = next(iter(store.tasks.page(project, "ready", 1, key)), None)
    if task is None:
        if not store.tasks.page(project, "unfinished", 1, key):
            raise NotFoundError(f"no task is open in {project}; create one: gate task create TITLE")
        raise NotFoundError(f"no task in {project} is ready; to see why: gate task list")
    if args.json:
        print_json(recount(store, task))
    else:
        print("\n".join(tasks_screen.format_tasks(store, [task])))
    return 0
