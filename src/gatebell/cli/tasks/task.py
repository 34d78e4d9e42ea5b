"""The backlog: tasks that agents work through, and that ask instead of guessing.

Without a command: gate task list. A worker (gate worker) takes up what is ready.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import TYPE_CHECKING

from gatebell.cli.asks.values import positive
from gatebell.cli.identity import add_identity
from gatebell.cli.tasks.tasks_screen import PROJECT, add_project
from gatebell.domain.tasks.tasks import TIMEOUTS, TaskSize, TaskType

if TYPE_CHECKING:
    from collections.abc import Callable

    Parser = argparse.ArgumentParser

_PRIORITY = "P0 critical, P1 high, P2 normal, P3 low, P4 backlog; also as a word or a number"


def configure(parser: Parser) -> None:
    parser.set_defaults(verb="list", which="unfinished", limit=50, project=None, everywhere=False)
    parser.set_defaults(ids=False, json=False)
    verbs = parser.add_subparsers(metavar="COMMAND", help="one of those below")
    for name, (about, _, configure_verb) in VERBS.items():
        made = verbs.add_parser(
            name,
            description=f"{about[0].upper()}{about[1:]}.",
            help=about,
            epilog=parser.epilog,
            formatter_class=parser.formatter_class,
            allow_abbrev=False,
        )
        made.set_defaults(verb=name)
        configure_verb(made)
        made.add_argument("--json", action="store_true", help="print JSON (docs/json.md)")


def run(args: argparse.Namespace) -> int:
    # Imported here: looking at tasks needs no editor, and changing one no tree.
    module = import_module(f"gatebell.cli.tasks.{VERBS[args.verb][1]}")
    return int(getattr(module, f"{args.verb}_")(args))


def _task_id(parser: Parser) -> None:
    parser.add_argument("id", help="of the task; tm- may be left out")


def _fields(parser: Parser) -> None:
    add = parser.add_argument
    add("-d", "--description", metavar="TEXT", help="what is to be done")
    add("--file", metavar="F", help="read the description from a file, or - for standard input")
    add("--role", metavar="R", help="whose work it is: a role of gate agents")
    add("-p", "--priority", metavar="P", help=_PRIORITY)
    add("--size", choices=[size.value for size in TaskSize], help="how much work it is (medium)")
    add("--type", choices=[kind.value for kind in TaskType], help="what it is (task)")
    add("--parent", metavar="ID", help="the task that it is part of")
    add("--test", dest="test_command", metavar="CMD", help="must succeed before it is closed")
    add("--answer-within", metavar="TIME", help="how long its questions wait: 90s, 5m, 2h, 3d")
    add(
        "--on-timeout",
        choices=[str(way) for way in TIMEOUTS[1:]],
        help="what becomes of it when nobody answers in time",
    )


def _create(parser: Parser) -> None:
    parser.add_argument("title", nargs="?", help="one line; without it, your editor is opened")
    _fields(parser)
    parser.add_argument(
        "--dep", action="append", default=[], metavar="ID", help="must be closed first; repeat it"
    )
    add_project(parser)
    add_identity(parser)


def _list(parser: Parser) -> None:
    which = parser.add_mutually_exclusive_group()
    for name, about in (
        ("awaiting", "only those that wait for your answer"),
        ("ready", "only those that could be worked on now"),
        ("all", "closed ones, too"),
    ):
        which.add_argument(f"--{name}", dest="which", action="store_const", const=name, help=about)
    parser.add_argument(
        "--limit", type=positive, default=50, metavar="N", help="how many at most (50)"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--project", metavar="DIR", help=PROJECT)
    where.add_argument("--everywhere", action="store_true", help="of every project")
    parser.add_argument("--ids", action="store_true", help="print ids only")
    parser.set_defaults(which="unfinished")


def _tree(parser: Parser) -> None:
    parser.add_argument("id", nargs="?", default="", help="only this task and what is beneath it")
    parser.add_argument("--all", action="store_true", help="closed ones, too")
    add_project(parser)


def _update(parser: Parser) -> None:
    _task_id(parser)
    parser.add_argument("--title", metavar="TEXT", help="one line")
    _fields(parser)
    parser.add_argument("--status", metavar="TEXT", help="how far it is, in words")
    add_identity(parser)


def _dep(parser: Parser) -> None:
    _task_id(parser)
    parser.add_argument("needed", nargs="+", help="the tasks that must be closed first")
    parser.add_argument("--remove", action="store_true", help="it does not wait for them any more")
    add_identity(parser)


def _edit(parser: Parser) -> None:
    _task_id(parser)
    add_identity(parser)


def _close(parser: Parser) -> None:
    parser.add_argument("ids", nargs="+", metavar="id", help="of the tasks")
    _reason(parser)


def _defer(parser: Parser) -> None:
    _task_id(parser)
    _reason(parser)


def _reason(parser: Parser) -> None:
    parser.add_argument("--reason", default="", metavar="TEXT", help="why, in words")
    add_identity(parser)


def _reopen(parser: Parser) -> None:
    _task_id(parser)
    parser.add_argument(
        "--fresh", action="store_true", help="without what its last run left in its folder"
    )
    add_identity(parser)


def _tail(parser: Parser) -> None:
    parser.add_argument("id", nargs="?", default="", help="only this task")
    parser.add_argument(
        "-n", "--limit", type=positive, default=20, metavar="N", help="how many to begin with (20)"
    )
    parser.add_argument(
        "--follow",
        action=argparse.BooleanOptionalAction,
        help="go on until Ctrl+C (in a terminal, it does)",
    )
    add_project(parser)


def _import(parser: Parser) -> None:
    parser.add_argument("file", help="JSON lines or a JSON array; - for standard input")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be imported")
    add_project(parser)
    add_identity(parser)


def _export(parser: Parser) -> None:
    parser.add_argument("file", nargs="?", default="-", help="to write; - for standard output")
    add_project(parser)


VERBS: dict[str, tuple[str, str, Callable[[Parser], None]]] = {
    "create": ("make a task", "task_edits", _create),
    "list": (
        "list tasks: answered ones first, then by priority, then by age",
        "task_views",
        _list,
    ),
    "show": ("one task with its questions and answers", "task_views", _task_id),
    "tree": ("tasks beneath the tasks they are part of", "task_views", _tree),
    "next": ("the task that should be worked on next", "task_views", add_project),
    "update": ("change what a task says", "task_edits", _update),
    "edit": ("change a task in your editor", "task_edits", _edit),
    "dep": ("say which tasks must be closed before another", "task_edits", _dep),
    "claim": ("work on a task yourself; no worker takes it up then", "task_states", _edit),
    "release": ("leave a task that you have claimed", "task_states", _edit),
    "close": ("tasks are done, or not needed; runs that work on them end", "task_states", _close),
    "reopen": ("have a task worked on again", "task_states", _reopen),
    "defer": ("put a task off until it is reopened", "task_states", _defer),
    "tail": ("what happens to tasks, as it happens", "task_tail", _tail),
    "import": ("bring in the backlog of a file, all of it or nothing", "task_files", _import),
    "export": ("write the backlog as JSON lines", "task_files", _export),
}
"""What each does, the module that does it, and its arguments."""
