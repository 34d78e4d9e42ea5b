"""Show tasks: gate task list, show, tree and next."""

from __future__ import annotations

import os
import shlex
from itertools import islice
from typing import TYPE_CHECKING

from gatebell.app.environment import project_key
from gatebell.cli.identity import open_asks
from gatebell.cli.screen import add_colour, columns, print_json
from gatebell.cli.tasks import tasks_screen
from gatebell.domain.enums import TaskState
from gatebell.domain.tasks.seen_tasks import seen_document, whole_document
from gatebell.domain.text.display import inert_line
from gatebell.errors import NotFoundError
from gatebell.ports.backends.work import MAX_TASKS
from gatebell.terminal import task_tree, tasks as terminal

if TYPE_CHECKING:
    import argparse

    from gatebell.domain.tasks.seen_tasks import WholeTask
    from gatebell.domain.tasks.tasks import Task
    from gatebell.ports.backends.backend import Backend
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
    backend = open_asks()
    projects = (
        backend.task_projects()
        if args.everywhere
        else [tasks_screen.find_project(backend, args.project, may_be_gone=True)]
    )
    # With --everywhere each folder has its own list.
    keys = {one: "" if args.everywhere else project_key(one) for one in projects}
    pages = {one: backend.tasks(one, args.which, args.limit + 1, key) for one, key in keys.items()}
    shown = {one: tasks[: args.limit] for one, tasks in pages.items() if tasks}
    if args.json:
        print_json([seen_document(seen) for tasks in shown.values() for seen in tasks])
        return 0
    if args.ids:
        for tasks in shown.values():
            print("\n".join(seen.task.id for seen in tasks))
        return 0
    if not shown:
        where = "anywhere" if args.everywhere else f"in {inert_line(projects[0])}"
        print(f"{_NONE[args.which]} {where}.\n{_NEXT[args.which]}")
        if not args.everywhere and backend.store:
            lines = _suggest_moved(backend.store, projects[0])
            print("".join(f"{line}\n" for line in lines), end="")
        return 0
    if args.which == "awaiting":
        print(f"{add_colour(terminal.AWAITING, 'bold')}\n")
    for number, (project, tasks) in enumerate(shown.items()):
        if args.everywhere:
            print("\n" * bool(number) + add_colour(inert_line(project, columns()), "bold"))
        print("\n".join(tasks_screen.format_tasks(backend, tasks)))
        if len(pages[project]) > args.limit:
            print(f"… and more: --limit {args.limit * 4}")
    listed = (seen.task for tasks in shown.values() for seen in tasks)
    if first := next((task for task in listed if _is_awaiting(task)), None):
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
    backend = open_asks()
    whole = backend.look_up_task(args.id)
    if args.json:
        print_json(whole_document(whole))
        return 0
    print_task(backend, whole)
    return 0


def print_task(backend: Backend, whole: WholeTask) -> None:
    """Print a task with everything about it."""
    asks = backend.asks_of_task(whole.task.id)
    lines = terminal.show_lines(whole, asks, backend.now(), columns(), add_colour)
    print("\n".join(lines))
    if _is_awaiting(whole.task):
        print(f"\nAnswer: gate respond {whole.task.id}")


def tree_(args: argparse.Namespace) -> int:
    backend = open_asks()
    root = backend.look_up_task(args.id).seen if args.id else None
    project = root.task.project if root else tasks_screen.find_project(backend, args.project)
    # The folder of a server's task is on another machine, so its key is not read here.
    is_elsewhere = root and backend.store is None
    key = root.task.project_key if root and is_elsewhere else project_key(project)
    tasks = {seen.task.id: seen for seen in backend.tasks(project, "all", _ALL, key)}
    if root:
        tasks.setdefault(root.task.id, root)
    every = [seen.task for seen in tasks.values()]
    found = task_tree.branches(every, root.task.id if root else "", closed=args.all)
    if args.json:
        print_json([seen_document(tasks[one.task.id]) | {"depth": one.depth} for one in found])
        return 0
    if not found:
        which = "all" if args.all else "unfinished"
        print(f"{_NONE[which]} in {inert_line(project)}.\n{_NEXT[which]}")
        return 0
    questions = {name: seen.questions for name, seen in tasks.items()}
    print("\n".join(task_tree.tree_lines(found, questions, columns())))
    if backend.store is None and len(tasks) >= MAX_TASKS:
        print(f"… the server sends at most {MAX_TASKS} tasks, so the tree may be incomplete")
    return 0


def next_(args: argparse.Namespace) -> int:
    backend = open_asks()
    project = tasks_screen.find_project(backend, args.project)
    # In the order of a worker: answered tasks come before new ones.
    key = project_key(project)
    seen = next(iter(backend.tasks(project, "ready", 1, key)), None)
    if seen is None:
        if not backend.tasks(project, "unfinished", 1, key):
            raise NotFoundError(f"no task is open in {project}; create one: gate task create TITLE")
        raise NotFoundError(f"no task in {project} is ready; to see why: gate task list")
    if args.json:
        print_json(seen_document(seen))
    else:
        print("\n".join(tasks_screen.format_tasks(backend, [seen])))
    return 0
