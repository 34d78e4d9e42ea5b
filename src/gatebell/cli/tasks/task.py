"""Manage the backlog: tasks that agents work on, and that ask a person instead of guessing.

Without a command it is gate task list. A worker (gate worker) takes up tasks that are ready.

Example: gate task create "Add a dark mode" --role code --priority P1
Example: gate task list --ready
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

from gatebell.cli.asks.values import parse_count
from gatebell.cli.identity import add_identity
from gatebell.cli.tasks.task_examples import describe_verb
from gatebell.cli.tasks.tasks_screen import PROJECT, add_project
from gatebell.domain.tasks.tasks import TIMEOUTS, TaskSize, TaskType

if TYPE_CHECKING:
    from collections.abc import Callable

    Parser = argparse.ArgumentParser

_PRIORITY = "P0 urgent, P1 high, P2 normal, P3 low, P4 backlog; or a word, or a number"


def configure(parser: Parser) -> None:
    parser.set_defaults(verb="list", which="unfinished", limit=50, project=None, everywhere=False)
    parser.set_defaults(ids=False, json=False)
    verbs = parser.add_subparsers(metavar="COMMAND", help="one of the commands below")
    for name, (about, _, configure_verb) in VERBS.items():
        made = verbs.add_parser(
            name,
            description=describe_verb(name, about),
            help=about,
            formatter_class=parser.formatter_class,
            allow_abbrev=False,
        )
        made.set_defaults(verb=name)
        configure_verb(made)
        made.add_argument("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    # Imported here: a view needs no editor, and a change needs no tree.
    module = import_module(f"gatebell.cli.tasks.{VERBS[args.verb][1]}")
    return int(getattr(module, f"{args.verb}_")(args))


def _add_task_id(parser: Parser) -> None:
    parser.add_argument("id", help="the id of the task; tm- is optional")


def _add_fields(parser: Parser) -> None:
    add = parser.add_argument
    add("-d", "--description", metavar="TEXT", help="the work to do")
    add("--file", metavar="F", help="read the description from a file, or - for standard input")
    add("--role", metavar="R", help="the role that works on it (gate agents lists roles)")
    add("-p", "--priority", metavar="P", help=_PRIORITY)
    add("--size", choices=[size.value for size in TaskSize], help="the amount of work (medium)")
    add("--type", choices=[kind.value for kind in TaskType], help="the type of the task (task)")
    add("--parent", metavar="ID", help="the task that contains this one")
    add(
        "--test",
        dest="test_command",
        metavar="CMD",
        help="a command that must succeed before the task is closed",
    )
    add("--answer-within", metavar="TIME", help="how long its questions wait: 90s, 5m, 2h, 3d")
    add(
        "--on-timeout",
        choices=[str(way) for way in TIMEOUTS[1:]],
        help="the next step when its question times out",
    )


def _create(parser: Parser) -> None:
    parser.add_argument("title", nargs="?", help="one line; without it, your editor opens")
    _add_fields(parser)
    parser.add_argument(
        "--dep",
        action="append",
        default=[],
        metavar="ID",
        help="a task that must be closed first; may be repeated",
    )
    add_project(parser)
    add_identity(parser)


def _list(parser: Parser) -> None:
    which = parser.add_mutually_exclusive_group()
    for name, about in (
        ("awaiting", "only tasks that wait for your answer"),
        ("ready", "only tasks that can be worked on now"),
        ("all", "closed tasks, too"),
    ):
        which.add_argument(f"--{name}", dest="which", action="store_const", const=name, help=about)
    parser.add_argument(
        "--limit", type=parse_count, default=50, metavar="N", help="list at most N (50)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="DIR", help=PROJECT)
    where.add_argument("--everywhere", action="store_true", help="tasks of every project")
    parser.add_argument("--ids", action="store_true", help="print ids only")
    parser.set_defaults(which="unfinished")


def _tree(parser: Parser) -> None:
    parser.add_argument("id", nargs="?", default="", help="only this task and the tasks below it")
    parser.add_argument("--all", action="store_true", help="closed tasks, too")
    add_project(parser)


def _update(parser: Parser) -> None:
    _add_task_id(parser)
    parser.add_argument("--title", metavar="TEXT", help="one line")
    _add_fields(parser)
    parser.add_argument("--status", metavar="TEXT", help="the progress, in words")
    add_identity(parser)


def _dep(parser: Parser) -> None:
    _add_task_id(parser)
    parser.add_argument("needed", nargs="+", help="the tasks that must be closed first")
    parser.add_argument("--remove", action="store_true", help="remove these dependencies")
    add_identity(parser)


def _edit(parser: Parser) -> None:
    _add_task_id(parser)
    add_identity(parser)


def _close(parser: Parser) -> None:
    parser.add_argument("ids", nargs="+", metavar="id", help="the ids of the tasks")
    _add_reason(parser)


def _defer(parser: Parser) -> None:
    _add_task_id(parser)
    _add_reason(parser)


def _add_reason(parser: Parser) -> None:
    parser.add_argument("--reason", default="", metavar="TEXT", help="the reason, in words")
    add_identity(parser)


def _reopen(parser: Parser) -> None:
    _add_task_id(parser)
    parser.add_argument(
        "--fresh", action="store_true", help="start without the files that its last run left"
    )
    add_identity(parser)


def _tail(parser: Parser) -> None:
    parser.add_argument("id", nargs="?", default="", help="only this task")
    parser.add_argument(
        "-n",
        "--limit",
        type=parse_count,
        default=20,
        metavar="N",
        help="start with the last N events (20)",
    )
    parser.add_argument(
        "--follow",
        action=argparse.BooleanOptionalAction,
        help="keep printing until Ctrl+C (the default in a terminal)",
    )
    add_project(parser)


def _import(parser: Parser) -> None:
    parser.add_argument("file", help="JSON lines or a JSON array; - for standard input")
    parser.add_argument(
        "--dry-run", action="store_true", help="only print the tasks that it would import"
    )
    add_project(parser)
    add_identity(parser)


def _export(parser: Parser) -> None:
    parser.add_argument(
        "file", nargs="?", default="-", help="the file to write; - for standard output"
    )
    add_project(parser)


VERBS: dict[str, tuple[str, str, Callable[[Parser], None]]] = {
    "create": ("create a task", "task_edits", _create),
    "list": (
        "list tasks: answered ones first, then by priority, then by age",
        "task_views",
        _list,
    ),
    "show": ("show one task with its questions and answers", "task_views", _add_task_id),
    "tree": ("show tasks below the tasks that contain them", "task_views", _tree),
    "next": ("show the task to work on next", "task_views", add_project),
    "update": ("change the fields of a task", "task_edits", _update),
    "edit": ("change a task in your editor", "task_edits", _edit),
    "dep": ("set which tasks must be closed before another", "task_edits", _dep),
    "claim": (
        "claim a task to work on it yourself; workers then leave it alone",
        "task_states",
        _edit,
    ),
    "release": ("give back a task that you claimed", "task_states", _edit),
    "close": (
        "close tasks that are done or not needed; runs that work on them end",
        "task_states",
        _close,
    ),
    "reopen": ("open a task again", "task_states", _reopen),
    "defer": ("put a task off until it is reopened", "task_states", _defer),
    "tail": ("print the events of tasks as they happen", "task_tail", _tail),
    "import": ("import the backlog of a file, completely or not at all", "task_files", _import),
    "export": ("write the backlog as JSON lines", "task_files", _export),
}
"""The help text of each command, its module, and its arguments."""
