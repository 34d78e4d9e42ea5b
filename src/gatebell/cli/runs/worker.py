"""Drive runs as they become ready, and work through the backlog of this project.

It goes on until Ctrl+C or SIGTERM; runs that are interrupted so go on with the next worker. `stale` lists
tasks in progress that nobody works on any more, `recover` opens them again; what waits for a
person is never among them. gate up drives runs, too, but takes up no tasks.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING

from gatebell.app import daemon, environment, runtime, settings
from gatebell.cli.asks.values import positive
from gatebell.domain.text.display import inert_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from gatebell.domain.runs.runs import Run
    from gatebell.ports.store import Store


_LOOK_EVERY_SECONDS = 5.0


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("what", nargs="?", choices=("stale", "recover"), help="instead of working: see above")
    add("-j", "--slots", type=positive, default=4, metavar="N", help="how many at once (4)")
    add("--no-tasks", action="store_true", help="take up no tasks, only drive runs")
    add("--everywhere", action="store_true", help="take up tasks of every project with gate init")
    add(
        "--minutes",
        type=positive,
        default=60,
        metavar="N",
        help="stale: a task claimed by hand that was not touched for so long (60)",
    )
    add("--json", action="store_true", help="of stale and recover: print a JSON list")


def run(args: argparse.Namespace) -> int:
    if args.what:
        # Imported here: whoever works does not look.
        from gatebell.cli.tasks.stale_tasks import look

        return look(args)
    # Imported here: only who stays for long listens to signals.
    import signal

    reading, writing = os.pipe()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: os.write(writing, b"."))
    log = runtime.worker_log(settings.store_path(os.environ))
    say = _teller(log)
    end = runtime.work_beside(args.slots, _tell(say), _projects(args))
    where = "every project" if args.everywhere else environment.project(os.getcwd())
    tasks = "" if args.no_tasks else f", and tasks of {where}"
    store = settings.store_path(os.environ)
    say(f"gate worker: driving runs of {store}{tasks}, {args.slots} at once")
    print(f"gate worker: what is said here stands in {log}", file=sys.stderr, flush=True)
    os.read(reading, 1)
    say("gate worker: ending")
    return daemon.leave(0, end())


def _projects(args: argparse.Namespace) -> Callable[[Store], list[str]]:
    if args.no_tasks:
        return lambda _: []
    if args.everywhere:
        return _everywhere()
    here = environment.project(os.getcwd())
    return lambda _: [here]


def _everywhere() -> Callable[[Store], list[str]]:
    """The projects in which a person ran gate init.

    Not all that have tasks: an agent could make some in a folder of its own, with roles of its own.
    """
    # Imported here: most workers have one project.
    from gatebell.install.records import projects_of

    looked_at, known = [-_LOOK_EVERY_SECONDS], [[""]]

    def projects(store: Store) -> list[str]:
        if store.monotonic() - looked_at[0] >= _LOOK_EVERY_SECONDS:
            looked_at[0], known[0] = store.monotonic(), projects_of(os.environ, "init")
        return known[0]

    return projects


def _tell(say: Callable[..., None]) -> Callable[[Store, Run, bool], None]:
    def tell(store: Store, run: Run, is_over: bool) -> None:
        if run.task and (task := store.tasks.get(run.task)):
            # Imported here: workers without tasks do without.
            from gatebell.terminal.worker import worked_lines

            say(*worked_lines(store, task, is_over))
            return
        told = f"gate worker: run {run.id} ({inert_line(run.flow, 40)})"
        why = f": {inert_line(run.reason, 200)}" if run.reason else ""
        say(f"{told} is {run.state}{why}" if is_over else f"{told} is driven")

    return tell


def _teller(log: str) -> Callable[..., None]:
    """Says some lines here, one below the other, and keeps them in the worker's log."""

    alone = threading.Lock()

    def say(*lines: str) -> None:
        with alone:
            print("\n".join(lines), file=sys.stderr, flush=True)
            for line in lines:
                runtime.append_line(log, line)

    return say
