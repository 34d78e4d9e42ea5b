"""Drive runs as they become ready, and work on the tasks of this project.

It runs until Ctrl+C or SIGTERM. The next worker continues the runs that this interrupts.
`stale` lists tasks in progress that no process works on any more. `recover` opens them again.
Tasks that wait for a person are not stale. gate up drives runs, too, but takes up no tasks.

Example: gate worker --slots 2
Example: gate worker stale
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from gatebell.app import engines, environment, runtime, settings
from gatebell.cli.asks.values import parse_count
from gatebell.cli.server.leave import leave
from gatebell.cli.verbs import add_verbs
from gatebell.domain.text.display import inert_line
from gatebell.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from queue import SimpleQueue

    from gatebell.app.runtime import BackgroundWorker
    from gatebell.ports.engines import DriveReport

_POLL_SECONDS = 5.0

_VERBS = {
    "stale": "only list tasks in progress that no process works on",
    "recover": "only open such tasks again",
}


def configure(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_verbs(parser, _VERBS, optional=True)
    add("-j", "--slots", type=parse_count, default=4, metavar="N", help="drive N runs at once (4)")
    add(
        "--project",
        action="append",
        metavar="DIR",
        help="a project whose tasks and pool's runs it takes; several are possible (this one)",
    )
    add(
        "--engine",
        choices=engines.ENGINES,
        metavar="NAME",
        help="local, procrastinate or temporal (by default that of the store; docs/engines.md)",
    )
    add("--pool", metavar="NAME", help="take runs of this pool (by default that of the settings)")
    add("--no-tasks", action="store_true", help="take up no tasks, only drive runs")
    add("--everywhere", action="store_true", help="take up tasks of every project with gate init")
    add(
        "--minutes",
        type=parse_count,
        default=60,
        metavar="N",
        help="a task claimed by hand is stale after N minutes without a change (60)",
    )
    add("--json", action="store_true", help="with stale or recover: print a JSON list")


def run(args: argparse.Namespace) -> int:
    if args.verb:
        # Imported here: a worker does not need it.
        from gatebell.cli.tasks.stale_tasks import look

        return look(args)
    # Imported here and below: only a worker needs signals and reports.
    import signal
    from queue import SimpleQueue

    from gatebell.cli.log_lines import show_log_lines

    show_log_lines()
    reports: SimpleQueue[DriveReport | None] = SimpleQueue()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: reports.put(None))
    log = runtime.worker_log(settings.store_path(os.environ))
    checkouts = _list_checkouts(args)
    part = engines.Part(checkouts, args.engine or "", _read_pool(args))
    worker = runtime.BackgroundWorker(args.slots, _list_projects(args), reports, part)
    where = "every project" if args.everywhere else ", ".join(checkouts)
    tasks = "" if args.no_tasks else f", and tasks of {where}"
    what = f"runs of {worker.store_name}{tasks}, {args.slots} at once{worker.place}"
    _say(log, f"gate worker: driving {what}")
    print(f"gate worker: these lines are also in {log}", file=sys.stderr, flush=True)
    _show_reports(args, worker, reports, log)
    _say(log, "gate worker: ending")
    left = worker.end()
    while not reports.empty():
        # Runs were released while it ended; a second Ctrl+C adds None.
        if report := reports.get():
            _say(log, *_report_lines(report))
    return leave(0, left)


def _show_reports(
    args: argparse.Namespace,
    worker: BackgroundWorker,
    reports: SimpleQueue[DriveReport | None],
    log: str,
) -> None:
    """Print reports until a signal ends this process."""
    # Imported here: a list of stale tasks does not need it.
    from queue import Empty

    while True:
        try:
            # Not without end: the handler of a signal that comes just before the wait runs after it.
            report = reports.get(timeout=_POLL_SECONDS)
        except Empty:
            if args.everywhere:
                worker.set_projects(_list_projects(args), _list_checkouts(args))
            continue
        if report is None:
            return
        _say(log, *_report_lines(report))


def _list_projects(args: argparse.Namespace) -> list[str]:
    """Return the projects whose tasks it takes up."""
    return [] if args.no_tasks else _list_checkouts(args)


def _list_checkouts(args: argparse.Namespace) -> list[str]:
    """Return the projects in which it makes folders for runs of other machines."""
    if not args.everywhere:
        folders = [os.path.abspath(one) for one in args.project or [os.getcwd()]]
        if missing := [one for one in folders if not os.path.isdir(one)]:
            raise UsageError(f"there is no folder {missing[0]}: --project names a project's folder")
        return [environment.project(one) for one in folders]
    # Imported here: most workers have one project.
    from gatebell.install.records import projects_of

    # Only projects in which a person ran gate init: an agent could make tasks in its own folder,
    # with its own roles.
    return projects_of(os.environ, "init")


def _read_pool(args: argparse.Namespace) -> str:
    named = {"GATE_POOL": args.pool} if args.pool else {}
    return settings.pool({**os.environ, **named})


def _report_lines(report: DriveReport) -> list[str]:
    run = report.run
    if report.task:
        # Imported here: a worker without tasks does not need it.
        from gatebell.terminal.worker import worked_lines

        return worked_lines(report.task, report.asks, is_over=report.is_over)
    from gatebell.terminal.runs import describe_reason

    head = f"gate worker: run {run.id} ({inert_line(run.title, 60)})"
    reason = inert_line(describe_reason(run), 200)
    why = f": {reason}" if reason else ""
    return [f"{head} is {run.state}{why}" if report.is_over else f"{head} is driven"]


def _say(log: str, *lines: str) -> None:
    """Print lines on stderr and append them to the worker's log."""
    print("\n".join(lines), file=sys.stderr, flush=True)
    for line in lines:
        runtime.append_line(log, line)
